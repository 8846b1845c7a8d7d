#pragma once
#include <memory>
#include <string>

#include "base/ip.h"
#include "base/log.h"
#include "dns/resolver.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::dns {

/// Serves DNS by UDP and TCP. Queries beyond 1024 that wait for other servers, and connections beyond 128, are dropped.
class DnsServer {
public:
    DnsServer(AsioLoop& loop, Resolver& resolver, Logger log);
    ~DnsServer();

    /// On both transports. Port 0 picks one. Error: AlreadyExists when the port is taken, Io otherwise.
    Result<std::uint16_t> listen(const IpAddress& address, std::uint16_t port = 53);
    Task<> close();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Other name servers over real sockets.
std::unique_ptr<Upstream> make_socket_upstream(AsioLoop& loop);

}  // namespace porthole::dns
