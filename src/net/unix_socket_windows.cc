// clang-format off: winsock2.h, which Asio reads, has to come before windows.h
#include "net/unix_socket_windows.h"

#include <boost/asio/local/stream_protocol.hpp>
// clang-format on

#include <algorithm>

#include "base/wide_windows.h"

namespace porthole::net {
namespace {

using Local = asio::local::stream_protocol;

constexpr std::size_t LongestPath = 107;

Peer nobody(const Local::socket&) { return {}; }

std::string with_backslashes(std::string path) {
    std::ranges::replace(path, '/', '\\');
    return path;
}

class UnixListener final : public Listener {
public:
    UnixListener(AsioLoop& loop, std::string path) : acceptor_(std::make_shared<Local::acceptor>(loop.context())), path_(std::move(path)) {}
    ~UnixListener() override {
        error_code ignored;
        acceptor_->close(ignored);
        if (bound_) DeleteFileW(to_wide(path_).c_str());
    }
    error_code listen() {
        error_code error;
        acceptor_->open(Local(), error);
        if (error) return error;
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

Result<std::unique_ptr<Listener>> listen_unix(AsioLoop& loop, const std::string& given) {
    const std::string path = with_backslashes(given);
    if (path.empty() || path.size() > LongestPath) return Error(Reason::Io, "listen on " + path + ": a socket path has 1 to 107 bytes");
    if (GetFileAttributesW(to_wide(path).c_str()) != INVALID_FILE_ATTRIBUTES) {
        if (is_served(loop.context(), path)) return Error(Reason::AlreadyExists, "listen on " + path + ": address already in use");
        DeleteFileW(to_wide(path).c_str());
    }
    auto listener = std::make_unique<UnixListener>(loop, path);
    if (const error_code error = listener->listen()) return listen_error(error, path);
    return listener;
}

Task<std::unique_ptr<ByteStream>> connect_unix(AsioLoop& loop, std::string path) {
    if (path.size() > LongestPath) co_return Error(Reason::Unavailable, "socket path too long");
    co_return co_await connect_one(loop.context(), Local::endpoint(with_backslashes(std::move(path))), false);
}

}  // namespace porthole::net
