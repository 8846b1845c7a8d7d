#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/values/ip.h"
#include "runtime/task.h"

namespace porthole {
class AsioLoop;
}

namespace porthole::net {

/// A datagram that was received.
struct Datagram {
    std::string bytes;
    IpAddress address;  ///< of the sender
    std::uint16_t port = 0;
};

/// A UDP socket, closed when destroyed. Used on `loop`, which must outlive it.
class DatagramSocket {
public:
    /// Receives what anyone sends to this address. Error: AlreadyExists when the port is taken, Io otherwise.
    static Result<std::unique_ptr<DatagramSocket>> bind(AsioLoop& loop, const IpAddress& address, std::uint16_t port);
    /// Talks to one peer, from a port that the kernel picks. Error: Unavailable ("network is unreachable").
    static Result<std::unique_ptr<DatagramSocket>> connect(AsioLoop& loop, const IpAddress& address, std::uint16_t port);

    virtual ~DatagramSocket() = default;
    virtual std::uint16_t port() const = 0;  ///< our own
    /// The next datagram, cut at 4096 bytes. Error: Unavailable (the peer's host refused the last one), Cancelled.
    virtual Task<Datagram> receive() = 0;
    /// One that has come already; nothing if there is none, or if the socket cannot tell without waiting.
    virtual std::optional<Datagram> receive_now() = 0;
    /// Of a bound socket. Lost without an error when the kernel's buffer is full, as datagrams are. Error: Unavailable.
    virtual Result<void> send_to(std::string_view bytes, const IpAddress& address, std::uint16_t port) = 0;
    /// Of a connected one; as above.
    virtual Result<void> send(std::string_view bytes) = 0;
};

}  // namespace porthole::net
