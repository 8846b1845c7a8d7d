#include "net/streams/port_forward.h"

#include <algorithm>
#include <charconv>
#include <ranges>

#include <fmt/format.h>

#include "net/child_task.h"
#include "net/http/relay.h"
#include "net/streams/channel_socket.h"
#include "net/streams/stream_upgrade.h"
#include "runtime/scope.h"

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

Result<std::vector<std::uint16_t>> requested_ports(const std::string& query) {
    constexpr std::size_t MostPorts = 100;
    std::vector<std::uint16_t> ports;
    for (const auto& [key, value] : parse_query(query)) {
        if (key != "port") continue;
        for (const auto word : std::views::split(value, ',')) {
            const std::string_view text(word.begin(), word.end());
            std::uint16_t port = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
            if (error != std::errc() || end != text.data() + text.size() || port == 0)
                return Error(Reason::BadRequest, fmt::format("\"{}\" is not a port: 1 to 65535 is one", text));
            ports.push_back(port);
        }
    }
    if (ports.empty()) return Error(Reason::BadRequest, "query parameter \"port\" is required");
    if (ports.size() > MostPorts) return Error(Reason::BadRequest, fmt::format("at most {} ports in one connection", MostPorts));
    return ports;
}

/// As it stands at the begin of both channels of a port: little-endian.
std::string port_mark(std::uint16_t port) { return {static_cast<char>(port & 0xff), static_cast<char>(port >> 8)}; }

Task<> carry(EventLoop& loop, PortForwardClient& remote, ForwardedConnection local) {
    const auto beyond = co_await remote.open(local.port);
    if (!beyond) co_return co_await local.errors->write(beyond.error().message);
    ChildTask asking(loop);
    asking.start(copy_stream(*local.data, *beyond->data));
    auto answered = co_await copy_stream(*beyond->data, *local.data);
    asking.cancel();
    (void)co_await asking.join();
    if (answered) answered = co_await copy_stream(*beyond->errors, *local.errors);
    co_return answered;
}

Task<> carry_all(EventLoop& loop, PortForwardClient& remote, std::vector<ForwardedConnection> connections) {
    std::vector<Task<>> tasks;
    for (ForwardedConnection& connection : connections) tasks.push_back(carry(loop, remote, std::move(connection)));
    (void)co_await when_all(std::move(tasks));
    co_return {};
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

bool is_port_channels_request(const HttpRequest& request) {
    const auto offered = header_words(request.headers, "sec-websocket-protocol");
    return is_websocket_request(request) && std::ranges::none_of(offered, [](const std::string& p) { return p.starts_with("SPDY/3.1+"); });
}

Task<> serve_port_channels(EventLoop& loop, const HttpRequest& request, HttpResponder& responder, PortForwardClient& remote) {
    CO_TRY(const auto ports, requested_ports(request.query));
    CO_TRY(auto accepted, co_await accept_websocket(loop, request, responder, {"v4.channel.k8s.io", "v4.base64.channel.k8s.io", ""}));
    const auto socket = ChannelSocket::start(loop, std::move(accepted), WebSocket::Role::Server, 2 * ports.size());
    std::vector<ForwardedConnection> connections;
    for (std::size_t i = 0; i < ports.size(); ++i)
        connections.push_back({ports[i], socket->channel(2 * i, true), socket->channel(2 * i + 1, false)});
    socket->discard_others();

    Event changed;
    ChildTask carrying(loop), watching(loop);
    Result<void> waited;
    for (const ForwardedConnection& connection : connections) {
        for (ByteStream* stream : {connection.data.get(), connection.errors.get()})
            if (waited) waited = co_await stream->write(port_mark(connection.port));
    }
    carrying.start(carry_all(loop, remote, std::move(connections)), [&] { changed.set(); });
    watching.start(ChannelSocket::wait_over(socket), [&] { changed.set(); });
    if (waited) waited = co_await changed.wait();
    carrying.cancel();
    watching.cancel();
    (void)co_await carrying.join();
    (void)co_await watching.join();
    socket->close();
    co_return waited;
}

}  // namespace porthole::net
