#include "net/socket.h"

#include <boost/asio/ip/tcp.hpp>

#include "base/result.h"
#include "base/values/ip.h"
#include "net/asio_socket.h"

namespace porthole::net {
namespace {

using asio::ip::tcp;

#ifdef _WIN32
constexpr bool IsWindows = true;
#else
constexpr bool IsWindows = false;
#endif

Peer peer_of(const tcp::socket& socket) {
    error_code error;
    const tcp::endpoint endpoint = socket.remote_endpoint(error);
    if (error) return {};
    asio::ip::address address = endpoint.address();
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
        address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
    }
    return {address.to_string(), endpoint.port(), std::nullopt};
}

class TcpListener final : public Listener {
public:
    explicit TcpListener(AsioLoop& loop) : acceptor_(std::make_shared<tcp::acceptor>(loop.context())) {}
    ~TcpListener() override {
        error_code ignored;
        acceptor_->close(ignored);
    }
    error_code listen(const tcp::endpoint& endpoint) {
        error_code error;
        acceptor_->open(endpoint.protocol(), error);
        if (error) return error;
        // Windows would let two programs share a port by this option; there a dead program's port is free at once anyway.
        if (!IsWindows) acceptor_->set_option(asio::socket_base::reuse_address(true), error);
        acceptor_->bind(endpoint, error);
        if (error) return error;
        acceptor_->listen(asio::socket_base::max_listen_connections, error);
        return error;
    }
    std::uint16_t port() const override {
        error_code error;
        const auto endpoint = acceptor_->local_endpoint(error);
        return error ? 0 : endpoint.port();
    }
    Task<Accepted> accept() override { return accept_on<asio::ip::tcp>(acceptor_, peer_of); }

private:
    std::shared_ptr<tcp::acceptor> acceptor_;
};

using Addresses = std::vector<tcp::endpoint>;

/// Asks the system's resolver, which runs in a thread and cannot be stopped: a cancelled task leaves it behind.
class Resolve final : public Operation<Addresses> {
public:
    Resolve(asio::io_context& context, std::string host, std::uint16_t port)
        : shared_(std::make_shared<Shared>(context)), host_(std::move(host)), port_(port) {}

private:
    struct Shared {
        explicit Shared(asio::io_context& context) : resolver(context) {}
        tcp::resolver resolver;
        Resolve* waiter = nullptr;
    };
    void start() override {
        shared_->waiter = this;
        shared_->resolver.async_resolve(host_, std::to_string(port_), tcp::resolver::numeric_service,
                                        [shared = shared_](const error_code& error, const tcp::resolver::results_type& found) {
                                            if (!shared->waiter) return;
                                            if (error) return shared->waiter->complete(Error(Reason::Unavailable, "no such host"));
                                            Addresses addresses;
                                            for (const auto& entry : found) addresses.push_back(entry.endpoint());
                                            shared->waiter->complete(std::move(addresses));
                                        });
    }
    void cancel() override {
        if (!std::exchange(shared_->waiter, nullptr)) return;
        complete_later(cancelled_error());
    }
    std::shared_ptr<Shared> shared_;
    std::string host_;
    std::uint16_t port_;
};

Task<Addresses> resolve(asio::io_context& context, Endpoint endpoint) {
    error_code not_numeric;
    const auto address = asio::ip::make_address(endpoint.host, not_numeric);
    if (!not_numeric) co_return Addresses{tcp::endpoint(address, endpoint.port)};
    Resolve operation(context, std::move(endpoint.host), endpoint.port);
    co_return co_await operation;
}

bool is_global(const tcp::endpoint& endpoint) {
    const auto address = IpAddress::parse(endpoint.address().to_string());
    return address && address->is_global_unicast();
}

Task<std::unique_ptr<ByteStream>> connect_tcp(asio::io_context& context, Endpoint endpoint) {
    const bool global_only = endpoint.global_only;
    CO_TRY(const Addresses addresses, co_await resolve(context, std::move(endpoint)));
    Error last(Reason::Unavailable, "no such host");
    for (const tcp::endpoint& address : addresses) {
        if (global_only && !is_global(address)) {
            last = Error(Reason::Unavailable, "address not allowed");
            continue;
        }
        auto stream = co_await connect_one(context, address, true);
        if (stream || is_cancelled(stream)) co_return std::move(stream);
        last = std::move(stream).error();
    }
    co_return last;
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::tcp(AsioLoop& loop, const std::string& address, std::uint16_t port) {
    error_code error;
    const auto parsed = asio::ip::make_address(address, error);
    if (error) return Error(Reason::BadRequest, "not an IP address: \"" + address + "\"");
    auto listener = std::make_unique<TcpListener>(loop);
    error = listener->listen(asio::ip::tcp::endpoint(parsed, port));
    if (error) return listen_error(error, host_and_port(address, port));
    return listener;
}

Task<std::unique_ptr<ByteStream>> connect_socket(AsioLoop& loop, Endpoint endpoint) {
    const bool is_local = !endpoint.unix_path.empty();
    const std::string where = is_local ? endpoint.unix_path : host_and_port(endpoint.host, endpoint.port);
    Result<std::unique_ptr<ByteStream>> stream = Error();
    if (is_local) {
        stream = co_await connect_local(loop, std::move(endpoint.unix_path));
    } else {
        stream = co_await connect_tcp(loop.context(), std::move(endpoint));
    }
    if (stream || is_cancelled(stream)) co_return std::move(stream);
    stream.error().message += ": " + where;
    co_return std::move(stream);
}

std::string host_and_port(const std::string& host, std::uint16_t port) {
    const bool is_v6 = host.find(':') != host.npos;
    return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace porthole::net
