#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/values/ip.h"
#include "dns/resolver.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::dns {

/// Serves DNS by UDP and TCP, on `loop`, which like the resolver must outlive it. Queries beyond 1024 that wait for other servers, and
/// connections beyond 128, are dropped. close() it before destroying it.
class DnsServer {
public:
    /// `knows` decides by address whether a client's queries are answered; others get REFUSED, which is no longer than the query.
    DnsServer(AsioLoop& loop, Resolver& resolver, std::function<bool(const IpAddress&)> knows, Logger log);
    ~DnsServer();

    /// On both transports. Port 0 picks a free one. Error: AlreadyExists if the port is in use, Io otherwise.
    Result<std::uint16_t> listen(const IpAddress& address, std::uint16_t port = 53);
    Task<> close();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Other name servers over real sockets.
std::unique_ptr<Upstream> make_socket_upstream(AsioLoop& loop);

}  // namespace porthole::dns
