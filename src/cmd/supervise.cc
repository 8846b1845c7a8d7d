#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"
#include "local_cluster/processes/progress_pipe.h"
#include "local_cluster/supervisor.h"
#include "net/http/proxy.h"
#include "runtime/files/file_lock.h"

namespace porthole::cmd {

using namespace local_cluster;
namespace {

/// How bringing the cluster up ended. A signal ends it early: nobody should wait for a host that does not start.
struct Start {
    Event ended;
    Result<void> result;
};

Task<> watch(Task<> starting, Start& start) {
    start.result = co_await std::move(starting);
    start.ended.set();
    co_return {};
}

}  // namespace

int run_supervise(std::vector<std::string> arguments) {
    std::string path;
    bool report = false;
    CLI::App app("Keep a cluster's processes running (started by `porthole up`).", "supervise");
    app.add_option("--data", path, "the cluster's data directory")->required();
    app.add_flag("--report", report, "report the start on descriptor 3");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    ::signal(SIGPIPE, SIG_IGN);
    const DataDir data(path);
    // The server starts another supervisor when ours dies, and so do `up` and systemd. Two would end each other's cluster.
    const auto lock = FileLock::try_take(data.supervisor_lock().string());
    if (!lock) return fail(lock.error().message);
    if (!lock->has_value()) return report ? fail("another supervisor of this cluster is starting or stopping") : 0;
    auto cluster = Cluster::load(data);
    if (!cluster) return fail(cluster.error().message);
    if (is_running(cluster->supervisor) && cluster->supervisor.pid != ::getpid()) return 0;
    // For all that it starts, too: only images and other servers of the internet are behind a proxy.
    for (const auto& [name, value] : net::proxy_environment(cluster->proxy_exceptions())) ::setenv(name.c_str(), value.c_str(), 1);
    RealWorld world;
    ProgressPipe pipe(report ? 3 : -1);
    Logger log(make_stderr_sink(LogLevel::Info), "supervisor");
    Supervisor supervisor(world.loop, *world.processes, data, std::move(*cluster), pipe, log);
    Scope starting(world.loop);
    Start start;
    world.loop.on_signal([&](int) {
        supervisor.stop();
        starting.cancel();
    });
    world.loop.on_hangup([&] { supervisor.resize(); });
    starting.spawn(watch(supervisor.start(), start));
    (void)world.run(start.ended.wait());
    const Result<void>& started = start.result;
    if (started) {
        pipe.ready();
    } else {
        log.error("the cluster did not start", {{"error", started.error().message}});
        supervisor.stop();
    }
    const auto served = world.run(supervisor.serve());
    if (!served) log.error("ending the cluster failed", {{"error", served.error().message}});
    (void)world.run(starting.close());
    return started && served ? 0 : 1;
}

}  // namespace porthole::cmd
