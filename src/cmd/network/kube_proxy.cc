#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "cmd/command.h"
#include "cmd/network/node_proxy.h"
#include "cmd/network/system.h"
#include "cmd/node_connection.h"
#include "cmd/node_program.h"
#include "cmd/program_log.h"
#include "cmd/version.h"
#include "kubelet/node/host.h"
#include "proxy/health_server.h"

namespace porthole::cmd {
namespace {

/// Where nothing is asked of a server.
class NoServer final : public client::Transport {
public:
    Task<client::ApiResponse> call(client::ApiRequest) override { co_return Error(Reason::Unavailable, "not connected to a server"); }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest) override {
        co_return Error(Reason::Unavailable, "not connected to a server");
    }
};

/// A node's service proxy alone, with upstream's flags.
class KubeProxyProgram final : public NodeProgram {
public:
    KubeProxyProgram(RealWorld& world, FileSystem& files, proxy::KubeProxyOptions options, Logger log)
        : world_(world),
          files_(files),
          options_(std::move(options)),
          log_(std::move(log)),
          connection_({world.loop, files, random_, connect_by_http(world.loop, std::string("kube-proxy/") + KubernetesVersion),
                       log_.named("certificates")}),
          scope_(world.loop, [this](const Error& error) { log_.error("the proxy ended", {{"error", error.message}}); }) {}

    Task<> start() override {
        for (const std::string& warning : options_.warnings) log_.warn(warning);
        CO_TRY_VOID(connect());
        CO_TRY_VOID(make_proxy());
        informers_->start();
        scope_.spawn(events_->run());
        scope_.spawn(proxy_->run());
        scope_.spawn(connection_.follow());
        log_.info("kube-proxy started", {{"node", options_.kernelspace.node_name}, {"network", options_.kernelspace.network_name}});
        co_return {};
    }

    Task<> clean_up() {
        make_client(no_server_);
        CO_TRY_VOID(make_proxy());
        co_return co_await proxy_->clean_up();
    }

    Task<> close() override {
        CO_TRY_VOID(co_await scope_.close());
        if (health_) CO_TRY_VOID(co_await health_->close());
        if (informers_) CO_TRY_VOID(co_await informers_->close());
        co_return {};
    }

    void failed(const Error& error) override { log_.error("kube-proxy cannot run", {{"error", error.message}}); }

private:
    Result<void> connect() {
        TRY_VOID(connection_.open(options_.kubeconfig, options_.master));
        make_client(connection_.transport());
        return {};
    }

    void make_client(client::Transport& transport) {
        if (options_.kernelspace.node_name.empty()) options_.kernelspace.node_name = own_node_name();
        client_ = std::make_unique<client::Client>(transport);
        informers_ = std::make_unique<client::Informers>(client::InformerContext{world_.loop, *client_, random_, log_.named("informers")});
        events_ = std::make_unique<client::EventRecorder>(world_.loop, *client_, log_, "kube-proxy", options_.kernelspace.node_name);
    }

    std::string own_node_name() {
        std::string name = kubelet::make_host(files_)->describe().hostname;
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        return name;
    }

    Result<void> make_proxy() {
        if (options_.healthz_port != 0 && !options_.clean_up) health_ = std::make_unique<proxy::HealthServer>(world_.loop, log_);
        TRY(proxy_, make_node_proxy({world_, files_, *informers_, *events_, health_.get(), log_}, options_));
        if (health_) return health_->serve_proxy(proxy_->status(), options_.healthz_address, options_.healthz_port);
        return {};
    }

    RealWorld& world_;
    FileSystem& files_;
    proxy::KubeProxyOptions options_;
    Logger log_;
    SystemRandom random_;
    NoServer no_server_;
    NodeConnection connection_;
    std::unique_ptr<client::Client> client_;
    std::unique_ptr<client::Informers> informers_;
    std::unique_ptr<client::EventRecorder> events_;
    std::unique_ptr<proxy::HealthServer> health_;
    std::unique_ptr<NodeProxy> proxy_;
    Scope scope_;
};

std::map<std::string, std::string> environment() {
    std::map<std::string, std::string> found;
    for (const char* name : {"KUBE_NETWORK", "INTERFACE_TO_ADD_SERVICE_IP"}) {
        if (const char* value = std::getenv(name)) found[name] = value;
    }
    return found;
}

}  // namespace

int run_kube_proxy(std::vector<std::string> arguments) {
    if (std::ranges::any_of(arguments, [](const std::string& word) { return word == "--help" || word == "-h"; })) {
        std::printf("Run a node's service proxy alone.\n\n%s", proxy::kube_proxy_flags_help().c_str());
        return 0;
    }
    const auto files = make_file_system();
    auto options = proxy::parse_kube_proxy_options(arguments, environment(), *files, OwnNetworkSystem.proxy);
    if (!options) {
        (void)fail(options.error().message);
        return 255;
    }
    const std::string service = options->windows_service ? "kube-proxy" : "";
    const bool clean_up = options->clean_up;
    RealWorld world;
    Logger log(open_log({.to_stderr = options->log_to_stderr,
                         .verbosity = options->verbosity,
                         .directory = options->log_directory,
                         .file = options->log_file},
                        "kube-proxy"),
               "kube-proxy");
    KubeProxyProgram program(world, *files, *std::move(options), std::move(log));
    if (!clean_up) return run_node_program(world, program, service);
    const auto cleaned = world.run(program.clean_up());
    const auto closed = world.run(program.close());
    return cleaned && closed ? 0 : fail((cleaned ? closed : cleaned).error().message);
}

}  // namespace porthole::cmd
