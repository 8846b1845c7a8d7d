#pragma once
// Shared by sockets and named pipes on Asio. Private to this folder.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <span>

#include "net/error_text.h"
#include "net/peer.h"
#include "runtime/asio_loop.h"

namespace porthole::net {

namespace asio = boost::asio;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;

/// Reason: Unavailable.
Error to_error(const error_code& error);
/// AlreadyExists for an address in use, Io otherwise.
Error listen_error(const error_code& error, const std::string& where);

/// One asynchronous Asio operation. The operation keeps its socket alive, so a stream may be destroyed while a task still waits in it:
/// closing the socket ends the wait.
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

/// A stream over a connected socket. TCP: small messages are sent without delay (TCP_NODELAY), and keep-alive detects dead peers.
std::unique_ptr<ByteStream> stream_of(Socket socket, bool is_tcp);

/// Connects one socket. Error: Unavailable, Cancelled.
Task<std::unique_ptr<ByteStream>> connect_one(asio::io_context& context, Socket::endpoint_type endpoint, bool is_tcp);

/// A connection within the machine: a Unix socket, on Windows a named pipe. Error: Unavailable, without the path.
Task<std::unique_ptr<ByteStream>> connect_local(AsioLoop& loop, std::string path);

/// Accepts one connection. Keeps the acceptor alive, so a Listener may be destroyed while a task waits in it. Errors: Io, Cancelled.
template <class Protocol>
class Accept final : public SocketOperation<Accepted> {
public:
    using Acceptor = typename Protocol::acceptor;
    using PeerOf = Peer (*)(const typename Protocol::socket& socket);
    Accept(std::shared_ptr<Acceptor> acceptor, PeerOf peer_of)
        : acceptor_(std::move(acceptor)), peer_of_(peer_of), socket_(acceptor_->get_executor()) {}

private:
    void start() override {
        acceptor_->async_accept(socket_, this->bound([this](const error_code& error) {
            if (error == asio::error::operation_aborted) return this->complete(this->failure(error));
            if (error) return this->complete(Error(Reason::Io, "accept: " + text_of(error)));
            Peer peer = peer_of_(socket_);
            auto stream = stream_of(std::move(socket_), std::is_same_v<Protocol, asio::ip::tcp>);
            this->complete(Accepted{std::move(stream), std::move(peer)});
        }));
    }
    std::shared_ptr<Acceptor> acceptor_;
    PeerOf peer_of_;
    typename Protocol::socket socket_;
};

template <class Protocol>
Task<Accepted> accept_on(std::shared_ptr<typename Protocol::acceptor> acceptor, typename Accept<Protocol>::PeerOf peer_of) {
    Accept<Protocol> operation(std::move(acceptor), peer_of);
    co_return co_await operation;
}

}  // namespace porthole::net
