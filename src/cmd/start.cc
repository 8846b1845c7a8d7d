#include "cmd/start.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "cmd/flags.h"

namespace porthole::cmd {
namespace {

namespace fs = std::filesystem;

/// Shows the supervisor's lines until it says ready. False when it gave up.
bool show_progress(int fd, Progress& progress) {
    std::FILE* lines = ::fdopen(fd, "r");
    char buffer[4096];
    bool ready = false;
    while (!ready && std::fgets(buffer, sizeof buffer, lines)) {
        std::string line(buffer, std::strcspn(buffer, "\n"));
        const auto tab = line.find('\t');
        const std::string verb = line.substr(0, tab);
        const std::string step = tab == line.npos ? "" : line.substr(tab + 1);
        if (verb == "begin") progress.begin(step);
        if (verb == "done") progress.done(step);
        if (verb == "failed") progress.failed(step.substr(0, step.find('\t')), step.substr(step.find('\t') + 1));
        ready = verb == "ready";
    }
    std::fclose(lines);
    return ready;
}

Result<ProcessId> start_supervisor(const DataDir& data, Progress& progress) {
    int pipe[2];
    CHECK(::pipe2(pipe, O_CLOEXEC) == 0);
    const ChildCommand command{{fs::read_symlink("/proc/self/exe").string(), "supervise", "--data", data.root().string(), "--report"},
                               data.logs() / "supervisor.log",
                               "",
                               pipe[1]};
    auto child = start_child(command);
    ::close(pipe[1]);
    if (!child) {
        ::close(pipe[0]);
        return child;
    }
    if (!show_progress(pipe[0], progress)) {
        return Error(Reason::Unavailable, "the cluster did not come up; its logs are in " + data.logs().string());
    }
    return child;
}

}  // namespace

Result<Cluster> planned_cluster(const DataDir& data, const ClusterOptions& options, bool& running) {
    auto known = Cluster::load(data);
    running = known && is_running(known->supervisor);
    if (!known) return Cluster{.options = options};
    if (running && !(known->options == options)) {
        return Error(Reason::AlreadyExists, "a cluster with other options is running in " + data.root().string() +
                                                "; end it first with `porthole down" + data.flag() + "`");
    }
    known->options = options;
    return known;
}

Result<void> start_cluster(const DataDir& data, Cluster& cluster, Progress& progress) {
    std::error_code error;
    fs::create_directories(data.logs(), error);
    if (error) return Error(Reason::Io, "cannot make " + data.logs().string() + ": " + error.message());
    TRY_VOID(cluster.save(data));
    const auto supervisor = start_supervisor(data, progress);
    if (supervisor) {
        cluster.supervisor = *supervisor;
        return {};
    }
    // A server that had lost its supervisor may have started one in the same moment: then ours leaves the cluster to that.
    auto others = Cluster::load(data);
    if (!others || !is_running(others->supervisor)) return supervisor.error();
    cluster = *std::move(others);
    return {};
}

int stay(RealWorld& world, ProcessId supervisor, const DataDir& data, const std::string& what) {
    std::printf("\nPress Ctrl-C to take the %s down (--detach leaves it running).\n", what.c_str());
    world.loop.on_signal([&](int) {
        std::printf("\ntaking the %s down …\n", what.c_str());
        send_signal(supervisor, SIGTERM);
    });
    const auto ended = world.run(wait_for_exit(world.loop, supervisor));
    const auto cluster = Cluster::load(data);
    return ended && cluster && cluster->supervisor.pid == 0 ? 0 : fail("the supervisor ended; see " + data.logs().string());
}

bool in_path(const std::string& program) {
    const std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
    for (std::size_t start = 0; start <= path.size();) {
        const std::size_t end = std::min(path.find(':', start), path.size());
        if (::access((path.substr(start, end - start) + "/" + program).c_str(), X_OK) == 0) return true;
        start = end + 1;
    }
    return false;
}

}  // namespace porthole::cmd
