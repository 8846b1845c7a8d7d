#include <cstdlib>
#include <map>

#include "base/version.h"
#include "cmd/node/node_program.h"
#include "cmd/node/node_proxy.h"
#include "cmd/node/system.h"
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
    KubeProxyProgram(RealWorld& world, proxy::KubeProxyOptions options, Logger log)
        : NodeProgram(world, std::move(log), std::string("kube-proxy/") + KubernetesVersion), options_(std::move(options)) {
        if (options_.kernelspace.node_name.empty()) options_.kernelspace.node_name = own_node_name();
    }

    bool ends_after_start() const override { return options_.clean_up; }

    Task<> start() override {
        if (options_.clean_up) co_return co_await clean_up();
        CO_TRY_VOID(connect(options_.kubeconfig, options_.master));
        CO_TRY_VOID(make_proxy());
        informers_->start();
        scope_.spawn(events_->run());
        scope_.spawn(run_proxy());
        scope_.spawn(connection_.follow());
        log_.info("kube-proxy started", {{"node", options_.kernelspace.node_name}, {"network", options_.kernelspace.network_name}});
        co_return {};
    }

    Task<> close() override {
        CO_TRY_VOID(co_await close_parts());
        if (health_) CO_TRY_VOID(co_await health_->close());
        co_return {};
    }

private:
    /// What this host cannot do ends the program: people, and the service manager, are to see it.
    Task<> run_proxy() {
        const auto ended = co_await proxy_->run();
        if (!ended && !is_cancelled(ended)) end_because(ended.error());
        co_return {};
    }

    /// Removes all rules; no server is asked.
    Task<> clean_up() {
        use(no_server_);
        CO_TRY_VOID(make_proxy());
        co_return co_await proxy_->clean_up();
    }

    Result<void> make_proxy() {
        events_ = std::make_unique<client::EventRecorder>(world_.loop, *client_, log_, "kube-proxy", options_.kernelspace.node_name);
        if (options_.healthz_port != 0 && !options_.clean_up) health_ = std::make_unique<proxy::HealthServer>(world_.loop, log_);
        TRY(proxy_, make_node_proxy({world_, *files_, *informers_, *events_, health_.get(), log_}, options_));
        if (health_) return health_->serve_proxy(proxy_->status(), options_.healthz_address, options_.healthz_port);
        return {};
    }

    proxy::KubeProxyOptions options_;
    NoServer no_server_;
    std::unique_ptr<client::EventRecorder> events_;
    std::unique_ptr<proxy::HealthServer> health_;
    std::unique_ptr<NodeProxy> proxy_;
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
    return run_node_program<KubeProxyProgram, proxy::KubeProxyOptions>(
        {.name = "kube-proxy",
         .summary = "Run a node's service proxy alone.",
         .help = proxy::kube_proxy_flags_help(),
         .parse = [](const auto& words,
                     FileSystem& files) { return proxy::parse_kube_proxy_options(words, environment(), files, OwnNetworkSystem.proxy); }},
        arguments);
}

}  // namespace porthole::cmd
