#pragma once
#include <memory>
#include <string>

#include "base/log.h"
#include "hns/wire/session.h"
#include "net/acceptor.h"
#include "runtime/asio_loop.h"

namespace porthole::hns::wire {

/// Serves HNS on a TCP port of the network namespace in which listen() is called. References in `context` must outlive close(); call that
/// before destroying it.
class Server {
public:
    /// Connections beyond this many are dropped.
    static constexpr std::size_t ConnectionLimit = 256;

    Server(AsioLoop& loop, SessionContext context, Logger log);

    /// Port 0 picks a free one. Errors: AlreadyExists, Io.
    Result<void> listen(const std::string& address, std::uint16_t port);
    std::uint16_t port() const { return port_; }
    /// Drops all connections; calls in progress are carried out by the service.
    Task<> close() { return acceptor_.close(); }

private:
    Task<> serve_one(net::Accepted accepted);

    AsioLoop& loop_;
    SessionContext context_;
    std::uint16_t port_ = 0;
    net::Acceptor acceptor_;
};

}  // namespace porthole::hns::wire
