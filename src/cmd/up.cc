#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "client/kubeconfig.h"
#include "cmd/command.h"
#include "cmd/emulated_host.h"
#include "cmd/flags.h"
#include "cmd/kubeconfig_entry.h"
#include "cmd/progress.h"
#include "cmd/runtime_setup.h"
#include "cmd/supervisor.h"
#include "cmd/system_unit.h"

namespace porthole::cmd {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct UpFlags {
    std::string data = default_data_dir();
    std::string kubeconfig;
    std::string nodes = "linux=1";
    bool detach = false, quiet = false;
    ClusterOptions options;
};

bool in_path(const std::string& program) {
    const std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
    for (std::size_t start = 0; start <= path.size();) {
        const std::size_t end = std::min(path.find(':', start), path.size());
        if (::access((path.substr(start, end - start) + "/" + program).c_str(), X_OK) == 0) return true;
        start = end + 1;
    }
    return false;
}

bool port_is_free(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    const bool free = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return free;
}

/// What must hold before anything is changed. Error: one line with the remedy.
Result<void> preflight(const ClusterOptions& options) {
    if (::geteuid() != 0) return Error(Reason::Forbidden, "`up` makes namespaces and links: run it as root, for example with sudo");
    std::string missing;
    for (const auto& [program, package] :
         {std::pair("containerd", "containerd"), std::pair("runc", "runc"), std::pair("ip", "iproute2"), std::pair("nft", "nftables")}) {
        if (!in_path(program)) missing += std::string(" ") + package;
    }
    if (!fs::exists("/usr/lib/cni/bridge")) missing += " containernetworking-plugins";
    if (!missing.empty()) return Error(Reason::NotFound, "programs are missing; install them with: apt-get install" + missing);
    if (!options.windows_nodes.empty()) TRY_VOID(EmulatedHost::preflight());
    TRY_VOID(
        address_in(options.node_cidr, static_cast<unsigned>(options.linux_nodes) + static_cast<unsigned>(options.windows_nodes.size())));
    TRY_VOID(address_in(options.service_cidr, 1));
    TRY_VOID(address_in(options.cluster_cidr, 1));
    if (!port_is_free(options.port)) {
        return Error(Reason::AlreadyExists, "port " + std::to_string(options.port) + " is taken; choose another with --port");
    }
    return {};
}

/// The supervisor's side of the progress pipe: a line a step, "begin|done|failed TAB step [TAB why]".
class PipeReport final : public StartReport {
public:
    explicit PipeReport(int fd) : fd_(fd) {}
    void begin(const std::string& step) override { send("begin\t" + step); }
    void done(const std::string& step) override { send("done\t" + step); }
    void failed(const std::string& step, const std::string& why) override { send("failed\t" + step + "\t" + why); }
    void ready() {
        send("ready");
        ::close(fd_);
        fd_ = -1;
    }

private:
    void send(std::string line) {
        for (char& c : line) {
            if (c == '\n') c = ' ';
        }
        line += '\n';
        if (fd_ >= 0 && ::write(fd_, line.data(), line.size()) < 0) fd_ = -1;  // whoever asked has gone; the cluster stays
    }
    int fd_;
};

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

/// Blocks until Ctrl-C or the supervisor's end, then takes the cluster down.
int stay(RealWorld& world, ProcessId supervisor, const DataDir& data) {
    std::puts("\nPress Ctrl-C to take the cluster down (--detach leaves it running).");
    world.loop.on_signal([&](int) {
        std::puts("\ntaking the cluster down …");
        send_signal(supervisor, SIGTERM);
    });
    const auto ended = world.run(wait_for_exit(world.loop, supervisor));
    const auto cluster = Cluster::load(data);
    return ended && cluster && cluster->supervisor.pid == 0 ? 0 : fail("the supervisor ended; see " + data.logs().string());
}

/// Where kubectl looks first.
std::string kubeconfig_file(const std::string& chosen) {
    if (!chosen.empty()) return chosen;
    const auto variable = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
    return client::kubeconfig_paths(variable("KUBECONFIG"), variable("HOME")).front();
}

/// After a reboot the cluster comes back by itself where systemd can see to it. Yields what to tell the person.
Task<std::string> survive_reboot(RealWorld& world, const DataDir& data) {
    if (!SystemUnit::possible())
        co_return "this machine has no systemd: after a reboot, bring the cluster back with: porthole up --detach --data " +
            data.root().string();
    const SystemUnit unit = SystemUnit::cluster(data.root(), data.id());
    CO_CHECK(co_await unit.install(*world.processes, false));
    co_return "after a reboot the cluster comes back by " + unit.name();
}

Result<Cluster> planned_cluster(const DataDir& data, const ClusterOptions& options, bool& running) {
    auto known = Cluster::load(data);
    running = known && is_running(known->supervisor);
    if (!known) return Cluster{.options = options};
    if (running && !(known->options == options)) {
        return Error(Reason::AlreadyExists,
                     "a cluster with other options is running in " + data.root().string() + "; end it first with `porthole down`");
    }
    known->options = options;
    return known;
}

}  // namespace

int run_up(std::vector<std::string> arguments) {
    UpFlags flags;
    ClusterOptions& options = flags.options;
    CLI::App app("Bring up a whole cluster on this machine and point kubectl at it.", "up");
    app.add_option("--nodes", flags.nodes,
                   "how many nodes, for example linux=2 or linux=1,windows=2 or linux=1,windows=1:2019,windows=1:2025")
        ->capture_default_str();
    app.add_option("--data", flags.data, "where the cluster is kept")->capture_default_str();
    app.add_option("--kubeconfig", flags.kubeconfig, "merged into this file (default: KUBECONFIG or ~/.kube/config)");
    app.add_flag("--detach,-d", flags.detach, "return once the cluster is ready and leave it running");
    app.add_flag("--quiet,-q", flags.quiet, "print failures only");
    app.add_option("--port", options.port, "of the API server")->capture_default_str();
    app.add_option("--cluster-cidr", options.cluster_cidr, "addresses of pods")->capture_default_str();
    app.add_option("--service-cidr", options.service_cidr, "addresses of services")->capture_default_str();
    app.add_option("--node-cidr", options.node_cidr, "addresses of the nodes on this machine")->capture_default_str();
    app.add_option("--cluster-dns", options.cluster_dns, "address of the cluster's DNS")->capture_default_str();
    app.add_option("--cluster-domain", options.cluster_domain, "domain of services")->capture_default_str();
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    if (const auto parsed = parse_nodes(flags.nodes, options); !parsed) return fail(parsed.error().message);

    RealWorld world;
    const DataDir data(flags.data);
    Progress progress(world.loop, flags.quiet);
    bool running = false;
    auto cluster = planned_cluster(data, options, running);
    if (!cluster) return fail(cluster.error().message);
    if (!running) {
        if (const auto checked = preflight(options); !checked) return fail(checked.error().message);
        std::error_code error;
        fs::create_directories(data.logs(), error);
        if (error) return fail("cannot make " + data.logs().string() + ": " + error.message());
        if (const auto saved = cluster->save(data); !saved) return fail(saved.error().message);
        const auto supervisor = start_supervisor(data, progress);
        if (!supervisor) return fail(supervisor.error().message);
        cluster->supervisor = *supervisor;
    }
    const std::string kubeconfig = kubeconfig_file(flags.kubeconfig);
    if (const auto entered = enter_kubeconfig(data, *cluster, kubeconfig); !entered) return fail(entered.error().message);
    progress.done(running ? "already running; kubectl context porthole in " + kubeconfig : "kubectl context porthole in " + kubeconfig);
    if (flags.detach) {
        const auto survives = world.run(survive_reboot(world, data));
        if (!survives) return fail("the cluster runs, but cannot be made to come back after a reboot: " + survives.error().message);
        progress.note(*survives);
        return 0;
    }
    return stay(world, cluster->supervisor, data);
}

int run_supervise(std::vector<std::string> arguments) {
    std::string path;
    bool report = false;
    CLI::App app("Keep a cluster's processes running (started by `porthole up`).", "supervise");
    app.add_option("--data", path, "the cluster's data directory")->required();
    app.add_flag("--report", report, "tell about the start on descriptor 3");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    ::signal(SIGPIPE, SIG_IGN);
    const DataDir data(path);
    auto cluster = Cluster::load(data);
    if (!cluster) return fail(cluster.error().message);
    // The server starts another supervisor when ours dies, and so does systemd: one is enough.
    if (is_running(cluster->supervisor) && cluster->supervisor.pid != ::getpid()) return 0;
    RealWorld world;
    PipeReport pipe(report ? 3 : -1);
    Logger log(make_stderr_sink(LogLevel::Info), "supervisor");
    Supervisor supervisor(world.loop, *world.processes, data, std::move(*cluster), pipe, log);
    world.loop.on_signal([&](int) { supervisor.stop(); });
    auto started = world.run(supervisor.start());
    if (started) {
        pipe.ready();
    } else {
        log.error("the cluster did not come up", {{"error", started.error().message}});
        supervisor.stop();
    }
    const auto served = world.run(supervisor.serve());
    if (!served) log.error("ending the cluster failed", {{"error", served.error().message}});
    return started && served ? 0 : 1;
}

}  // namespace porthole::cmd
