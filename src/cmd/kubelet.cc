#include "kubelet/kubelet.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "cmd/command.h"
#include "cmd/kubelet_system.h"
#include "cmd/node_connection.h"
#include "cmd/node_program.h"
#include "cmd/program_log.h"
#include "cmd/version.h"
#include "kubelet/cri/cri_grpc.h"
#include "kubelet/options/options.h"
#include "kubelet/probes/network_prober.h"
#include "kubelet/server/kubelet_server.h"
#include "net/http_server.h"
#include "net/source_address.h"

namespace porthole::cmd {
namespace {

/// The kubelet alone, with upstream's flags: what Windows nodes run, and whoever replaces one part of a Linux node.
class KubeletProgram final : public NodeProgram {
public:
    KubeletProgram(RealWorld& world, KubeletSystem system, kubelet::KubeletOptions options, Logger log)
        : world_(world),
          system_(std::move(system)),
          options_(std::move(options)),
          log_(std::move(log)),
          connection_({world.loop, *system_.files, random_, connect_by_http(world.loop, std::string("kubelet/") + KubernetesVersion),
                       log_.named("certificates")}),
          scope_(world.loop, [this](const Error& error) { log_.error("the kubelet ended", {{"error", error.message}}); }) {}

    Task<> start() override {
        for (const std::string& warning : options_.warnings) log_.warn(warning);
        CO_TRY(const std::uint32_t priority, kubelet::priority_class(options_.windows_priority_class));
        CO_TRY_VOID(set_priority_class(priority));
        CO_TRY_VOID(connect());
        CO_TRY_VOID(make_kubelet());
        CO_TRY_VOID(listen());
        scope_.spawn(kubelet_->run());
        scope_.spawn(options_.rotate_certificates ? connection_.renew(options_.hostname_override) : connection_.follow());
        log_.info("kubelet started", {{"node", options_.hostname_override}, {"runtime", options_.runtime_endpoint}});
        co_return {};
    }

    Task<> close() override {
        if (http_) CO_TRY_VOID(co_await http_->close());
        CO_TRY_VOID(co_await scope_.close());
        if (runtime_) CO_TRY_VOID(co_await runtime_->close());
        co_return {};
    }

    void failed(const Error& error) override { log_.error("the kubelet cannot run", {{"error", error.message}}); }

private:
    Result<void> connect() {
        TRY_VOID(connection_.open(options_.kubeconfig));
        client_ = std::make_unique<client::Client>(connection_.transport());
        if (options_.node_ip.empty()) {
            auto address = net::source_address_towards(connection_.config().server);
            if (!address) return std::move(address).error().with_context("cannot determine this node's address; set it with --node-ip");
            options_.node_ip = address->to_string();
        }
        return {};
    }

    Result<void> make_kubelet() {
        host_ = kubelet::make_host(*system_.files);
        if (options_.hostname_override.empty()) {
            options_.hostname_override = host_->describe().hostname;
            std::ranges::transform(options_.hostname_override, options_.hostname_override.begin(),
                                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        }
        TRY(auto config, kubelet::make_kubelet_config(options_, system_.windows));
        config.node.version = KubernetesVersion;
        runtime_ = kubelet::connect_runtime(world_.loop, options_.runtime_endpoint);
        prober_ = kubelet::make_network_prober(world_.loop);
        kubelet_ = std::make_unique<kubelet::Kubelet>(
            std::move(config),
            kubelet::KubeletDependencies{world_.loop, random_, log_.named("kubelet"), *client_, runtime_->runtime(), runtime_->images(),
                                         *system_.files, *system_.mounter, *system_.cgroups, *prober_, *host_});
        return {};
    }

    /// Without a serving certificate of its own the kubelet serves with the one it is known by.
    Result<void> listen() {
        const client::ClientConfig& known = connection_.config();
        net::TlsServerOptions tls{.certificate_pem = known.certificate_pem, .key_pem = known.key_pem, .client_ca_pem = known.ca_pem};
        const auto read = [&](const std::string& path, std::string& into) -> Result<void> {
            if (path.empty()) return {};
            TRY(into, system_.files->read(path));
            return {};
        };
        TRY_VOID(read(options_.tls_cert_file, tls.certificate_pem));
        TRY_VOID(read(options_.tls_private_key_file, tls.key_pem));
        TRY_VOID(read(options_.client_ca_file, tls.client_ca_pem));
        TRY(const auto context, net::TlsServerContext::create(std::move(tls)));
        if (options_.tls_cert_file.empty()) connection_.on_change([this, context] { serve_as_known(*context); });
        kubelet::NodeLogPolicy node_logs{.query = options_.system_log_query};
        if (!options_.log_directory.empty()) node_logs.folders = {options_.log_directory};
        server_ = std::make_unique<kubelet::KubeletServer>(world_.loop, *kubelet_, kubelet::AccessPolicy{}, log_.named("server"),
                                                           std::move(node_logs));
        http_ = std::make_unique<net::HttpServer>(world_.loop, *server_, net::HttpServerOptions{.tls = context}, log_.named("server"));
        TRY_VOID(http_->listen(options_.address, static_cast<std::uint16_t>(options_.port)));
        return {};
    }

    void serve_as_known(net::TlsServerContext& tls) {
        const auto loaded = tls.reload(connection_.config().certificate_pem, connection_.config().key_pem);
        if (!loaded) log_.warn("the kubelet keeps serving with the previous certificate", {{"error", loaded.error().message}});
    }

    RealWorld& world_;
    KubeletSystem system_;
    kubelet::KubeletOptions options_;
    Logger log_;
    SystemRandom random_;
    NodeConnection connection_;
    std::unique_ptr<client::Client> client_;
    std::unique_ptr<kubelet::GrpcRuntime> runtime_;
    std::unique_ptr<kubelet::NetworkProber> prober_;
    std::unique_ptr<kubelet::Host> host_;
    std::unique_ptr<kubelet::Kubelet> kubelet_;
    std::unique_ptr<kubelet::KubeletServer> server_;
    std::unique_ptr<net::HttpServer> http_;
    Scope scope_;
};

}  // namespace

int run_kubelet(std::vector<std::string> arguments) {
    KubeletSystem system = make_kubelet_system();
    if (std::ranges::any_of(arguments, [](const std::string& word) { return word == "--help" || word == "-h"; })) {
        std::printf("Run a node's kubelet alone.\n\n%s", kubelet::kubelet_flags_help(system.windows).c_str());
        return 0;
    }
    auto options = kubelet::parse_kubelet_options(arguments, system.windows, *system.files);
    if (!options) {
        (void)fail(options.error().message);
        return 255;
    }
    const std::string service = options->windows_service ? "kubelet" : "";
    RealWorld world;
    Logger log(open_log({.to_stderr = options->log_to_stderr,
                         .verbosity = options->verbosity,
                         .directory = options->log_directory,
                         .file = options->log_file},
                        "kubelet"),
               "kubelet");
    KubeletProgram program(world, std::move(system), std::move(*options), std::move(log));
    return run_node_program(world, program, service);
}

}  // namespace porthole::cmd
