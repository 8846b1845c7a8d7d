#include "net/port_forward.h"

#include <algorithm>
#include <charconv>

#include "net/stream_upgrade.h"

namespace porthole::net {
namespace {

constexpr char SpdyProtocol[] = "portforward.k8s.io";
constexpr char TunnelProtocol[] = "SPDY/3.1+portforward.k8s.io";

Task<std::unique_ptr<ByteStream>> accept_tunnel(EventLoop& loop, const HttpRequest& request, HttpResponder& responder) {
    CO_TRY(auto socket, co_await accept_websocket(loop, request, responder, {TunnelProtocol}));
    co_return tunnel_stream(std::move(socket));
}

Task<std::unique_ptr<ByteStream>> accept_upgrade(const HttpRequest& request, HttpResponder& responder) {
    std::string chosen;
    co_return co_await accept_spdy(request, responder, {SpdyProtocol, ""}, chosen);
}

}  // namespace

Task<std::unique_ptr<ByteStream>> accept_port_forward(EventLoop& loop, const HttpRequest& request, HttpResponder& responder) {
    return is_websocket_request(request) ? accept_tunnel(loop, request, responder) : accept_upgrade(request, responder);
}

Task<std::unique_ptr<ByteStream>> connect_port_forward(HttpClient& client, std::string target) {
    std::string chosen;
    co_return co_await connect_spdy(client, std::move(target), {SpdyProtocol}, chosen);
}

Task<std::optional<ForwardedConnection>> PortForwardServer::accept() {
    constexpr std::size_t MostHalves = 100;
    for (;;) {
        CO_TRY(auto stream, co_await session_->accept());
        if (!stream) co_return std::optional<ForwardedConnection>();
        const Headers& headers = (*stream)->headers();
        const std::string_view port_text = headers.get("port"), type = headers.get("streamtype");
        std::uint16_t port = 0;
        std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
        if (port == 0 || (type != "data" && type != "error") || halves_.size() >= MostHalves) continue;  // reset by its end

        // Old clients send no request id: their streams come in pairs, one right after the other.
        const std::string request_id(headers.get("requestid"));
        auto half = std::ranges::find(halves_, request_id, &Half::request_id);
        if (half == halves_.end()) {
            halves_.push_back({request_id, {}});
            half = halves_.end() - 1;
        }
        half->connection.port = port;
        (type == "data" ? half->connection.data : half->connection.errors) = std::move(*stream);
        if (!half->connection.data || !half->connection.errors) continue;
        ForwardedConnection connection = std::move(half->connection);
        halves_.erase(half);
        co_return std::optional(std::move(connection));
    }
}

Task<ForwardedConnection> PortForwardClient::open(std::uint16_t port) {
    const std::string id = std::to_string(next_request_++), number = std::to_string(port);
    ForwardedConnection connection;
    connection.port = port;
    CO_TRY(connection.errors, co_await session_->open({{"streamtype", "error"}, {"port", number}, {"requestid", id}}));
    CO_TRY_VOID(co_await connection.errors->end_writing());
    CO_TRY(connection.data, co_await session_->open({{"streamtype", "data"}, {"port", number}, {"requestid", id}}));
    co_return connection;
}

}  // namespace porthole::net
