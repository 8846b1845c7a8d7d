#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/local/stream_protocol.hpp>

#include "net/asio_socket.h"
#include "net/socket.h"

namespace porthole::net {
namespace {

using Local = asio::local::stream_protocol;

Peer nobody(const Local::socket&) { return {}; }

class UnixListener final : public Listener {
public:
    UnixListener(AsioLoop& loop, std::string path) : acceptor_(std::make_shared<Local::acceptor>(loop.context())), path_(std::move(path)) {}
    ~UnixListener() override {
        error_code ignored;
        acceptor_->close(ignored);
        if (bound_) ::unlink(path_.c_str());
    }
    error_code listen() {
        error_code error;
        acceptor_->open(Local(), error);
        if (error) return error;
        // On Linux the mode of the descriptor becomes that of the file: it is never open to others.
        ::fchmod(acceptor_->native_handle(), 0600);
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

bool is_socket(const std::string& path) {
    struct stat found;
    return ::lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::local(AsioLoop& loop, const std::string& path) {
    constexpr std::size_t LongestPath = 107;
    if (path.empty() || path.size() > LongestPath) {
        return Error(Reason::Io, "listen on " + path + ": a socket path has 1 to 107 bytes");
    }
    if (is_socket(path)) {
        if (is_served(loop.context(), path)) {
            return Error(Reason::AlreadyExists, "listen on " + path + ": address already in use");
        }
        ::unlink(path.c_str());
    }
    auto listener = std::make_unique<UnixListener>(loop, path);
    if (const error_code error = listener->listen()) return listen_error(error, path);
    return listener;
}

Task<std::unique_ptr<ByteStream>> connect_local(AsioLoop& loop, std::string path) {
    if (path.size() >= sizeof(sockaddr_un::sun_path)) co_return Error(Reason::Unavailable, "socket path too long");
    co_return co_await connect_one(loop.context(), Local::endpoint(path), false);
}

}  // namespace porthole::net
