#include "kubelet/plugins/plugin_connection_grpc.h"

#include "base/result.h"
#include "net/byte_stream.h"
#include "net/grpc/grpc.h"
#include "net/http/http_server.h"
#include "net/socket.h"
#include "runtime/asio_loop.h"

namespace porthole::kubelet {
namespace {

constexpr std::size_t LargestAnswer = 4 << 20;  // gRPC's usual limit

class GrpcConnection final : public PluginConnection {
public:
    GrpcConnection(AsioLoop& loop, std::string path)
        : channel_(loop, net::Endpoint{.unix_path = std::move(path)}, nullptr, LargestAnswer) {}

    Task<std::string> call(std::string method, std::string request, Duration limit) override {
        return channel_.call(std::move(method), std::move(request), limit);
    }
    Task<> watch(std::string method, std::string request, std::function<void(const std::string& message)> heard) override {
        CO_TRY(const auto stream, co_await channel_.open(std::move(method), std::move(request)));
        for (;;) {
            CO_TRY(const auto message, co_await stream->next());
            if (!message) co_return Error(Reason::Unavailable, "the plugin has ended its answers");
            heard(*message);
        }
    }
    Task<> close() override { return channel_.close(); }

private:
    net::GrpcChannel channel_;
};

class GrpcServer final : public PluginServer {
public:
    static constexpr std::size_t LargestRequest = 1 << 20;

    GrpcServer(AsioLoop& loop, std::map<std::string, PluginMethod> methods)
        : server_(loop, grpc_, {.body_limit = LargestRequest}, Logger(make_null_sink(), "plugins")) {
        for (auto& [path, method] : methods) grpc_.add(path, std::move(method));
    }
    Result<void> listen(const std::string& path) { return server_.listen_unix(path); }
    Task<> close() override { return server_.close(); }

private:
    net::GrpcHandler grpc_;
    net::HttpServer server_;
};

class GrpcConnector final : public PluginConnector {
public:
    explicit GrpcConnector(AsioLoop& loop) : loop_(loop) {}
    std::unique_ptr<PluginConnection> connect(const std::string& path) override { return std::make_unique<GrpcConnection>(loop_, path); }
    Task<> reach(std::string path) override {
        CO_TRY(const auto stream, co_await net::connect_socket(loop_, net::Endpoint{.unix_path = std::move(path)}));
        stream->close();
        co_return {};
    }
    Result<std::unique_ptr<PluginServer>> serve(const std::string& path, std::map<std::string, PluginMethod> methods) override {
        auto server = std::make_unique<GrpcServer>(loop_, std::move(methods));
        TRY_VOID(server->listen(path));
        return std::unique_ptr<PluginServer>(std::move(server));
    }

private:
    AsioLoop& loop_;
};

}  // namespace

std::unique_ptr<PluginConnector> make_plugin_connector(AsioLoop& loop) { return std::make_unique<GrpcConnector>(loop); }

}  // namespace porthole::kubelet
