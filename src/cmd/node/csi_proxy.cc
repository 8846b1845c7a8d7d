#include "csi_proxy/csi_proxy.h"

#include <optional>

#include "cmd/node/node_program.h"
#include "csi_proxy/local_files.h"
#include "csi_proxy/options.h"
#include "csi_proxy/storage_commands.h"
#include "net/http/http_server.h"

namespace porthole::cmd {
namespace {

/// The CSI proxy of a real Windows host: one server of gRPC for each pipe.
class CsiProxyProgram final : public NodeProgram {
public:
    CsiProxyProgram(RealWorld& world, csi_proxy::CsiProxyOptions options, Logger log)
        : NodeProgram(world, std::move(log), "csi-proxy"), options_(std::move(options)) {}

    Task<> start() override {
        CO_TRY(paths_, csi_proxy::path_rules_of(options_));
        host_files_ = csi_proxy::make_local_files(*files_, *paths_);
        proxy_ = std::make_unique<csi_proxy::CsiProxy>(
            *world_.pool, *paths_, csi_proxy::Host{*host_files_, &storage_, &storage_, &storage_, &storage_, &storage_, options_.services});
        http_ = std::make_unique<net::HttpServer>(world_.loop, proxy_->handler(),
                                                  net::HttpServerOptions{.body_limit = csi_proxy::LargestRequest}, log_);
        for (const std::string& pipe : csi_proxy::CsiProxy::pipes()) {
            auto listening = http_->listen_unix(pipe);
            if (!listening && listening.error().reason == Reason::AlreadyExists)
                co_return std::move(listening).error().with_context("another CSI proxy runs on this host");
            CO_TRY_VOID(listening);
        }
        log_.info("csi-proxy started", {{"kubelet-path", options_.kubelet_path}});
        co_return {};
    }

    Task<> close() override {
        if (http_) CO_TRY_VOID(co_await http_->close());
        co_return co_await close_parts();
    }

private:
    csi_proxy::CsiProxyOptions options_;
    csi_proxy::StorageCommands storage_{*world_.processes, options_.require_privacy};
    std::optional<csi_proxy::PathRules> paths_;
    std::unique_ptr<csi_proxy::Files> host_files_;
    std::unique_ptr<csi_proxy::CsiProxy> proxy_;
    std::unique_ptr<net::HttpServer> http_;
};

}  // namespace

int run_csi_proxy(std::vector<std::string> arguments) {
    return run_node_program<CsiProxyProgram, csi_proxy::CsiProxyOptions>(
        {.name = "csi-proxy",
         .summary = "Perform operations on this Windows host for CSI drivers in containers.",
         .help = csi_proxy::csi_proxy_flags_help(),
         .parse = [](const auto& words, FileSystem&) { return csi_proxy::parse_csi_proxy_options(words); }},
        arguments);
}

}  // namespace porthole::cmd
