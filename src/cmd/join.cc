#include <unistd.h>

#include <cstdlib>
#include <map>

#include "base/strings.h"
#include "base/version.h"
#include "client/client.h"
#include "client/http_transport.h"
#include "client/kubeconfig.h"
#include "cmd/agent_flags.h"
#include "cmd/program/join_token.h"
#include "cmd/program/progress_flags.h"
#include "cmd/program/runtime_setup.h"
#include "local_cluster/system_unit.h"
#include "net/http/proxy.h"
#include "node_join/agent_options.h"
#include "node_join/cluster_network.h"
#include "node_join/identity.h"
#include "node_join/server_list.h"

namespace porthole::cmd {

using namespace local_cluster;
using namespace node_join;
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct JoinFlags {
    JoinTarget target;
    JoinToken token;
    std::uint16_t balancer_port = BalancerPort;
    std::string data = "/var/lib/porthole-agent";
    ProgressFlags progress;
    bool foreground = false;
    std::string backend;  // asked for; "" for the cluster's
    AgentOptions agent;
};

/// A node that joins, and the variables with which its agent reaches servers.
struct Joined {
    std::vector<std::string> agent;  ///< its command line
    std::map<std::string, std::string> environment;
};

std::string host_name() {
    char name[256] = "";
    ::gethostname(name, sizeof name - 1);
    return name;
}

Result<void> check_flags(JoinFlags& flags) {
    TRY(flags.target.token, flags.token.read());
    TRY_VOID(check_target(flags.target));
    if (::geteuid() != 0) return Error(Reason::Forbidden, "`join` sets up a node: run it as root, for example with sudo");
    if (::access(flags.agent.runtime_endpoint.c_str(), F_OK) != 0) {
        return Error(Reason::NotFound, "containerd is not available at " + flags.agent.runtime_endpoint +
                                           "; install and start it: apt-get install containerd containernetworking-plugins");
    }
    return {};
}

/// Ranges of a cluster that does not publish them as ours does: those of kubeadm's configuration, which the node itself may read.
Task<ClusterNetwork> learn_elsewhere(RealWorld& world, Progress& progress, ClusterInfo info, KeyPair identity, ClusterNetwork network) {
    progress.begin("asking for the cluster's ranges of addresses");
    const client::ClientConfig config{
        .server = info.server, .ca_pem = info.ca_pem, .certificate_pem = identity.certificate_pem, .key_pem = identity.key_pem};
    CO_TRY(const auto transport, client::make_http_transport(world.loop, config, std::string("porthole-join/") + PortholeVersion));
    client::Client client(*transport);
    CO_TRY(network, co_await with_timeout(ask_kubeadm(client, std::move(network)), 10s, "reading kubeadm-config"));
    const std::string ranges = "pods in " + network.cluster_cidr + ", services in " + network.service_cidr;
    network.known ? progress.done(ranges) : progress.warn("the cluster does not publish its ranges; using " + ranges);
    co_return network;
}

/// Every step of joining; safe to run twice.
Task<Joined> join_cluster(RealWorld& world, Progress& progress, JoinFlags flags) {
    progress.begin("verifying the cluster at " + join(flags.target.servers, ", "));
    CO_TRY(const ClusterInfo info, co_await discover_cluster(world.loop, flags.target));
    progress.done("the cluster's identity is verified");
    ClusterNetwork network = cluster_network(info.data);
    CO_TRY(const std::string backend, choose_backend(flags.backend, network));
    progress.begin("requesting a certificate");
    CO_TRY(const KeyPair identity, co_await request_node_identity(world.loop, flags.target, info, flags.agent.node_name));
    if (!network.known) {
        CO_TRY(network, co_await learn_elsewhere(world, progress, info, identity, std::move(network)));
    }
    CO_TRY(const ServerChoice choice, co_await choose_servers(world.loop, flags.target, info, flags.balancer_port,
                                                              [&](const std::string& why) { progress.warn(why); }));
    CO_TRY_VOID(write_node_folder(flags.data, choice, info, identity));
    progress.done("certificate for " + flags.agent.node_name);

    AgentOptions agent = flags.agent;
    agent.data = flags.data;
    agent.kubeconfig = (fs::path(flags.data) / "kubeconfig").string();
    agent.backend = backend;
    agent.cluster_cidr = network.cluster_cidr;
    agent.service_cidr = network.service_cidr;
    agent.cluster_dns = network.cluster_dns;
    agent.cluster_domain = network.cluster_domain;
    std::vector<std::string> exceptions = proxy_exceptions(network.cluster_cidr, network.service_cidr, network.cluster_domain);
    exceptions.push_back(agent.node_ip);
    Joined joined{agent_arguments(agent), net::proxy_environment(exceptions)};
    CO_TRY_VOID(write_unit_environment(fs::path(flags.data) / "environment", joined.environment));
    co_return joined;
}

}  // namespace

int run_join(std::vector<std::string> arguments) {
    JoinFlags flags;
    flags.agent.node_name = host_name();
    CLI::App app("Join this machine to a cluster as a node.", "join");
    add_api_server_flags(app, flags.target.servers, flags.balancer_port);
    flags.token.add_flags(app);
    app.add_option("--ca-cert-hash,--discovery-token-ca-cert-hash", flags.target.ca_hashes,
                   "sha256 hash of the public key of the cluster's certificate authority")
        ->required();
    app.add_option("--data", flags.data, "the node's data directory")->capture_default_str();
    app.add_flag("--foreground", flags.foreground, "run the agent in the foreground instead of as a service");
    flags.progress.add_flags(app);
    add_node_flags(app, flags.agent);
    app.get_option("--backend")->default_str("the cluster's");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    if (app.count("--backend") > 0) flags.backend = flags.agent.backend;

    RealWorld world;
    Progress progress(world.loop, flags.progress.style());
    if (const auto checked = check_flags(flags); !checked) return progress.end(checked);
    auto joined = world.run(join_cluster(world, progress, flags));
    if (!joined) return progress.end(joined.error());
    if (!flags.foreground && SystemUnit::possible()) {
        const auto unit = SystemUnit::agent(joined->agent, fs::absolute(flags.data) / "environment");
        const auto installed = world.run(unit.install(*world.processes, true));
        if (installed) progress.done("service porthole-agent started; `kubectl get nodes` shows " + flags.agent.node_name);
        return progress.end(installed ? Result<void>() : installed.error());
    }
    progress.note("starting the agent; it stops when this command ends");
    std::vector<char*> words;
    for (std::string& word : joined->agent) words.push_back(word.data());
    words.push_back(nullptr);
    for (const auto& [name, value] : joined->environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::execv(words[0], words.data());
    return fail("cannot start the agent");
}

}  // namespace porthole::cmd
