#include "kubelet/server/streaming.h"

#include <charconv>

#include "net/http/http_client.h"
#include "net/http/relay.h"
#include "net/streams/port_forward.h"
#include "runtime/asio_loop.h"

namespace porthole::kubelet {
namespace {

struct StreamAddress {
    net::Endpoint endpoint;
    std::string target;  ///< path with query
};

/// "http://127.0.0.1:40001/exec/token". Error: BadRequest for anything else.
Result<StreamAddress> parse_stream_url(const std::string& url) {
    const auto invalid = [&] { return Error(Reason::BadRequest, "the container runtime's streaming address is not usable: " + url); };
    constexpr std::string_view Scheme = "http://";
    if (!url.starts_with(Scheme)) return invalid();
    const std::size_t slash = url.find('/', Scheme.size());
    if (slash == std::string::npos) return invalid();
    const std::string authority = url.substr(Scheme.size(), slash - Scheme.size());
    const std::size_t colon = authority.rfind(':');
    if (colon == std::string::npos) return invalid();
    StreamAddress address;
    address.endpoint.host = authority.substr(0, colon);
    if (address.endpoint.host.starts_with('[') && address.endpoint.host.ends_with(']'))
        address.endpoint.host = address.endpoint.host.substr(1, address.endpoint.host.size() - 2);
    const std::string port = authority.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.endpoint.port);
    if (error != std::errc() || end != port.data() + port.size()) return invalid();
    address.target = url.substr(slash);
    return address;
}

Task<> bridge(AsioLoop& loop, net::HttpRequest request, net::HttpResponder& responder, std::string url, net::RemoteCommandOptions options) {
    CO_TRY(const StreamAddress address, parse_stream_url(url));
    net::HttpClient client(loop, address.endpoint, nullptr);
    // The runtime first: what it refuses can still be answered as an error.
    CO_TRY(const auto far, co_await net::connect_remote_command(loop, client, address.target, options));
    CO_TRY(const auto near, co_await net::accept_remote_command(loop, request, responder, options));
    auto ended = co_await net::bridge_remote_commands(loop, *near, *far);
    CO_TRY_VOID(co_await client.close());
    co_return ended;
}

}  // namespace

Task<> stream_exec(AsioLoop& loop, RuntimeService& runtime, net::HttpRequest request, net::HttpResponder& responder,
                   std::string container_id, std::vector<std::string> command, net::RemoteCommandOptions options) {
    cri::ExecRequest exec;
    exec.container_id = std::move(container_id);
    exec.cmd = std::move(command);
    exec.stdin = options.input;
    exec.stdout = options.output;
    exec.stderr = options.errors && !options.tty;
    exec.tty = options.tty;
    CO_TRY(const auto answer, co_await runtime.exec(std::move(exec)));
    co_return co_await bridge(loop, std::move(request), responder, answer.url, options);
}

Task<> stream_attach(AsioLoop& loop, RuntimeService& runtime, net::HttpRequest request, net::HttpResponder& responder,
                     std::string container_id, net::RemoteCommandOptions options) {
    cri::AttachRequest attach;
    attach.container_id = std::move(container_id);
    attach.stdin = options.input;
    attach.stdout = options.output;
    attach.stderr = options.errors && !options.tty;
    attach.tty = options.tty;
    CO_TRY(const auto answer, co_await runtime.attach(std::move(attach)));
    co_return co_await bridge(loop, std::move(request), responder, answer.url, options);
}

Task<> stream_port_forward(AsioLoop& loop, RuntimeService& runtime, net::HttpRequest request, net::HttpResponder& responder,
                           std::string sandbox_id) {
    cri::PortForwardRequest forward;
    forward.pod_sandbox_id = std::move(sandbox_id);
    CO_TRY(const auto answer, co_await runtime.port_forward(std::move(forward)));
    CO_TRY(const StreamAddress address, parse_stream_url(answer.url));
    net::HttpClient client(loop, address.endpoint, nullptr);
    CO_TRY(auto far, co_await net::connect_port_forward(client, address.target));
    if (net::is_port_channels_request(request)) {
        net::PortForwardClient beyond(loop, std::move(far));
        auto ended = co_await net::serve_port_channels(loop, request, responder, beyond);
        beyond.close();
        CO_TRY_VOID(co_await client.close());
        co_return ended;
    }
    CO_TRY(const auto near, co_await net::accept_port_forward(loop, request, responder));
    auto ended = co_await net::relay(loop, *near, *far);
    CO_TRY_VOID(co_await client.close());
    co_return ended;
}

}  // namespace porthole::kubelet
