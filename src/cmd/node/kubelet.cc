#include "kubelet/kubelet.h"

#include <cstdlib>

#include "base/version.h"
#include "cmd/node/kubelet_system.h"
#include "cmd/node/node_program.h"
#include "cni/flannel/network_check.h"
#include "hns/dll/load_hns.h"
#include "kubelet/cri/cri_grpc.h"
#include "kubelet/options/options.h"
#include "kubelet/plugins/plugin_connection_grpc.h"
#include "kubelet/probes/network_prober.h"
#include "kubelet/server/kubelet_server.h"
#include "net/http/http_server.h"
#include "net/interface_address.h"
#include "node_join/certificate.h"
#include "node_join/identity.h"

namespace porthole::cmd {
namespace {

/// The kubelet alone, with upstream's flags: what Windows nodes run, and whoever replaces one part of a Linux node.
class KubeletProgram final : public NodeProgram {
public:
    KubeletProgram(RealWorld& world, kubelet::KubeletOptions options, Logger log)
        : NodeProgram(world, std::move(log), std::string("kubelet/") + KubernetesVersion), options_(std::move(options)) {}

    Task<> start() override {
        CO_TRY(const std::uint32_t priority, kubelet::priority_class(options_.windows_priority_class));
        CO_TRY_VOID(set_priority_class(priority));
        CO_TRY_VOID(connect(options_.kubeconfig));
        if (options_.node_ip.empty()) {
            CO_TRY(options_.node_ip, own_address());
        }
        CO_TRY_VOID(make_kubelet());
        CO_TRY_VOID(listen());
        serve_health();
        scope_.spawn(kubelet_->run());
        scope_.spawn(connection_.follow_authority());
        scope_.spawn(options_.rotate_certificates ? connection_.renew(options_.hostname_override) : connection_.follow());
        if (KubeletOnWindows) scope_.spawn(look_for_pod_network());
        log_.info("kubelet started", {{"node", options_.hostname_override}, {"runtime", options_.runtime_endpoint}});
        co_return {};
    }

    Task<> close() override {
        if (health_http_) CO_TRY_VOID(co_await health_http_->close());
        if (http_) CO_TRY_VOID(co_await http_->close());
        CO_TRY_VOID(co_await close_parts());
        if (runtime_) CO_TRY_VOID(co_await runtime_->close());
        co_return {};
    }

private:
    Result<void> make_kubelet() {
        if (options_.hostname_override.empty()) options_.hostname_override = own_node_name();
        TRY(auto config, kubelet::make_kubelet_config(options_, KubeletOnWindows));
        config.node.version = KubernetesVersion;
        if (config.serving.client_ca_file.empty()) config.serving.client_ca_file = options_.kubeconfig;  // which names the authority
        runtime_ = kubelet::connect_runtime(world_.loop, options_.runtime_endpoint);
        if (!KubeletOnWindows) image_mounts_ = kubelet::make_containerd_image_mounts(*world_.processes, options_.runtime_endpoint);
        plugins_ = kubelet::make_plugin_connector(world_.loop);
        prober_ = kubelet::make_network_prober(world_.loop);
        kubelet_ = std::make_unique<kubelet::Kubelet>(std::move(config), kubelet::KubeletDependencies{.loop = world_.loop,
                                                                                                      .random = random_,
                                                                                                      .log = log_.named("kubelet"),
                                                                                                      .client = *client_,
                                                                                                      .runtime = runtime_->runtime(),
                                                                                                      .images = runtime_->images(),
                                                                                                      .files = *files_,
                                                                                                      .workers = *world_.pool,
                                                                                                      .system = system_,
                                                                                                      .prober = *prober_,
                                                                                                      .image_mounts = image_mounts_.get(),
                                                                                                      .programs = world_.processes.get(),
                                                                                                      .plugins = plugins_.get()});
        return {};
    }

    /// Without a serving certificate of its own the kubelet serves with the one it is known by, until the cluster has issued it one.
    Result<void> listen() {
        const client::ClientConfig& known = connection_.config();
        net::TlsServerOptions tls{.certificate_pem = known.certificate_pem, .key_pem = known.key_pem, .client_ca_pem = known.ca_pem};
        const auto read = [&](const std::string& path, std::string& into) -> Result<void> {
            if (path.empty()) return {};
            TRY(into, files_->read(path));
            return {};
        };
        TRY_VOID(read(options_.tls_cert_file, tls.certificate_pem));
        TRY_VOID(read(options_.tls_private_key_file, tls.key_pem));
        TRY_VOID(read(options_.client_ca_file, tls.client_ca_pem));
        TRY(tls.policy, net::TlsPolicy::parse(options_.tls_min_version, options_.tls_cipher_suites));
        TRY(const auto context, net::TlsServerContext::create(std::move(tls)));
        connection_.on_change([this, context] { serve_as_known(*context); });
        if (options_.tls_cert_file.empty()) scope_.spawn(serve_with_issued(context));
        kubelet::NodeLogPolicy node_logs{.query = options_.system_log_query};
        if (!options_.log_directory.empty()) node_logs.folders = {options_.log_directory};
        server_ = std::make_unique<kubelet::KubeletServer>(world_.loop, *kubelet_, kubelet::AccessPolicy{}, log_.named("server"),
                                                           std::move(node_logs));
        http_ = std::make_unique<net::HttpServer>(world_.loop, *server_, net::HttpServerOptions{.tls = context}, log_.named("server"));
        TRY_VOID(http_->listen(options_.address, static_cast<std::uint16_t>(options_.port)));
        return {};
    }

    /// Pods that cannot get an address say so one by one; what all of them lack is told here, once flanneld has had its time.
    Task<> look_for_pod_network() {
        using namespace std::chrono_literals;
        const char* name = std::getenv("KUBE_NETWORK");
        if (!name || !*name) co_return {};
        CO_TRY_VOID(co_await world_.loop.sleep(20s));
        const auto service = hns::own_hns(world_.loop, *world_.pool);
        const auto missing = co_await cni::flannel::missing_of_network(*service, name);
        if (missing && missing->empty()) co_return {};
        log_.warn("pods will get no network",
                  {{"missing", missing ? *missing : missing.error().message}, {"adapters", net::list_of_interfaces()}});
        co_return {};
    }

    /// Another program on its port is no reason not to run pods.
    void serve_health() {
        if (options_.healthz_port == 0) return;
        health_ = std::make_unique<kubelet::HealthHandler>(*kubelet_);
        health_http_ = std::make_unique<net::HttpServer>(world_.loop, *health_, net::HttpServerOptions{}, log_.named("health"));
        const auto listening = health_http_->listen(options_.healthz_address, static_cast<std::uint16_t>(options_.healthz_port));
        if (!listening) log_.warn("cannot serve /healthz", {{"error", listening.error().message}});
    }

    Task<> serve_with_issued(std::shared_ptr<net::TlsServerContext> tls) {
        const auto& folder = connection_.own_folder();
        return node_join::serve_with_issued_certificates({world_.loop, *client_, random_, log_.named("certificates")},
                                                         options_.hostname_override,
                                                         folder ? node_join::read_serving_identity(*folder) : node_join::KeyPair{},
                                                         [this, tls, folder](const node_join::KeyPair& issued) -> Result<void> {
                                                             TRY_VOID(tls->reload(issued.certificate_pem, issued.key_pem));
                                                             issued_ = true;
                                                             if (folder) TRY_VOID(node_join::write_serving_identity(*folder, issued));
                                                             return {};
                                                         });
    }

    void serve_as_known(net::TlsServerContext& tls) {
        if (options_.client_ca_file.empty()) {
            const auto trusted = tls.reload_client_ca(connection_.config().ca_pem);
            if (!trusted) log_.warn("the kubelet keeps its authorities for clients", {{"error", trusted.error().message}});
        }
        if (issued_ || !options_.tls_cert_file.empty()) return;
        const auto loaded = tls.reload(connection_.config().certificate_pem, connection_.config().key_pem);
        if (!loaded) log_.warn("the kubelet keeps serving with the previous certificate", {{"error", loaded.error().message}});
    }

    kubelet::KubeletOptions options_;
    bool issued_ = false;  ///< the server has a certificate of the cluster
    kubelet::NodeSystem system_ = kubelet::make_node_system(*files_, *world_.processes);
    std::unique_ptr<kubelet::ImageMounts> image_mounts_;
    std::unique_ptr<kubelet::GrpcRuntime> runtime_;
    std::unique_ptr<kubelet::PluginConnector> plugins_;
    std::unique_ptr<kubelet::NetworkProber> prober_;
    std::unique_ptr<kubelet::Kubelet> kubelet_;
    std::unique_ptr<kubelet::KubeletServer> server_;
    std::unique_ptr<net::HttpServer> http_;
    std::unique_ptr<kubelet::HealthHandler> health_;
    std::unique_ptr<net::HttpServer> health_http_;
};

}  // namespace

int run_kubelet(std::vector<std::string> arguments) {
    return run_node_program<KubeletProgram, kubelet::KubeletOptions>(
        {.name = "kubelet",
         .summary = "Run a node's kubelet alone.",
         .help = kubelet::kubelet_flags_help(KubeletOnWindows),
         .parse = [](const auto& words, FileSystem& files) { return kubelet::parse_kubelet_options(words, KubeletOnWindows, files); }},
        arguments);
}

}  // namespace porthole::cmd
