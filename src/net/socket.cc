#include "net/socket.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <memory>

#include "runtime/asio_loop.h"

namespace porthole::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;
using Socket = asio::generic::stream_protocol::socket;
using SocketPointer = std::shared_ptr<Socket>;
using boost::system::error_code;

/// "Connection refused" as the middle of a sentence.
std::string text_of(const error_code& error) {
    std::string text = error.message();
    if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a') text[0] += 'a' - 'A';
    return text;
}

Error to_error(const error_code& error) {
    if (error == asio::error::operation_aborted) return Error(Reason::Unavailable, "connection closed");
    return Error(Reason::Unavailable, text_of(error));
}

/// One asynchronous operation of Asio. The operation keeps its socket, so that a stream may be destroyed while a task
/// still waits in it: closing the socket ends the wait.
template <class T>
class SocketOperation : public Operation<T> {
protected:
    ~SocketOperation() = default;
    template <class F>
    auto bound(F handler) {
        return asio::bind_cancellation_slot(signal_.slot(), std::move(handler));
    }
    Result<T> failure(const error_code& error) const {
        if (cancelled_ && error == asio::error::operation_aborted) return cancelled_error();
        return to_error(error);
    }

private:
    void cancel() override {
        cancelled_ = true;
        signal_.emit(asio::cancellation_type::terminal);
    }
    asio::cancellation_signal signal_;
    bool cancelled_ = false;
};

class Read final : public SocketOperation<std::size_t> {
public:
    Read(SocketPointer socket, std::span<char> buffer) : socket_(std::move(socket)), buffer_(buffer) {}

private:
    void start() override {
        socket_->async_read_some(asio::buffer(buffer_.data(), buffer_.size()),
                                 bound([this](const error_code& error, std::size_t count) { done(error, count); }));
    }
    void done(const error_code& error, std::size_t count) {
        if (error == asio::error::eof) return complete(0);
        if (error) return complete(failure(error));
        complete(count);
    }
    SocketPointer socket_;
    std::span<char> buffer_;
};

/// Writes at once what the kernel takes, and waits only for the rest.
class Write final : public SocketOperation<void> {
public:
    Write(SocketPointer socket, std::string_view bytes) : socket_(std::move(socket)), bytes_(bytes) {}

private:
    void start() override {
        while (!bytes_.empty()) {
            error_code error;
            const std::size_t count = socket_->write_some(asio::buffer(bytes_), error);
            if (error == asio::error::would_block || error == asio::error::try_again) return wait();
            if (error) return complete(failure(error));
            bytes_.remove_prefix(count);
        }
        complete({});
    }
    void wait() {
        socket_->async_wait(Socket::wait_write, bound([this](const error_code& error) {
                                if (error) return complete(failure(error));
                                start();
                            }));
    }
    SocketPointer socket_;
    std::string_view bytes_;
};

Task<std::size_t> read_socket(SocketPointer socket, std::span<char> buffer) {
    Read operation(std::move(socket), buffer);
    co_return co_await operation;
}

Task<> write_socket(SocketPointer socket, std::string_view bytes) {
    Write operation(std::move(socket), bytes);
    co_return co_await operation;
}

Task<> end_socket(SocketPointer socket) {
    error_code error;
    socket->shutdown(Socket::shutdown_send, error);
    if (error) co_return to_error(error);
    co_return {};
}

class SocketStream final : public ByteStream {
public:
    explicit SocketStream(SocketPointer socket) : socket_(std::move(socket)) {}
    ~SocketStream() override { close(); }

    Task<std::size_t> read(std::span<char> buffer) override { return read_socket(socket_, buffer); }
    Task<> write(std::string_view bytes) override { return write_socket(socket_, bytes); }
    Task<> end_writing() override { return end_socket(socket_); }
    void close() override {
        error_code ignored;
        socket_->close(ignored);
    }

private:
    SocketPointer socket_;
};

/// Takes a connected socket of any protocol. TCP: small messages go at once, and dead peers are found in the end.
template <class S>
std::unique_ptr<ByteStream> make_stream(S socket, bool is_tcp) {
    error_code ignored;
    socket.non_blocking(true, ignored);
    if (is_tcp) {
        socket.set_option(tcp::no_delay(true), ignored);
        socket.set_option(asio::socket_base::keep_alive(true), ignored);
    }
    return std::make_unique<SocketStream>(std::make_shared<Socket>(std::move(socket)));
}

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
Peer peer_of(const Local::socket&) { return {}; }

template <class Protocol>
class Accept final : public SocketOperation<Accepted> {
public:
    using Acceptor = typename Protocol::acceptor;
    explicit Accept(std::shared_ptr<Acceptor> acceptor) : acceptor_(std::move(acceptor)), socket_(acceptor_->get_executor()) {}

private:
    void start() override {
        acceptor_->async_accept(socket_, this->bound([this](const error_code& error) {
            if (error == asio::error::operation_aborted) return this->complete(this->failure(error));
            if (error) return this->complete(Error(Reason::Io, "accept: " + text_of(error)));
            Peer peer = peer_of(socket_);
            auto stream = make_stream(std::move(socket_), std::is_same_v<Protocol, tcp>);
            this->complete(Accepted{std::move(stream), std::move(peer)});
        }));
    }
    std::shared_ptr<Acceptor> acceptor_;
    typename Protocol::socket socket_;
};

template <class Protocol>
Task<Accepted> accept_on(std::shared_ptr<typename Protocol::acceptor> acceptor) {
    Accept<Protocol> operation(std::move(acceptor));
    co_return co_await operation;
}

template <class Protocol>
class SocketListener final : public Listener {
public:
    using Acceptor = typename Protocol::acceptor;
    SocketListener(std::shared_ptr<Acceptor> acceptor, std::string path) : acceptor_(std::move(acceptor)), path_(std::move(path)) {}
    ~SocketListener() override {
        error_code ignored;
        acceptor_->close(ignored);
        if (!path_.empty()) ::unlink(path_.c_str());
    }
    std::uint16_t port() const override {
        error_code error;
        const auto endpoint = acceptor_->local_endpoint(error);
        if constexpr (requires { endpoint.port(); }) return error ? 0 : endpoint.port();
        return 0;
    }
    Task<Accepted> accept() override { return accept_on<Protocol>(acceptor_); }

private:
    std::shared_ptr<Acceptor> acceptor_;
    std::string path_;
};

template <class Acceptor, class SocketEndpoint>
error_code open_and_listen(Acceptor& acceptor, const SocketEndpoint& endpoint) {
    error_code error;
    acceptor.open(endpoint.protocol(), error);
    if (error) return error;
    if constexpr (std::is_same_v<SocketEndpoint, tcp::endpoint>) {
        acceptor.set_option(asio::socket_base::reuse_address(true), error);
    }
    // On Linux the mode of the descriptor becomes that of the file: it is never open to others.
    if constexpr (std::is_same_v<SocketEndpoint, Local::endpoint>) ::fchmod(acceptor.native_handle(), 0600);
    acceptor.bind(endpoint, error);
    if (error) return error;
    acceptor.listen(asio::socket_base::max_listen_connections, error);
    return error;
}

Error listen_error(const error_code& error, const std::string& where) {
    const Reason reason = error == asio::error::address_in_use ? Reason::AlreadyExists : Reason::Io;
    return Error(reason, "listen on " + where + ": " + text_of(error));
}

/// True if a program answers there.
bool is_served(asio::io_context& context, const std::string& path) {
    Local::socket probe(context);
    error_code error;
    probe.connect(Local::endpoint(path), error);
    return !error;
}

class Connect final : public SocketOperation<void> {
public:
    Connect(Socket& socket, Socket::endpoint_type endpoint) : socket_(socket), endpoint_(std::move(endpoint)) {}

private:
    void start() override {
        socket_.async_connect(endpoint_, bound([this](const error_code& error) { complete(error ? failure(error) : Result<void>()); }));
    }
    Socket& socket_;
    Socket::endpoint_type endpoint_;
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

Task<std::unique_ptr<ByteStream>> connect_one(asio::io_context& context, Socket::endpoint_type endpoint, bool is_tcp) {
    Socket socket(context);
    error_code error;
    socket.open(endpoint.protocol(), error);
    if (error) co_return to_error(error);
    Connect operation(socket, std::move(endpoint));
    CO_CHECK(co_await operation);
    co_return make_stream(std::move(socket), is_tcp);
}

Task<std::unique_ptr<ByteStream>> connect_tcp(asio::io_context& context, Endpoint endpoint) {
    CO_TRY(const Addresses addresses, co_await resolve(context, endpoint));
    Error last(Reason::Unavailable, "no such host");
    for (const tcp::endpoint& address : addresses) {
        auto stream = co_await connect_one(context, address, true);
        if (stream || stream.error().reason == Reason::Cancelled) co_return std::move(stream);
        last = std::move(stream).error();
    }
    co_return last;
}

}  // namespace

std::string host_and_port(const std::string& host, std::uint16_t port) {
    const bool is_v6 = host.find(':') != host.npos;
    return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<std::unique_ptr<Listener>> Listener::tcp(AsioLoop& loop, const std::string& address, std::uint16_t port) {
    error_code error;
    const auto parsed = asio::ip::make_address(address, error);
    if (error) return Error(Reason::BadRequest, "not an IP address: \"" + address + "\"");
    auto acceptor = std::make_shared<asio::ip::tcp::acceptor>(loop.context());
    error = open_and_listen(*acceptor, asio::ip::tcp::endpoint(parsed, port));
    if (error) return listen_error(error, host_and_port(address, port));
    return std::make_unique<SocketListener<asio::ip::tcp>>(std::move(acceptor), "");
}

Result<std::unique_ptr<Listener>> Listener::unix_socket(AsioLoop& loop, const std::string& path) {
    constexpr std::size_t LongestPath = 107;
    if (path.empty() || path.size() > LongestPath) {
        return Error(Reason::Io, "listen on " + path + ": a socket path has 1 to 107 bytes");
    }
    struct stat found;
    if (::lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) {
        if (is_served(loop.context(), path)) {
            return Error(Reason::AlreadyExists, "listen on " + path + ": address already in use");
        }
        ::unlink(path.c_str());
    }
    auto acceptor = std::make_shared<Local::acceptor>(loop.context());
    const error_code error = open_and_listen(*acceptor, Local::endpoint(path));
    if (error) return listen_error(error, path);
    return std::make_unique<SocketListener<Local>>(std::move(acceptor), path);
}

Task<std::unique_ptr<ByteStream>> connect_socket(AsioLoop& loop, Endpoint endpoint) {
    const bool is_unix = !endpoint.unix_path.empty();
    const std::string where = is_unix ? endpoint.unix_path : host_and_port(endpoint.host, endpoint.port);
    auto& context = loop.context();
    Result<std::unique_ptr<ByteStream>> stream = Error();
    if (!is_unix) {
        stream = co_await connect_tcp(context, std::move(endpoint));
    } else if (endpoint.unix_path.size() < sizeof(sockaddr_un::sun_path)) {
        stream = co_await connect_one(context, Local::endpoint(endpoint.unix_path), false);
    } else {
        stream = Error(Reason::Unavailable, "socket path too long");
    }
    if (stream || stream.error().reason == Reason::Cancelled) co_return std::move(stream);
    stream.error().message += ": " + where;
    co_return std::move(stream);
}

}  // namespace porthole::net
