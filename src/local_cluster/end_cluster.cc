#include "local_cluster/end_cluster.h"

#include <signal.h>

#include "local_cluster/supervisor.h"

namespace porthole::local_cluster {
namespace {

using namespace std::chrono_literals;

class NoReport final : public ProgressReport {
    void begin(const std::string&) override {}
    void done(const std::string&) override {}
    void failed(const std::string&, const std::string&) override {}
};

}  // namespace

Task<> end_cluster(AsioLoop& loop, ProcessRunner& processes, DataDir data, Cluster cluster) {
    if (is_running(cluster.supervisor)) {
        send_signal(cluster.supervisor, SIGTERM);
        const auto ended = co_await with_timeout(wait_for_exit(loop, cluster.supervisor), 2min, "the supervisor's end");
        if (!ended) co_return ended;
        CO_TRY(cluster, Cluster::load(data));
        if (cluster.processes.empty()) co_return {};
    }
    NoReport report;
    Supervisor supervisor(loop, processes, data, std::move(cluster), report, Logger(make_stderr_sink(LogLevel::Error), "down"));
    co_return co_await supervisor.shut_down();
}

}  // namespace porthole::local_cluster
