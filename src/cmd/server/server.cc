#include <signal.h>

#include <cstdio>

#include "base/feature_gates.h"
#include "cmd/server/control_plane.h"
#include "cmd/server/runtime_config.h"
#include "local_cluster/start.h"
#include "runtime/processes/process_memory.h"

namespace porthole::cmd {
namespace {

Result<void> take_feature_gates(ServerFlags& flags, const Logger& log) {
    std::map<std::string, std::string> given;
    for (const std::string& pair : flags.feature_gates) {
        const std::size_t mark = pair.find('=');
        given[pair.substr(0, mark)] = mark == pair.npos ? "" : pair.substr(mark + 1);
    }
    TRY(const FeatureGates gates, read_feature_gates(given, {"IdentifyPodOS"}));
    for (const std::string& warning : gates.warnings) log.warn(warning);
    flags.access.identify_pod_os = gates.on("IdentifyPodOS", true);
    return {};
}

}  // namespace

int run_server(std::vector<std::string> arguments) {
    ServerFlags flags;
    CLI::App app("Run the control plane: API server, controllers and scheduler in one process.", "server");
    add_server_flags(app, flags);
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    ::signal(SIGPIPE, SIG_IGN);
    RealWorld world;
    Logger log(make_stderr_sink(flags.verbose ? LogLevel::Debug : LogLevel::Info), "server");
    if (const auto taken = take_feature_gates(flags, log); !taken) return fail(taken.error().message);
    auto versions = read_runtime_config(flags.runtime_config);
    if (!versions) return fail(versions.error().message);
    flags.served_versions = *std::move(versions);
    flags.effective = shown_flags(app, flags);
    const local_cluster::DataDir data(flags.data);
    const bool revive = flags.revive_supervisor;
    ControlPlane control_plane(world, std::move(flags), log);
    Event stop;
    world.loop.on_signal([&](int) { stop.set(); });
    const auto started = world.run(control_plane.start());
    Scope scope(world.loop, [&](const Error& error) { log.error("supervision ended", {{"error", error.message}}); });
    const auto memory = make_process_memory();
    if (started) {
        const auto notes = control_plane.introduce();
        if (!notes) log.warn("the administrator's kubeconfig cannot be written", {{"error", notes.error().message}});
        if (notes && !revive) {  // `porthole up` says it otherwise
            std::puts(notes->c_str());
            std::fflush(stdout);
        }
        scope.spawn(control_plane.follow_certificates());
        scope.spawn(control_plane.follow_encryption());
        scope.spawn(control_plane.follow_access());
        scope.spawn(give_back_memory_at_rest(world.loop, *memory));
        if (revive) scope.spawn(local_cluster::revive_supervisors(world.loop, data, log.named("server")));
        (void)world.run(stop.wait());
        log.info("ending");
    }
    (void)world.run(scope.close());
    const auto closed = world.run(control_plane.close());
    if (!started) return fail(started.error().message);
    return closed ? 0 : fail(closed.error().message);
}

}  // namespace porthole::cmd
