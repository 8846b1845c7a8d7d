#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "runtime/worker_pool.h"

namespace porthole::net {

/// Which tracked connections to delete: those to this address and port. If a backend is named, only those translated to it.
struct ConntrackFilter {
    std::uint8_t protocol = 0;  ///< IPPROTO_UDP, IPPROTO_SCTP
    IpAddress destination;
    std::uint16_t port = 0;
    std::optional<IpAddress> backend;
    std::uint16_t backend_port = 0;
};

/// The seam to the kernel's table of tracked connections.
class Conntrack {
public:
    virtual ~Conntrack() = default;
    /// Deletes the connections that match any filter. Returns how many.
    virtual Task<std::size_t> forget(std::vector<ConntrackFilter> filters) = 0;
    /// How long a TCP connection in that state ("established", "close_wait") is tracked without a packet. NotFound while the kernel does
    /// not track connections yet.
    virtual Result<void> set_tcp_timeout(const std::string& state, std::chrono::seconds timeout) = 0;
};

/// For the network namespace of this process; IPv4. Works on `pool`, which must outlive it. Error: Io.
std::unique_ptr<Conntrack> make_conntrack(WorkerPool& pool);

}  // namespace porthole::net
