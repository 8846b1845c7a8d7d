#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/foreground.h"
#include "cmd/program/flags.h"
#include "cmd/program/join_token.h"
#include "cmd/program/progress.h"
#include "local_cluster/hosts/machine_check.h"
#include "node_join/cluster_network.h"
#include "node_join/identity.h"
#include "winhost/template/host_profile.h"

namespace porthole::cmd {

using namespace local_cluster;
using namespace node_join;
namespace {

struct WinnodeFlags {
    std::string data = "/var/lib/porthole-winnode";
    JoinTarget target;
    std::string server;
    JoinToken token;
    NetworkWishes wishes;
    std::string profile = "2022";
    int count = 1;
    bool detach = false;
    ClusterOptions options;
};

std::string machine_name() {
    char name[256] = "";
    ::gethostname(name, sizeof name - 1);
    return std::string(name).substr(0, std::string_view(name).find('.'));
}

Result<void> preflight_hosts(const ClusterOptions& options) {
    if (::geteuid() != 0) return Error(Reason::Forbidden, "`winnode` creates namespaces and links: run it as root, for example with sudo");
    return check_machine(Cluster{.options = options});
}

int join(WinnodeFlags flags) {
    ClusterOptions& options = flags.options;
    auto token = flags.token.read();
    if (!token) return fail(token.error().message);
    flags.target.token = *std::move(token);
    flags.target.servers = {flags.server};
    if (const auto checked = check_target(flags.target); !checked) return fail(checked.error().message);
    options.foreign = ForeignCluster{.server = flags.target.servers.front(),
                                     .token = flags.target.token,
                                     .ca_hash = flags.target.ca_hashes.front(),
                                     .wishes = flags.wishes};
    options.linux_nodes = 0;
    std::error_code ignored;  // of a working directory that has gone
    if (!options.wine_root.empty()) options.wine_root = std::filesystem::absolute(options.wine_root, ignored).string();
    options.windows_nodes.assign(static_cast<std::size_t>(flags.count), {.profile = flags.profile});

    RealWorld world;
    const DataDir data(flags.data);
    Progress progress(world.loop, false);
    bool running = false;
    auto cluster = planned_cluster(data, options, running);
    if (!cluster) return fail(cluster.error().message);
    if (running) {
        progress.done("already running");
    } else {
        if (const auto checked = preflight_hosts(options); !checked) return fail(checked.error().message);
        if (const auto started = start_cluster(data, *cluster, progress); !started) return fail(started.error().message);
    }
    progress.note("kubectl get nodes, in that cluster, shows " + cluster->nodes(data).front().name);
    progress.note(
        "it stays NotReady until it may read nodes, services and endpoint slices: kubectl apply -f "
        "packaging/windows/examples/foreign-cluster.yaml, once");
    if (options.bridge.empty()) {
        progress.note("the cluster's other machines reach it by this one: ip route add " + options.node_cidr +
                      " via <address of this machine>");
    }
    return flags.detach ? 0 : stay(world, cluster->supervisor, data, "emulated hosts");
}

void add_data_flag(CLI::App& app, WinnodeFlags& flags) {
    app.add_option("--data", flags.data, "the data directory of the hosts")->capture_default_str();
}

}  // namespace

int run_winnode(std::vector<std::string> arguments) {
    WinnodeFlags flags;
    ClusterOptions& options = flags.options;
    options.node_cidr = "10.88.0.0/24";
    options.backend.clear();
    options.host_prefix = machine_name() + "-";
    CLI::App app(
        "Emulated Windows nodes on this machine for another cluster, such as one of kubeadm or kind, or a Porthole cluster on another "
        "machine.",
        "winnode");
    app.require_subcommand(1);
    CLI::App* join_command = app.add_subcommand("join", "start emulated Windows hosts and join them, as kubeadm join would on real ones");
    join_command->add_option("server", flags.server, "the API server, for example https://10.0.0.5:6443")->required();
    flags.token.add_flags(*join_command);
    join_command
        ->add_option("--discovery-token-ca-cert-hash,--ca-cert-hash", flags.target.ca_hashes,
                     "sha256 hash of the public key of the cluster's certificate authority")
        ->required();
    join_command->add_option("--profile", flags.profile, "Windows Server release to emulate")
        ->check(CLI::IsMember(winhost::profiles_of_nodes()))
        ->capture_default_str();
    join_command->add_option("--count", flags.count, "how many")->check(CLI::Range(1, 20))->capture_default_str();
    join_command->add_option("--prefix", options.host_prefix, "prefix of the nodes' names; windows-1, windows-2, … follows it")
        ->capture_default_str();
    join_command
        ->add_option("--node-cidr", options.node_cidr, "address range of the hosts; the first address is this machine's or the bridge's")
        ->capture_default_str();
    join_command
        ->add_option("--backend", options.backend,
                     "the cluster's pod network: host-gw, vxlan or alloc (default: the cluster's, otherwise host-gw)")
        ->check(CLI::IsMember({"host-gw", "vxlan", "alloc"}));
    join_command->add_option("--cluster-cidr", flags.wishes.cluster_cidr,
                             "addresses of pods (default: kubeadm's configuration in the cluster)");
    join_command->add_option("--service-cidr", flags.wishes.service_cidr,
                             "addresses of services (default: kubeadm's configuration in the cluster)");
    join_command->add_option("--cluster-dns", flags.wishes.cluster_dns,
                             "address of the cluster's DNS (default: the tenth address of the services)");
    join_command->add_option("--cluster-domain", flags.wishes.cluster_domain, "domain of services, if the cluster does not publish it");
    join_command->add_option("--wine-root", options.wine_root,
                             "directory with another Wine than the installed one, for pods; packaging/wine_root.py makes one");
    join_command->add_option(
        "--bridge", options.bridge,
        "an existing bridge to connect the hosts to, for example kind's; NAME@NAMESPACE for one in another network namespace");
    join_command->add_option("--first-host", options.first_host, "number of the first host in --node-cidr")->capture_default_str();
    join_command->add_flag("--detach,-d", flags.detach, "return once they have joined and leave them running");
    CLI::App* leave_command = app.add_subcommand("leave", "stop the hosts and delete their data on this machine");
    CLI::App* status_command = app.add_subcommand("status", "show the hosts");
    for (CLI::App* command : {join_command, leave_command, status_command}) add_data_flag(*command, flags);
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    if (const auto hosts = Cluster::load(DataDir(flags.data));
        !join_command->parsed() && !hosts && hosts.error().reason == Reason::NotFound)
        return fail("no hosts in " + flags.data + "; `porthole winnode join` starts some");
    if (leave_command->parsed()) return run_down({"--data", flags.data, "--purge"});
    if (status_command->parsed()) return run_status({"--data", flags.data});
    return join(std::move(flags));
}

}  // namespace porthole::cmd
