#include "net/unix_socket.h"

#include <boost/asio/local/stream_protocol.hpp>

namespace porthole::net {
namespace {

using Local = asio::local::stream_protocol;

constexpr std::size_t LongestPath = 107;

Peer nobody(const Local::socket&) { return {}; }

class UnixListener final : public Listener {
public:
    UnixListener(AsioLoop& loop, std::string path) : acceptor_(std::make_shared<Local::acceptor>(loop.context())), path_(std::move(path)) {}
    ~UnixListener() override {
        error_code ignored;
        acceptor_->close(ignored);
        if (bound_) remove_socket_file(path_);
    }
    error_code listen() {
        error_code error;
        acceptor_->open(Local(), error);
        if (error) return error;
        restrict_to_owner(acceptor_->native_handle());
        acceptor_->bind(Local::endpoint(path_), error);
        if (error) return error;
        bound_ = true;
        acceptor_->listen(asio::socket_base::max_listen_connections, error);
        return error;
    }
    std::uint16_t port() const override { return 0; }
    Task<Accepted> accept() override { return accept_on<Local>(acceptor_, nobody); }

private:
    std::shared_ptr<Local::acceptor> acceptor_;
    std::string path_;
    bool bound_ = false;
};

/// True if a program answers there.
bool is_served(asio::io_context& context, const std::string& path) {
    Local::socket probe(context);
    error_code error;
    probe.connect(Local::endpoint(path), error);
    return !error;
}

}  // namespace

Result<std::unique_ptr<Listener>> listen_unix(AsioLoop& loop, const std::string& path) {
    if (path.empty() || path.size() > LongestPath) {
        return Error(Reason::Io, "listen on " + path + ": a socket path has 1 to 107 bytes");
    }
    if (has_socket_file(path)) {
        if (is_served(loop.context(), path)) {
            return Error(Reason::AlreadyExists, "listen on " + path + ": address already in use");
        }
        remove_socket_file(path);
    }
    auto listener = std::make_unique<UnixListener>(loop, path);
    if (const error_code error = listener->listen()) return listen_error(error, path);
    return listener;
}

Task<std::unique_ptr<ByteStream>> connect_unix(AsioLoop& loop, std::string path) {
    if (path.size() > LongestPath) co_return Error(Reason::Unavailable, "socket path too long");
    co_return co_await connect_one(loop.context(), Local::endpoint(path), false);
}

}  // namespace porthole::net
