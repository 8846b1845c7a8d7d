#pragma once
#include <memory>
#include <string>

#include "base/log.h"
#include "hns/wire/session.h"
#include "net/socket.h"
#include "runtime/asio_loop.h"
#include "runtime/scope.h"

namespace porthole::hns::wire {

/// Offers a host network service on a TCP port of the network namespace that listen() is called in. What `context` refers to must outlive
/// close(); call that before destroying it.
class Server {
public:
    /// Connections beyond this many are dropped.
    static constexpr std::size_t ConnectionLimit = 256;

    Server(AsioLoop& loop, SessionContext context, Logger log)
        : loop_(loop), context_(std::move(context)), log_(std::move(log)), scope_(loop) {}

    /// Port 0 takes a free one. Errors: AlreadyExists, Io.
    Result<void> listen(const std::string& address, std::uint16_t port);
    std::uint16_t port() const { return listener_->port(); }
    /// Drops all connections; calls in progress are carried out by the service.
    Task<> close() { return scope_.close(); }

private:
    Task<> accept();
    Task<> serve_one(std::unique_ptr<net::ByteStream> stream);

    AsioLoop& loop_;
    SessionContext context_;
    Logger log_;
    std::unique_ptr<net::Listener> listener_;
    std::size_t connections_ = 0;
    Scope scope_;
};

}  // namespace porthole::hns::wire
