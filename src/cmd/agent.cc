#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/informer.h"
#include "cmd/agent_lock.h"
#include "cmd/agent_options.h"
#include "cmd/cluster.h"
#include "cmd/command.h"
#include "cmd/containerd.h"
#include "cmd/flags.h"
#include "cmd/node_certificate.h"
#include "cmd/node_connection.h"
#include "cmd/runtime_setup.h"
#include "cmd/version.h"
#include "cni/node_network/node_network.h"
#include "controllers/dns_endpoints/dns_endpoints.h"
#include "dns/cluster_dns.h"
#include "dns/server.h"
#include "kubelet/container/cgroups.h"
#include "kubelet/cri/cri_grpc.h"
#include "kubelet/kubelet.h"
#include "kubelet/probes/network_prober.h"
#include "kubelet/server/kubelet_server.h"
#include "kubelet/volumes/mounter.h"
#include "net/http_server.h"
#include "net/linux/conntrack.h"
#include "net/linux/network_stack.h"
#include "net/linux/nft.h"
#include "proxy/health_server.h"
#include "proxy/metrics.h"
#include "proxy/proxy.h"
#include "runtime/process_memory.h"

namespace porthole::cmd {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::uint16_t KubeletHealthPort = 10248, ProxyMetricsPort = 10249, ProxyHealthPort = 10256;  // as upstream's
constexpr const char* PodLogs = "pod-logs";

Result<std::vector<IpPrefix>> prefixes(const std::string& list) {
    std::vector<IpPrefix> parsed;
    for (std::size_t start = 0; start < list.size();) {
        const std::size_t end = std::min(list.find(',', start), list.size());
        TRY(const IpPrefix prefix, IpPrefix::parse(list.substr(start, end - start)));
        parsed.push_back(prefix);
        start = end + 1;
    }
    return parsed;
}

/// The machine's own address on the way to `server` ("https://host:port"); nothing is sent. Error: Io, naming the remedy.
Result<std::string> address_towards(const std::string& server) {
    std::string host = server.substr(std::min(server.find("://") + 3, server.size()));
    host = host.substr(0, host.find_first_of(":/"));
    const Error unknown(Reason::Io, "this machine's address towards " + server + " cannot be found out; give it with --node-ip");
    in_addr target{};
    if (::inet_pton(AF_INET, host.c_str(), &target) != 1) return unknown;
    sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = target};
    socklen_t size = sizeof address;
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool found = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                       ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    ::close(fd);
    char text[INET_ADDRSTRLEN];
    if (!found || !::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text)) return unknown;
    return std::string(text);
}

/// Everything that runs on a node, in one process and on one loop: network, proxy, kubelet.
class Agent {
public:
    Agent(RealWorld& world, AgentOptions options, Logger log)
        : world_(world),
          options_(std::move(options)),
          log_(std::move(log)),
          connection_({world.loop, *files_, random_, connect_by_http(world.loop, std::string("porthole-agent/") + Version),
                       log_.named("certificates")}),
          scope_(world.loop, [this](const Error& error) { log_.error("a component of the agent failed", {{"error", error.message}}); }) {}

    /// Errors: BadRequest for options, Io when the machine refuses.
    Task<> start();
    Task<> close();

private:
    Result<void> connect();
    Result<void> make_network();
    Result<void> make_proxy();
    Result<void> make_dns();
    Result<void> make_kubelet();
    Result<void> listen();
    /// Ports for probes and scrapers. A node works without them, so one that is taken is told and no more.
    void serve_health();
    Task<> renew_serving(std::shared_ptr<net::TlsServerContext> tls, std::string certificate_pem);

    RealWorld& world_;
    AgentOptions options_;
    Logger log_;
    SystemRandom random_;
    std::unique_ptr<FileSystem> files_ = make_file_system();
    std::unique_ptr<ProcessMemory> memory_ = make_process_memory();
    std::unique_ptr<net::NftExecutor> nft_ = net::make_nft_executor(*world_.processes);
    std::unique_ptr<net::Conntrack> conntrack_ = net::make_conntrack(*world_.pool);
    std::unique_ptr<net::NetworkStack> stack_ = net::make_network_stack();
    std::unique_ptr<net::Overlay> overlay_ = net::make_overlay();

    NodeConnection connection_;
    std::unique_ptr<client::Client> client_;
    std::unique_ptr<client::Informers> informers_;
    std::unique_ptr<cni::NodeNetwork> network_;
    std::unique_ptr<proxy::HealthServer> health_;
    std::unique_ptr<proxy::Proxy> proxy_;
    std::unique_ptr<dns::Upstream> upstream_ = dns::make_socket_upstream(world_.loop);
    std::unique_ptr<dns::ClusterDns> dns_;
    std::unique_ptr<dns::DnsServer> dns_server_;

    std::unique_ptr<kubelet::GrpcRuntime> runtime_;
    std::unique_ptr<kubelet::Mounter> mounter_ = kubelet::make_mounter();
    std::unique_ptr<kubelet::Cgroups> cgroups_;
    std::unique_ptr<kubelet::NetworkProber> prober_;
    std::unique_ptr<kubelet::Host> host_;
    std::unique_ptr<kubelet::Kubelet> kubelet_;
    std::unique_ptr<kubelet::KubeletServer> kubelet_server_;
    std::unique_ptr<net::HttpServer> http_;
    std::unique_ptr<kubelet::HealthHandler> kubelet_health_;
    std::unique_ptr<proxy::MetricsHandler> proxy_metrics_;
    std::unique_ptr<net::HttpServer> kubelet_health_http_, proxy_metrics_http_;
    Scope scope_;
};

Result<void> Agent::connect() {
    TRY_VOID(connection_.open(options_.kubeconfig));
    if (options_.node_ip.empty()) {
        TRY(options_.node_ip, address_towards(connection_.config().server));
    }
    client_ = std::make_unique<client::Client>(connection_.transport());
    informers_ = std::make_unique<client::Informers>(client::InformerContext{world_.loop, *client_, random_, log_.named("informers")});
    return {};
}

Result<void> Agent::make_network() {
    cni::NodeNetworkOptions options;
    options.node_name = options_.node_name;
    TRY(options.node_address, IpAddress::parse(options_.node_ip));
    TRY(options.cluster_prefixes, prefixes(options_.cluster_cidr));
    TRY(options.service_prefixes, prefixes(options_.service_cidr));
    options.cni_conf_dir = options_.cni_config_folder;
    options.ipam_dir = (fs::path(options_.data) / "ipam").string();
    options.backend = options_.backend == "vxlan" ? cni::flannel::Backend::Vxlan : cni::flannel::Backend::HostGateway;
    network_ = std::make_unique<cni::NodeNetwork>(
        cni::NodeNetworkContext{world_.loop, *informers_, *stack_, *nft_, *files_, *client_, *overlay_, log_.named("network")},
        std::move(options));
    return network_->prepare();
}

Result<void> Agent::make_proxy() {
    proxy::ProxyOptions options{.node_name = options_.node_name};
    TRY(options.rules.pod_prefixes, prefixes(options_.cluster_cidr));
    TRY(options.rules.service_prefixes, prefixes(options_.service_cidr));
    TRY(const IpAddress dns, IpAddress::parse(options_.cluster_dns));
    options.rules.served_here = {dns};
    options.rules.masquerade_neighbours = !network_->bridge_netfilter();
    health_ = std::make_unique<proxy::HealthServer>(world_.loop, log_.named("proxy"));
    proxy_ = std::make_unique<proxy::Proxy>(
        proxy::ProxyContext{world_.loop, *informers_, *nft_, *conntrack_, health_.get(), log_.named("proxy")}, std::move(options));
    return {};
}

Result<void> Agent::make_dns() {
    dns::ClusterDnsOptions options;
    TRY(options.zone.domain, dns::Name::parse(options_.cluster_domain));
    TRY(const IpAddress address, IpAddress::parse(options_.cluster_dns));
    options.zone.server_address = address;
    for (const std::string& range : {options_.cluster_cidr, options_.service_cidr}) {
        TRY(const auto own, prefixes(range));
        options.zone.own_prefixes.insert(options.zone.own_prefixes.end(), own.begin(), own.end());
    }
    dns_ = std::make_unique<dns::ClusterDns>(
        dns::ClusterDnsContext{world_.loop, *informers_, *upstream_, *files_, random_, log_.named("dns")}, std::move(options));
    dns_server_ = std::make_unique<dns::DnsServer>(world_.loop, dns_->resolver(), log_.named("dns"));
    TRY_VOID(dns_server_->listen(address));
    // For nodes that do not serve the service's address themselves: the endpoints of kube-system/kube-dns.
    TRY(const IpAddress own, IpAddress::parse(options_.node_ip));
    TRY_VOID(dns_server_->listen(own, controllers::DnsEndpointsController::DnsNodePort));
    return {};
}

/// The kubelet serves with a certificate that it has signed itself, as upstream's does unless told otherwise: what counts is that
/// it knows the API server by its client certificate.
Result<void> Agent::listen() {
    TRY(const KeyPair serving, make_serving_certificate(options_.node_name, options_.node_ip, world_.loop.wall_now()));
    TRY(const auto tls,
        net::TlsServerContext::create(
            {.certificate_pem = serving.certificate_pem, .key_pem = serving.key_pem, .client_ca_pem = connection_.config().ca_pem}));
    scope_.spawn(renew_serving(tls, serving.certificate_pem));
    // The folder above holds the node's key.
    kubelet::NodeLogPolicy node_logs{.directory = (fs::path(options_.data) / PodLogs).string()};
    kubelet_server_ = std::make_unique<kubelet::KubeletServer>(world_.loop, *kubelet_, kubelet::AccessPolicy{}, log_.named("kubelet"),
                                                               std::move(node_logs));
    http_ = std::make_unique<net::HttpServer>(world_.loop, *kubelet_server_, net::HttpServerOptions{.tls = tls}, log_.named("kubelet"));
    TRY_VOID(http_->listen("0.0.0.0", options_.kubelet_port));
    return {};
}

void Agent::serve_health() {
    const auto told = [this](const char* what, const auto& listening) {
        if (!listening) log_.warn("cannot serve a port of the agent", {{"what", what}, {"error", listening.error().message}});
    };
    const auto listen_here = [this](net::HttpHandler& handler, std::unique_ptr<net::HttpServer>& server, std::uint16_t port) {
        server = std::make_unique<net::HttpServer>(world_.loop, handler, net::HttpServerOptions{}, log_);
        return server->listen("127.0.0.1", port);
    };
    kubelet_health_ = std::make_unique<kubelet::HealthHandler>(*kubelet_);
    proxy_metrics_ = std::make_unique<proxy::MetricsHandler>(*proxy_, world_.loop);
    told("health of the kubelet", listen_here(*kubelet_health_, kubelet_health_http_, KubeletHealthPort));
    told("metrics of the proxy", listen_here(*proxy_metrics_, proxy_metrics_http_, ProxyMetricsPort));
    told("health of the proxy", health_->serve_proxy(*proxy_, "0.0.0.0", ProxyHealthPort));
}

Task<> Agent::renew_serving(std::shared_ptr<net::TlsServerContext> tls, std::string certificate_pem) {
    for (;;) {
        CO_TRY(const SystemTime due, renewal_time(certificate_pem, random_));
        while (world_.loop.wall_now() < due) CO_TRY_VOID(co_await world_.loop.sleep(1h));
        CO_TRY(const KeyPair serving, make_serving_certificate(options_.node_name, options_.node_ip, world_.loop.wall_now()));
        CO_TRY_VOID(tls->reload(serving.certificate_pem, serving.key_pem));
        certificate_pem = serving.certificate_pem;
    }
}

Result<void> Agent::make_kubelet() {
    kubelet::KubeletConfig config;
    const fs::path data = options_.data;
    config.node.name = options_.node_name;
    config.node.addresses = {options_.node_ip};
    for (const std::string& label : options_.labels) config.node.labels.insert(kubelet::parse_label(label));
    for (const std::string& text : options_.taints) {
        auto taint = kubelet::parse_taint(text);
        if (!taint) return std::move(taint).error().with_context("--register-with-taints");
        config.node.taints.push_back(*std::move(taint));
    }
    config.node.version = std::string(KubernetesVersion);
    config.node.port = options_.kubelet_port;
    config.node.max_pods = options_.max_pods;
    config.image_gc.kept = {SandboxImage};  // older containerds pin nothing
    if (options_.shared_disk) {
        config.image_gc.high_percent = 100;
        config.eviction.disk_available = config.eviction.inodes_free = 0;
    }
    config.root_directory = (data / "kubelet").string();
    config.node.root_directory = config.root_directory;
    config.log_root = (data / PodLogs).string();
    config.log_link_directory = "";
    config.static_pod_directory = options_.pod_manifests.empty() ? (data / "manifests").string() : options_.pod_manifests;
    config.cluster_dns = {options_.cluster_dns};
    config.cluster_domain = options_.cluster_domain;
    config.cgroup_root = options_.cgroup_root == "/" ? "" : options_.cgroup_root;
    for (const std::string& folder : {config.root_directory, config.log_root, config.static_pod_directory}) {
        TRY_VOID(files_->create_directories(folder, 0750));
    }
    runtime_ = kubelet::connect_runtime(world_.loop, options_.runtime_endpoint);
    cgroups_ = std::make_unique<kubelet::CgroupFiles>(*files_);
    prober_ = kubelet::make_network_prober(world_.loop);
    host_ = kubelet::make_host(*files_);
    kubelet_ = std::make_unique<kubelet::Kubelet>(
        std::move(config), kubelet::KubeletDependencies{world_.loop, random_, log_.named("kubelet"), *client_, runtime_->runtime(),
                                                        runtime_->images(), *files_, *mounter_, *cgroups_, *prober_, *host_});
    return {};
}

Task<> Agent::start() {
    CO_TRY_VOID(connect());
    CO_TRY_VOID(make_network());
    CO_TRY_VOID(make_proxy());
    CO_TRY_VOID(make_dns());
    CO_TRY_VOID(make_kubelet());
    CO_TRY_VOID(listen());
    serve_health();
    informers_->start();
    scope_.spawn(network_->run());
    scope_.spawn(proxy_->run());
    scope_.spawn(dns_->run());
    scope_.spawn(kubelet_->run());
    scope_.spawn(connection_.renew(options_.node_name));
    scope_.spawn(give_back_memory_at_rest(world_.loop, *memory_));
    log_.info("agent started", {{"node", options_.node_name}, {"address", options_.node_ip}});
    co_return {};
}

Task<> Agent::close() {
    for (net::HttpServer* server : {http_.get(), kubelet_health_http_.get(), proxy_metrics_http_.get()})
        if (server) CO_TRY_VOID(co_await server->close());
    if (dns_server_) CO_TRY_VOID(co_await dns_server_->close());
    CO_TRY_VOID(co_await scope_.close());
    if (health_) CO_TRY_VOID(co_await health_->close());
    if (informers_) CO_TRY_VOID(co_await informers_->close());
    if (runtime_) CO_TRY_VOID(co_await runtime_->close());
    co_return {};
}

}  // namespace

int run_agent(std::vector<std::string> arguments) {
    AgentOptions options;
    CLI::App app("Run a node's agent: kubelet, service proxy, node network and DNS in one process.", "agent");
    app.add_option("--data", options.data, "the node's data directory")->capture_default_str();
    app.add_option("--kubeconfig", options.kubeconfig, "kubeconfig: address and credentials for the API server")->required();
    app.add_option("--cluster-cidr", options.cluster_cidr, "addresses of pods")->capture_default_str();
    app.add_option("--service-cidr", options.service_cidr, "addresses of services")->capture_default_str();
    app.add_option("--cluster-dns", options.cluster_dns, "address of the cluster's DNS")->capture_default_str();
    app.add_option("--cluster-domain", options.cluster_domain, "domain of services")->capture_default_str();
    add_node_flags(app, options);
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    if (options.node_name.empty()) return fail("--node-name is missing");

    const auto lock = AgentLock::take(options.data);
    if (!lock) return fail(lock.error().message);
    ::signal(SIGPIPE, SIG_IGN);
    RealWorld world;
    Logger log(make_stderr_sink(LogLevel::Info), "agent");
    Agent agent(world, std::move(options), log);
    Event stop;
    world.loop.on_signal([&](int) { stop.set(); });
    const auto started = world.run(agent.start());
    if (started) (void)world.run(stop.wait());
    const auto closed = world.run(agent.close());
    if (!started) return fail(started.error().message);
    return closed ? 0 : fail(closed.error().message);
}

}  // namespace porthole::cmd
