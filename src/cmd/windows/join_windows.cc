#include <filesystem>

#include "api/core_v1.h"
#include "base/strings.h"
#include "base/version.h"
#include "client/client.h"
#include "client/http_transport.h"
#include "client/kubeconfig.h"
#include "cmd/program/flags.h"
#include "cmd/program/join_token.h"
#include "cmd/program/progress_flags.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/windows/roles.h"
#include "hns/dll/load_hns.h"
#include "net/interface_address.h"
#include "net/tls/x509.h"
#include "node_join/cluster_network.h"
#include "node_join/identity.h"
#include "node_join/server_list.h"
#include "node_join/windows_node/firewall.h"
#include "node_join/windows_node/host_windows.h"
#include "node_join/windows_node/node_object.h"
#include "node_join/windows_node/pod_network_wait.h"
#include "node_join/windows_node/preflight.h"
#include "runtime/files/durable_file.h"
#include "runtime/files/file_system.h"
#include "winservice/service_order.h"

namespace porthole::cmd {

using namespace node_join;
using namespace winservice;
namespace {

namespace core = api::core::v1;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct JoinFlags {
    JoinTarget target;
    JoinToken token;
    std::uint16_t balancer_port = BalancerPort;
    WindowsNode node;
    std::string network_mode;  // asked for; "" for what fits the cluster
    NetworkWishes wishes;
    ProgressFlags progress;
    bool skip_checks = false, no_wait = false;
};

std::optional<int> parse(std::vector<std::string> arguments, JoinFlags& flags) {
    WindowsNode& node = flags.node;
    CLI::App app("Make this machine a node of a cluster. Safe to run again.", "join");
    add_api_server_flags(app, flags.target.servers, flags.balancer_port);
    flags.token.add_flags(app);
    app.add_option("--discovery-token-ca-cert-hash,--ca-cert-hash", flags.target.ca_hashes,
                   "sha256 hash of the public key of the cluster's certificate authority")
        ->required();
    app.add_option("--node-name", node.name, "name of the node (default: the computer's name)");
    app.add_option("--node-ip,--apiserver-advertise-address", node.ip,
                   "address of the node (default: the address from which it reaches the server)");
    app.add_option("--adapter", node.adapter, "adapter for the pod network, such as \"Ethernet 2\" (default: Windows chooses one)");
    app.add_option("--network-mode", flags.network_mode, "l2bridge or overlay (default: the cluster's, otherwise l2bridge)");
    app.add_option("--cluster-cidr", flags.wishes.cluster_cidr, "addresses of pods, if the cluster does not publish them");
    app.add_option("--service-cidr", flags.wishes.service_cidr, "addresses of services, if the cluster does not publish them");
    app.add_option("--cluster-dns", flags.wishes.cluster_dns, "address of the cluster's DNS (default: the tenth address of the services)");
    app.add_option("--cluster-domain", flags.wishes.cluster_domain, "domain of services, if the cluster does not publish it");
    app.add_flag("--enable-dsr", node.direct_server_return, "direct server return: needed for many services, and keeps clients' addresses");
    app.add_option("--cri-socket", node.runtime_endpoint, "endpoint of the container runtime")->capture_default_str();
    app.add_option("--folder", node.folder, "directory of programs, configuration and credentials")->capture_default_str();
    app.add_option("--log-dir", node.log_folder, "directory of the programs' logs")->capture_default_str();
    app.add_option("--windows-priorityclass", node.priority_class, "priority class of the kubelet")->capture_default_str();
    app.add_option("--system-reserved", node.system_reserved, "resources kept for Windows itself")->capture_default_str();
    app.add_flag("--shared-disk", node.shared_disk, "do not collect images or evict pods, however full the disk is");
    app.add_option("--label", node.labels, "label of the node, as key=value; may be repeated");
    app.add_option("--taint", node.taints, "taint of the node, as key=value:effect; may be repeated");
    app.add_flag("--ignore-preflight-errors", flags.skip_checks, "continue although a check has failed");
    app.add_flag("--no-wait", flags.no_wait, "do not wait until the cluster shows the node");
    flags.progress.add_flags(app);
    return parse_flags(app, std::move(arguments));
}

/// Joins step by step. Nothing of the machine changes until the cluster has given a certificate.
class Joining {
public:
    Joining(RealWorld& world, JoinFlags flags) : world_(world), flags_(std::move(flags)), progress_(world.loop, flags_.progress.style()) {}

    /// The exit code.
    int end(const Result<void>& joined) { return progress_.end(joined); }

    Result<void> run() {
        TRY_VOID(complete());
        TRY_VOID(look_first());
        TRY_VOID(become_known());
        TRY_VOID(stop_services(*services_, own_services(node()), [this](const std::string& text) { progress_.done(text); }));
        TRY_VOID(write_files());
        open_firewall();
        TRY_VOID(world_.run(make_node_object()));
        return start_node();
    }

private:
    WindowsNode& node() { return flags_.node; }

    Result<void> complete() {
        TRY(flags_.target.token, flags_.token.read());
        TRY_VOID(check_target(flags_.target));
        if (!flags_.network_mode.empty()) node().network_mode = flags_.network_mode;
        if (node().name.empty()) node().name = computer_name();
        if (node().ip.empty() && !node().adapter.empty()) {
            TRY(node().ip, address_of_adapter(node().adapter, net::interfaces()));
        }
        if (node().ip.empty()) {
            auto address = net::source_address_towards(flags_.target.servers.front());
            if (!address) return std::move(address).error().with_context("cannot determine this machine's address; set it with --node-ip");
            node().ip = address->to_string();
        }
        return check_node(node());
    }

    Result<void> look_first() {
        const HostFacts facts = look_at_host(node(), *services_);
        std::string failed;
        for (const Check& check : preflight(facts, node())) {
            if (!say(check)) failed += (failed.empty() ? "" : ", ") + check.id;
        }
        node().csi_proxy = !has_other_csi_proxy(node(), *services_);
        node().proxy = facts.proxy;
        node().no_proxy = facts.no_proxy;
        if (failed.empty() || flags_.skip_checks) return {};
        return Error(Reason::BadRequest, "this machine cannot join yet: " + failed + "; see the remedies above");
    }

    /// Whether the check lets the join go on.
    bool say(const Check& check) {
        const std::string remedy = check.remedy.empty() ? "" : "; " + check.remedy;
        switch (check.outcome) {
            case CheckOutcome::Pass:
                progress_.done("[" + check.id + "] " + check.text);
                return true;
            case CheckOutcome::Warn:
                progress_.warn("[" + check.id + "] warning: " + check.text + remedy);
                return true;
            case CheckOutcome::Fail:
                progress_.failed("[" + check.id + "]", check.text + remedy);
        }
        return false;
    }

    Result<void> become_known() {
        progress_.begin("verifying the cluster at " + join(flags_.target.servers, ", "));
        TRY(info_, world_.run(discover_cluster(world_.loop, flags_.target)));
        progress_.done("the cluster at " + info_.server + " is verified");
        ClusterNetwork network = cluster_network(info_.data);
        TRY_VOID(take_over(network));
        progress_.begin("requesting a certificate");
        TRY(identity_, world_.run(request_node_identity(world_.loop, flags_.target, info_, node().name)));
        TRY(const auto certificate, net::parse_certificate(identity_.certificate_pem));
        const auto behind = std::chrono::duration_cast<std::chrono::seconds>(certificate.not_before - world_.loop.wall_now()).count();
        if (!say(check_clock(behind)) && !flags_.skip_checks)
            return Error(Reason::BadRequest, "the clocks of this machine and the cluster differ");
        progress_.done("certificate for " + node().name);
        if (!network.known) {
            TRY_VOID(learn_elsewhere(std::move(network)));
        }
        if (!node().proxy.empty()) node().no_proxy = completed_no_proxy(node().no_proxy, node());
        return {};
    }

    /// What the node's programs are told of the cluster. Windows' names of the back ends are those of the HNS networks.
    Result<void> take_over(ClusterNetwork network) {
        TRY_VOID(apply_wishes(flags_.wishes, network));
        const std::string bridge = network.backend == "alloc" ? "alloc" : "host-gw";  // the same HNS network
        const std::string asked = flags_.network_mode.empty() ? "" : node().is_overlay() ? "vxlan" : bridge;
        TRY(const std::string backend, choose_backend(asked, network));
        node().network_mode = backend == "vxlan" ? "overlay" : "l2bridge";
        node().router_has_routes = backend == "alloc";
        TRY(node().cluster_cidr, range_for_windows(network.cluster_cidr));
        TRY(node().service_cidr, range_for_windows(network.service_cidr));
        node().cluster_dns = network.cluster_dns;
        node().cluster_domain = network.cluster_domain;
        return check_node(node());
    }

    /// A cluster that is not ours may have been made by kubeadm; else its ranges are the usual ones or those of the command line.
    Result<void> learn_elsewhere(ClusterNetwork network) {
        progress_.begin("asking for the cluster's ranges of addresses");
        TRY(network, world_.run(learn_as_node(std::move(network))));
        TRY_VOID(take_over(network));
        const std::string ranges = "pods in " + node().cluster_cidr + ", services in " + node().service_cidr;
        if (network.known || !flags_.wishes.cluster_cidr.empty()) {
            progress_.done(ranges);
        } else {
            progress_.warn("[network] warning: the cluster does not publish its ranges; using " + ranges +
                           "; if they are others, join with --cluster-cidr and --service-cidr");
        }
        return {};
    }

    Task<ClusterNetwork> learn_as_node(ClusterNetwork network) {
        CO_TRY(const auto transport, connect_as_node());
        client::Client client(*transport);
        co_return co_await with_timeout(ask_kubeadm(client, std::move(network)), 10s, "reading kubeadm-config");
    }

    Result<std::unique_ptr<client::Transport>> connect_as_node() {
        const client::ClientConfig config{
            .server = info_.server, .ca_pem = info_.ca_pem, .certificate_pem = identity_.certificate_pem, .key_pem = identity_.key_pem};
        return client::make_http_transport(world_.loop, config, std::string("porthole-join/") + PortholeVersion);
    }

    Result<void> write_files() {
        TRY_VOID(install_programs(node()));
        const fs::path folder = node().credentials(), ca = folder / "ca.crt";
        TRY_VOID(make_secret_folder(folder.string()));
        TRY_VOID(write_durably(ca, info_.ca_pem, 0644));
        TRY_VOID(write_node_identity(folder, identity_));
        TRY(const ServerChoice choice, world_.run(choose_servers(world_.loop, flags_.target, info_, flags_.balancer_port,
                                                                 [this](const std::string& why) { progress_.warn("[servers] " + why); })));
        TRY(const std::string kubeconfig, write_server_choice(choice, ca, folder));
        TRY_VOID(write_durably(node().kubeconfig(), kubeconfig));
        progress_.done("programs and credentials in " + node().folder);
        return {};
    }

    /// A firewall that is not Windows' own is no reason not to join.
    void open_firewall() {
        for (const FirewallRule& rule : firewall_rules(node())) {
            const std::string what = rule.protocol + " " + std::to_string(rule.port);
            const auto done = world_.run(ensure_firewall_rule(*world_.processes, rule));
            done ? progress_.done("firewall allows " + what) : progress_.warn("[firewall] warning: " + done.error().message);
        }
    }

    /// Before the kubelet does it, so that the cluster gives the node its range of pod addresses.
    Task<> make_node_object() {
        const auto files = make_file_system();
        CO_TRY(core::Node object, first_node(node(), kubelet::make_host(*files)->describe()));
        CO_TRY(const auto transport, connect_as_node());
        CO_TRY(const std::string line, co_await introduce_node(*transport, std::move(object)));
        progress_.done(line);
        co_return {};
    }

    /// The pod network first: a kubelet that finds it there is ready at once. Where it does not come, as with a cluster that lets nobody
    /// read nodes yet, the rest runs all the same and needs no other join once it does.
    Result<void> start_node() {
        TRY(const auto runtime, services_->find(ContainerdService));
        const auto wanted = node_services(node(), runtime ? ContainerdService : "");
        const std::span all(wanted);
        const Report say_done = [this](const std::string& text) { progress_.done(text); };
        TRY_VOID(install_services(*services_, all.first(1), say_done));
        const auto network = flags_.no_wait ? Result<void>() : wait_for_network();
        if (!network && network.error().reason != Reason::Timeout) return network;
        TRY_VOID(install_services(*services_, all.subspan(1), say_done));
        if (network && !flags_.no_wait) progress_.done("`kubectl get nodes` shows when " + node().name + " is Ready");
        return network;
    }

    Result<void> wait_for_network() {
        progress_.begin("waiting for the pod network");
        const auto service = hns::own_hns(world_.loop, *world_.pool);
        TRY_VOID(world_.run(wait_for_pod_network(world_.loop, *service, node())));
        progress_.done("HNS network " + node().network_name() + " and its configuration " + node().cni_config());
        return {};
    }

    RealWorld& world_;
    JoinFlags flags_;
    Progress progress_;
    std::unique_ptr<ServiceManager> services_ = make_service_manager();
    ClusterInfo info_;
    KeyPair identity_;
};

}  // namespace

int run_join(std::vector<std::string> arguments) {
    JoinFlags flags;
    if (const auto code = parse(std::move(arguments), flags)) return *code;
    RealWorld world;
    Joining joining(world, std::move(flags));
    return joining.end(joining.run());
}

}  // namespace porthole::cmd
