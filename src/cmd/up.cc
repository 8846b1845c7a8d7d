#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "cmd/foreground.h"
#include "cmd/program/flags.h"
#include "cmd/program/port_flag.h"
#include "cmd/program/progress.h"
#include "cmd/server/server_flags.h"
#include "local_cluster/description/description.h"
#include "local_cluster/hosts/machine_check.h"
#include "local_cluster/kubeconfig_entry.h"
#include "local_cluster/next_steps.h"
#include "local_cluster/resize.h"
#include "local_cluster/start.h"
#include "local_cluster/system_unit.h"
#include "provision/control_plane_description.h"
#include "provision/machine_description.h"
#include "runtime/files/file_lock.h"

namespace porthole::cmd {

using namespace local_cluster;
namespace {

using namespace std::chrono_literals;

struct UpFlags {
    std::string data = default_data_dir();
    std::string kubeconfig;
    std::string nodes, file;
    std::optional<int> servers;
    std::vector<std::string> server_arguments;
    std::size_t machines_elsewhere = 0;  ///< hosts of the file, which `provision` sets up
    bool detach = false, quiet = false;
    ClusterOptions options;
};

Task<> wait_for_port(EventLoop& loop, std::uint16_t port) {
    for (int round = 0; round < 30 && !port_is_free(port); ++round) CO_TRY_VOID(co_await loop.sleep(100ms));
    co_return {};
}

/// What is copied before would stop working at once, after the end of a rotation of the authority. A server that does not replace it is not
/// waited for longer.
Task<> wait_for_admin(EventLoop& loop, DataDir data) {
    constexpr int Rounds = 300;
    for (int round = 0; round < Rounds; ++round) {
        const auto current = is_admin_current(data);
        if (!current || *current) co_return {};  // what is wrong, the copy says
        CO_TRY_VOID(co_await loop.sleep(100ms));
    }
    co_return {};
}

Result<void> read_description_file(const std::string& file, ClusterOptions& options) {
    constexpr std::size_t Longest = 1 << 20;
    TRY(const std::string text, make_file_system()->read(file, Longest));
    auto read = read_description(text, options);
    return read ? std::move(read) : Result<void>(std::move(read).error().with_context(file));
}

/// The options of a cluster, except those for which there is a flag.
ClusterOptions keep_options(const CLI::App& app, ClusterOptions known, const ClusterOptions& given) {
    const auto take = [&](const char* flag, auto option) {
        if (app.count(flag) > 0) known.*option = given.*option;
    };
    take("--hardened", &ClusterOptions::hardened);
    take("--wine-root", &ClusterOptions::wine_root);
    take("--port", &ClusterOptions::port);
    take("--cluster-cidr", &ClusterOptions::cluster_cidr);
    take("--service-cidr", &ClusterOptions::service_cidr);
    take("--backend", &ClusterOptions::backend);
    take("--node-cidr", &ClusterOptions::node_cidr);
    take("--cluster-dns", &ClusterOptions::cluster_dns);
    take("--cluster-domain", &ClusterOptions::cluster_domain);
    return known;
}

/// The supervisor may be started in another directory.
void complete_wine_root(std::string& folder) {
    std::error_code ignored;  // of a working directory that has gone
    if (!folder.empty() && folder != WindowsNode::Installed)
        folder = std::filesystem::absolute(folder, ignored).lexically_normal().string();
}

Result<void> read_nodes(const std::string& text, ClusterOptions& options) {
    TRY_VOID(parse_typed_nodes(text, options));
    for (WindowsNode& node : options.windows_nodes) {
        complete_wine_root(node.wine_root);
        if (auto checked = check_wine_root_text(node.wine_root); !checked)
            return std::move(checked).error().with_context("--nodes " + text + ": the Wine root");
    }
    return {};
}

/// Whoever does not say how the cluster should be wants it as it is.
Result<void> read_options(const CLI::App& app, UpFlags& flags, const DataDir& data) {
    complete_wine_root(flags.options.wine_root);
    if (flags.options.wine_root == WindowsNode::Installed) flags.options.wine_root.clear();
    if (auto known = Cluster::load(data); known && !known->options.foreign) {
        flags.options = keep_options(app, std::move(known->options), flags.options);
    } else if (const char* nodes = std::getenv("PORTHOLE_NODES")) {
        TRY_VOID(read_nodes(nodes, flags.options));
    }
    flags.options.servers = flags.servers.value_or(flags.options.servers);
    TRY_VOID(check_servers(flags.options.servers));
    if (!flags.file.empty()) {
        TRY(const auto control_plane, provision::read_control_plane_file(flags.file));
        if (control_plane)
            return Error(Reason::BadRequest, flags.file + ": spec.controlPlane: is on other machines, which `porthole provision -f " +
                                                 flags.file + "` sets up");
        TRY_VOID(read_description_file(flags.file, flags.options));
        TRY(const auto machines, provision::read_machines_file(flags.file));
        flags.machines_elsewhere = machines.size();
        return {};
    }
    if (!flags.server_arguments.empty()) {
        std::erase(flags.server_arguments, "");
        TRY(flags.options.server_arguments, parse_server_arguments(flags.server_arguments));
        TRY_VOID(check_server_arguments(flags.options.server_arguments));
    }
    return flags.nodes.empty() ? Result<void>() : read_nodes(flags.nodes, flags.options);
}

/// Before anything is made, whether the servers know the options that they will be given.
Result<void> check_server_options(const ClusterOptions& options) {
    std::vector<std::string> words;
    if (options.servers > 1) words = {"--etcd-servers", "https://127.0.0.1"};  // some options need it
    return check_server_flags(with_server_arguments(std::move(words), options.server_arguments));
}

/// One `up` at a time starts or changes a cluster.
Result<std::optional<FileLock>> lock_cluster(const DataDir& data) {
    if (::geteuid() != 0) return Error(Reason::Forbidden, "`up` creates namespaces and links: run it as root, for example with sudo");
    std::error_code error;
    std::filesystem::create_directories(data.root(), error);
    if (error) return Error(Reason::Io, "cannot make " + data.root().string() + ": " + error.message());
    TRY(auto lock, FileLock::try_take(data.up_lock().string()));
    if (!lock) return Error(Reason::Conflict, "another `porthole up` is starting or changing this cluster; try again when it has ended");
    return lock;
}

/// Of a cluster that runs.
Result<void> change_nodes(RealWorld& world, const DataDir& data, const Cluster& cluster, const ClusterOptions& options,
                          Progress& progress) {
    TRY_VOID(check_programs(options));
    TRY_VOID(check_networks(options));
    return world.run(resize_cluster(world.loop, data, cluster, options, progress));
}

/// Yields the flags that a description takes the place of.
std::vector<CLI::Option*> add_cluster_flags(CLI::App& app, UpFlags& flags) {
    ClusterOptions& options = flags.options;
    app.add_option("--file,-f", flags.file, "a file that describes the cluster, instead of the flags below");
    return {
        app.add_option("--nodes", flags.nodes,
                       "SYSTEM=COUNT[:RELEASE][@WINE-ROOT], separated by commas, for example linux=2 or linux=1,windows=2 or "
                       "linux=1,windows=1:2019,windows=1:2025@/srv/wine-10 "
                       "(default: what the cluster has; for a new cluster PORTHOLE_NODES, or linux=1)"),
        app.add_option("--servers", flags.servers,
                       "number of API servers: 1 with the embedded store, or 3 or 5 on an etcd with as many members; later starts keep it "
                       "(default: what the cluster has, or 1)"),
        app.add_flag("--hardened", options.hardened,
                     "configure the cluster as the CIS Kubernetes Benchmark requires (`porthole doctor` checks it); later starts keep it"),
        app.add_option(
            "--wine-root", options.wine_root,
            "directory with another Wine than the installed one, for the pods of emulated Windows nodes that name none in --nodes; "
            "packaging/wine_root.py makes one; later starts keep it (default: what the cluster has; `installed` for none)"),
        app.add_option("--server-arg", flags.server_arguments,
                       "NAME=VALUE: an option of `porthole server` for the API servers; can be repeated, and later starts keep it "
                       "(default: those that the cluster has; '' for none)"),
        app.add_option("--port", options.port, "port of the API server")->check(is_port())->capture_default_str(),
        app.add_option("--cluster-cidr", options.cluster_cidr, "addresses of pods")->capture_default_str(),
        app.add_option("--service-cidr", options.service_cidr, "addresses of services")->capture_default_str(),
        app.add_option("--backend", options.backend,
                       "pod network between nodes: host-gw, vxlan, or alloc (an emulated router has the routes)")
            ->check(CLI::IsMember({"host-gw", "vxlan", "alloc"}))
            ->capture_default_str(),
        app.add_option("--node-cidr", options.node_cidr, "address range of the nodes on this machine")->capture_default_str(),
        app.add_option("--cluster-dns", options.cluster_dns, "address of the cluster's DNS")->capture_default_str(),
        app.add_option("--cluster-domain", options.cluster_domain, "domain of services")->capture_default_str(),
    };
}

/// After a reboot the cluster comes back by itself where systemd can see to it. Yields what to tell the person.
Task<std::string> survive_reboot(RealWorld& world, const DataDir& data) {
    if (!SystemUnit::possible())
        co_return "this machine has no systemd: after a reboot, bring the cluster back with: porthole up --detach --data " +
            data.root().string();
    const SystemUnit unit = SystemUnit::cluster(data.root(), data.id());
    CO_TRY_VOID(co_await unit.install(*world.processes, false));
    co_return "after a reboot the cluster is started by " + unit.name();
}

void add_flags(CLI::App& app, UpFlags& flags) {
    app.add_option("--data", flags.data, "the cluster's data directory")->capture_default_str();
    app.add_option("--kubeconfig", flags.kubeconfig, "file to merge the cluster's context into (default: KUBECONFIG or ~/.kube/config)");
    app.add_flag("--detach,-d", flags.detach, "return once the cluster is ready and leave it running");
    app.add_flag("--quiet,-q", flags.quiet, "print failures only");
    app.footer(
        "Without --detach it stays in the foreground and Ctrl-C ends the cluster. You can run it again: it starts missing parts, and "
        "with other\n"
        "--nodes it adds nodes to the running cluster or drains and removes the last of each system. Options that are not given stay as "
        "the cluster has them.\n\n"
        "Examples:\n"
        "  porthole up --detach                            one Linux node; then: kubectl get nodes\n"
        "  porthole up --nodes linux=2,windows=1 --detach  two Linux nodes and an emulated Windows one\n"
        "  porthole up --nodes linux=1,windows=1:2019,windows=1:2025 -d\n"
        "                                                  Windows Server 2019 and 2025 next to each other\n"
        "  porthole up -f cluster.yaml -d                  the nodes, networks and settings of a file\n"
        "  porthole up --servers 3 -d                      three API servers on a three-member etcd; any one of them may fail\n"
        "  porthole up --server-arg runtime-config=extensions/v1beta1=true -d\n"
        "                                                  with options of `porthole server`\n"
        "  porthole up --hardened -d                       with the settings that `porthole doctor` checks: audit log, seccomp, limits and "
        "more\n"
        "  porthole sample web                             a first workload, on each operating system of the cluster\n"
        "  porthole image load app.tar                     an image for its nodes\n"
        "  porthole down                                   end it; --purge deletes its data too");
}

/// Options of the command line, the file and the cluster; whether they go together.
Result<void> complete_options(const CLI::App& app, const std::vector<CLI::Option*>& described, UpFlags& flags, const DataDir& data) {
    for (const CLI::Option* option : described)
        if (!flags.file.empty() && option->count() > 0)
            return Error(Reason::BadRequest, "--file and " + option->get_name() + " exclude each other: change the file");
    TRY_VOID(read_options(app, flags, data));
    return check_server_options(flags.options);
}

/// The cluster as it runs, or as it is to be started.
Result<Cluster> find_cluster(RealWorld& world, const DataDir& data, const ClusterOptions& options, bool& running) {
    auto cluster = planned_cluster(data, options, running);
    if (!cluster || running || port_is_free(options.port)) return cluster;
    // What has just been killed holds its port a moment longer, and a server that has lost its supervisor starts another.
    (void)world.run(wait_for_port(world.loop, options.port));
    return planned_cluster(data, options, running);
}

/// Starts the cluster, or changes the nodes of one that runs, and makes it known to kubectl.
Result<Cluster> bring_up(RealWorld& world, const DataDir& data, const ClusterOptions& options, const std::string& kubeconfig,
                         Progress& progress) {
    TRY(auto lock, lock_cluster(data));
    bool running = false;
    TRY(Cluster cluster, find_cluster(world, data, options, running));
    if (!running) {
        TRY_VOID(check_machine(cluster));
        TRY_VOID(check_kubeconfig(kubeconfig));
        TRY_VOID(start_cluster(data, cluster, progress));
    }
    if (running) TRY_VOID(world.run(wait_for_admin(world.loop, data)));
    TRY_VOID(write_admin_kubeconfig(data, cluster.server_url()));
    TRY_VOID(enter_kubeconfig(data, kubeconfig));  // before what may fail: kubectl shows why
    const bool changes = running && nodes_text(cluster.options) != nodes_text(options);
    if (changes) {
        TRY_VOID(change_nodes(world, data, cluster, options, progress));
    } else if (running && !cluster.host_numbers.empty()) {
        TRY_VOID(world.run(retry_nodes(world.loop, data, cluster, progress)));
    }
    progress.done((running && !changes ? "already running; kubectl context porthole in " : "kubectl context porthole in ") + kubeconfig);
    return cluster;
}

}  // namespace

int run_up(std::vector<std::string> arguments) {
    UpFlags flags;
    CLI::App app("Bring up a whole cluster on this machine and point kubectl at it.", "up");
    const std::vector<CLI::Option*> described = add_cluster_flags(app, flags);
    add_flags(app, flags);
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    const DataDir data(flags.data);
    if (const auto complete = complete_options(app, described, flags, data); !complete) return fail(complete.error().message);

    RealWorld world;
    Progress progress(world.loop, flags.quiet);
    const auto cluster = bring_up(world, data, flags.options, flags.kubeconfig.empty() ? kubectl_file() : flags.kubeconfig, progress);
    if (!cluster) return fail(cluster.error().message);
    if (flags.machines_elsewhere > 0)
        progress.note(std::to_string(flags.machines_elsewhere) + " machines of " + flags.file +
                      " are not on this machine: porthole provision -f " + flags.file);
    if (flags.detach) {
        const auto survives = world.run(survive_reboot(world, data));
        if (!survives) return fail("the cluster runs, but will not start again after a reboot: " + survives.error().message);
        progress.note(*survives);
        const char* user = std::getenv("SUDO_USER");
        if (!flags.quiet) std::printf("\n%s", up_notes(data, typed_program(), user ? user : "").c_str());
        return 0;
    }
    return stay(world, cluster->supervisor, data, "cluster");
}

}  // namespace porthole::cmd
