#include "base/result.h"
#include "base/version.h"
#include "bundled_images/bundled_image_service.h"
#include "bundled_images/bundled_images.h"
#include "cmd/agent_flags.h"
#include "cmd/node/node_program.h"
#include "controllers/dns_endpoints/dns_endpoints.h"
#include "dns/cluster_dns.h"
#include "dns/server.h"
#include "kubelet/container/cgroups.h"
#include "kubelet/cri/cri_grpc.h"
#include "kubelet/images/image_mounts.h"
#include "kubelet/kubelet.h"
#include "kubelet/options/options.h"
#include "kubelet/plugins/plugin_connection_grpc.h"
#include "kubelet/probes/network_prober.h"
#include "kubelet/server/kubelet_server.h"
#include "kubelet/volumes/framework/mounter.h"
#include "local_cluster/state/cluster.h"
#include "net/http/http_server.h"
#include "netlink/conntrack.h"
#include "netlink/network_stack.h"
#include "netlink/nft.h"
#include "node_join/agent_lock.h"
#include "node_join/agent_options.h"
#include "node_join/certificate.h"
#include "node_join/identity.h"
#include "node_network/node_network.h"
#include "proxy/health_server.h"
#include "proxy/nftables/metrics.h"
#include "proxy/nftables/nftables_proxy.h"
#include "runtime/processes/process_memory.h"

namespace porthole::cmd {

using namespace local_cluster;
using namespace node_join;
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

/// Everything that runs on a node, in one process and on one loop: network, proxy, kubelet.
class Agent final : public NodeProgram {
public:
    Agent(RealWorld& world, AgentOptions options, Logger log)
        : NodeProgram(world, std::move(log), std::string("porthole-agent/") + PortholeVersion), options_(std::move(options)) {}

    /// Errors: BadRequest for options, Io when the machine refuses.
    Task<> start() override;
    Task<> close() override;

private:
    Result<void> make_network();
    Result<void> make_proxy();
    Result<void> make_dns();
    Result<kubelet::KubeletConfig> kubelet_config() const;
    Result<void> make_kubelet();
    Result<void> listen();
    /// For a containerd whose sandbox_image is ours: it would ask a registry for it.
    Task<> import_sandbox_image();
    /// Ports for probes and scrapers. A node works without them, so one that is taken is told and no more.
    void serve_health();
    Task<> serve_with_issued(std::shared_ptr<net::TlsServerContext> tls);
    /// Of a cluster that issues none.
    Task<> renew_own(std::shared_ptr<net::TlsServerContext> tls, std::string certificate_pem);

    AgentOptions options_;
    bool issued_ = false;  ///< the kubelet's port has a certificate of the cluster
    std::unique_ptr<ProcessMemory> memory_ = make_process_memory();
    std::unique_ptr<net::NftExecutor> nft_ = net::make_nft_executor(*world_.processes, *world_.pool);
    std::unique_ptr<net::Conntrack> conntrack_ = net::make_conntrack(*world_.pool);
    std::unique_ptr<net::NetworkStack> stack_ = net::make_network_stack();
    std::unique_ptr<net::Overlay> overlay_ = net::make_overlay();

    std::unique_ptr<cni::NodeNetwork> network_;
    std::unique_ptr<proxy::HealthServer> health_;
    std::unique_ptr<proxy::nftables::NftablesProxy> proxy_;
    std::unique_ptr<dns::Upstream> upstream_ = dns::make_socket_upstream(world_.loop);
    std::unique_ptr<dns::ClusterDns> dns_;
    std::unique_ptr<dns::DnsServer> dns_server_;

    std::unique_ptr<kubelet::GrpcRuntime> runtime_;
    std::unique_ptr<bundled_images::BundledImageService> images_;
    std::unique_ptr<kubelet::ImageMounts> image_mounts_;
    kubelet::NodeSystem system_ = kubelet::make_node_system(*files_, *world_.processes);
    std::unique_ptr<kubelet::NetworkProber> prober_;
    std::unique_ptr<kubelet::PluginConnector> plugins_;
    std::unique_ptr<kubelet::Kubelet> kubelet_;
    std::unique_ptr<kubelet::KubeletServer> kubelet_server_;
    std::unique_ptr<net::HttpServer> http_;
    std::unique_ptr<kubelet::HealthHandler> kubelet_health_;
    std::unique_ptr<proxy::nftables::MetricsHandler> proxy_metrics_;
    std::unique_ptr<net::HttpServer> kubelet_health_http_, proxy_metrics_http_;
};

Result<void> Agent::make_network() {
    cni::NodeNetworkOptions options;
    options.node_name = options_.node_name;
    TRY(options.node_address, IpAddress::parse(options_.node_ip));
    TRY(options.cluster_prefixes, prefixes(options_.cluster_cidr));
    TRY(options.service_prefixes, prefixes(options_.service_cidr));
    options.cni_conf_dir = options_.cni_config_folder;
    options.ipam_dir = (fs::path(options_.data) / "ipam").string();
    options.backend = cni::flannel::find_backend(options_.backend).value_or(cni::flannel::Backend::HostGateway);
    network_ = std::make_unique<cni::NodeNetwork>(cni::NodeNetworkContext{.loop = world_.loop,
                                                                          .informers = *informers_,
                                                                          .stack = *stack_,
                                                                          .nft = *nft_,
                                                                          .files = *files_,
                                                                          .client = *client_,
                                                                          .overlay = *overlay_,
                                                                          .log = log_.named("network")},
                                                  std::move(options));
    return network_->prepare();
}

Result<void> Agent::make_proxy() {
    proxy::nftables::NftablesOptions options{.node_name = options_.node_name};
    TRY(options.rules.pod_prefixes, prefixes(options_.cluster_cidr));
    TRY(options.rules.service_prefixes, prefixes(options_.service_cidr));
    TRY(const IpAddress dns, IpAddress::parse(options_.cluster_dns));
    options.rules.served_here = {dns};
    options.rules.masquerade_neighbors = !network_->bridge_netfilter();
    health_ = std::make_unique<proxy::HealthServer>(world_.loop, log_.named("proxy"));
    proxy_ = std::make_unique<proxy::nftables::NftablesProxy>(
        proxy::nftables::NftablesContext{world_.loop, *informers_, *nft_, *conntrack_, health_.get(), log_.named("proxy")},
        std::move(options));
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
    dns_server_ = std::make_unique<dns::DnsServer>(
        world_.loop, dns_->resolver(), [this](const IpAddress& client) { return dns_->knows(client); }, log_.named("dns"));
    TRY_VOID(dns_server_->listen(address));
    // For nodes that do not serve the service's address themselves: the endpoints of kube-system/kube-dns.
    TRY(const IpAddress own, IpAddress::parse(options_.node_ip));
    TRY_VOID(dns_server_->listen(own, controllers::DnsEndpointsController::DnsNodePort));
    return {};
}

/// Until the cluster has issued a certificate, the kubelet serves with one that it has signed itself.
Result<void> Agent::listen() {
    TRY(const KeyPair serving, make_serving_certificate(options_.node_name, options_.node_ip, world_.loop.wall_now()));
    TRY(const auto policy, net::TlsPolicy::parse(options_.tls_min_version, options_.tls_cipher_suites));
    TRY(const auto tls, net::TlsServerContext::create({.certificate_pem = serving.certificate_pem,
                                                       .key_pem = serving.key_pem,
                                                       .client_ca_pem = connection_.config().ca_pem,
                                                       .policy = policy}));
    scope_.spawn(serve_with_issued(tls));
    scope_.spawn(renew_own(tls, serving.certificate_pem));
    connection_.on_change([this, tls] {
        const auto taken = tls->reload_client_ca(connection_.config().ca_pem);
        if (!taken) log_.warn("the kubelet's port keeps its authorities for clients", {{"error", taken.error().message}});
    });
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
    proxy_metrics_ = std::make_unique<proxy::nftables::MetricsHandler>(*proxy_, world_.loop);
    told("health of the kubelet", listen_here(*kubelet_health_, kubelet_health_http_, KubeletHealthPort));
    told("metrics of the proxy", listen_here(*proxy_metrics_, proxy_metrics_http_, ProxyMetricsPort));
    told("health of the proxy", health_->serve_proxy(*proxy_, "0.0.0.0", ProxyHealthPort));
}

Task<> Agent::serve_with_issued(std::shared_ptr<net::TlsServerContext> tls) {
    return serve_with_issued_certificates({world_.loop, *client_, random_, log_.named("certificates")}, options_.node_name,
                                          read_serving_identity(options_.data), [this, tls](const KeyPair& issued) -> Result<void> {
                                              TRY_VOID(tls->reload(issued.certificate_pem, issued.key_pem));
                                              issued_ = true;
                                              return write_serving_identity(options_.data, issued);
                                          });
}

Task<> Agent::renew_own(std::shared_ptr<net::TlsServerContext> tls, std::string certificate_pem) {
    for (;;) {
        CO_TRY(const SystemTime due, renewal_time(certificate_pem, random_));
        while (world_.loop.wall_now() < due) CO_TRY_VOID(co_await world_.loop.sleep(1h));
        if (issued_) co_return {};
        CO_TRY(const KeyPair serving, make_serving_certificate(options_.node_name, options_.node_ip, world_.loop.wall_now()));
        CO_TRY_VOID(tls->reload(serving.certificate_pem, serving.key_pem));
        certificate_pem = serving.certificate_pem;
    }
}

Result<kubelet::KubeletConfig> Agent::kubelet_config() const {
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
    config.pod_pids_limit = options_.pod_max_pids;
    config.seccomp_default = options_.seccomp_default;
    config.protect_kernel_defaults = options_.protect_kernel_defaults;
    TRY(config.streaming_idle, kubelet::idle_timeout(options_.streaming_idle_timeout));
    config.serving = {.client_ca_file = options_.kubeconfig,  // which names the authority
                      .tls_min_version = options_.tls_min_version,
                      .tls_cipher_suites = options_.tls_cipher_suites,
                      .issued_by_cluster = true};
    config.image_gc.kept = {bundled_images::PauseImage};  // older containerds pin nothing
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
    return config;
}

Result<void> Agent::make_kubelet() {
    TRY(kubelet::KubeletConfig config, kubelet_config());
    for (const std::string& folder : {config.root_directory, config.log_root, config.static_pod_directory}) {
        TRY_VOID(files_->create_directories(folder, 0750));
    }
    runtime_ = kubelet::connect_runtime(world_.loop, options_.runtime_endpoint);
    images_ = std::make_unique<bundled_images::BundledImageService>(runtime_->images(), [this](const bundled_images::BundledImage& image) {
        return bundled_images::import_into_containerd(*world_.processes, options_.runtime_endpoint, image);
    });
    image_mounts_ = kubelet::make_containerd_image_mounts(*world_.processes, options_.runtime_endpoint);
    prober_ = kubelet::make_network_prober(world_.loop);
    plugins_ = kubelet::make_plugin_connector(world_.loop);
    kubelet_ = std::make_unique<kubelet::Kubelet>(std::move(config), kubelet::KubeletDependencies{.loop = world_.loop,
                                                                                                  .random = random_,
                                                                                                  .log = log_.named("kubelet"),
                                                                                                  .client = *client_,
                                                                                                  .runtime = runtime_->runtime(),
                                                                                                  .images = *images_,
                                                                                                  .files = *files_,
                                                                                                  .workers = *world_.pool,
                                                                                                  .system = system_,
                                                                                                  .prober = *prober_,
                                                                                                  .image_mounts = image_mounts_.get(),
                                                                                                  .programs = world_.processes.get(),
                                                                                                  .plugins = plugins_.get()});
    return {};
}

Task<> Agent::import_sandbox_image() {
    const auto imported = co_await images_->ensure(bundled_images::PauseImage);
    if (!imported && !is_cancelled(imported)) log_.warn("the sandbox image is not imported", {{"error", imported.error().message}});
    co_return imported;
}

Task<> Agent::start() {
    CO_TRY_VOID(connect(options_.kubeconfig));
    if (options_.node_ip.empty()) {
        CO_TRY(options_.node_ip, own_address());
    }
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
    scope_.spawn(import_sandbox_image());
    scope_.spawn(kubelet_->run());
    scope_.spawn(connection_.renew(options_.node_name));
    scope_.spawn(connection_.follow_authority());
    scope_.spawn(give_back_memory_at_rest(world_.loop, *memory_));
    log_.info("agent started", {{"node", options_.node_name}, {"address", options_.node_ip}});
    co_return {};
}

Task<> Agent::close() {
    for (net::HttpServer* server : {http_.get(), kubelet_health_http_.get(), proxy_metrics_http_.get()})
        if (server) CO_TRY_VOID(co_await server->close());
    if (dns_server_) CO_TRY_VOID(co_await dns_server_->close());
    CO_TRY_VOID(co_await close_parts());
    if (health_) CO_TRY_VOID(co_await health_->close());
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

    const auto lock = take_agent_lock(options.data);
    if (!lock) return fail(lock.error().message);
    RealWorld world;
    Agent agent(world, std::move(options), Logger(make_stderr_sink(LogLevel::Info), "agent"));
    return agent.run();
}

}  // namespace porthole::cmd
