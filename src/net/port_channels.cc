#include "net/port_channels.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ranges>

#include "net/channel_socket.h"
#include "net/child_task.h"
#include "net/relay.h"
#include "runtime/scope.h"

namespace porthole::net {
namespace {

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
