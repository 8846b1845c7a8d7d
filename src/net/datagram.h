#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// One of a batch; its bytes belong to the socket.
struct DatagramView {
    std::string_view bytes;
    IpAddress address;  ///< of the sender
    std::uint16_t port = 0;
};

/// An answer to a datagram of a batch.
struct DatagramReply {
    std::string bytes;
    IpAddress address;  ///< of the receiver
    std::uint16_t port = 0;
};

/// A UDP socket, closed when destroyed. Used on `loop`, which must outlive it.
class DatagramSocket {
public:
    static constexpr std::size_t MostInABatch = 32;

    /// Receives what anyone sends to this address. Error: AlreadyExists if the port is taken, Io otherwise.
    static Result<std::unique_ptr<DatagramSocket>> bind(AsioLoop& loop, const IpAddress& address, std::uint16_t port);
    /// Talks to one peer, from a port that the kernel picks. Error: Unavailable ("network is unreachable").
    static Result<std::unique_ptr<DatagramSocket>> connect(AsioLoop& loop, const IpAddress& address, std::uint16_t port);

    virtual ~DatagramSocket() = default;
    virtual std::uint16_t port() const = 0;  ///< our own
    /// The next datagram, cut at 4096 bytes. Error: Unavailable (the peer's host rejected the last one), Cancelled.
    virtual Task<Datagram> receive() = 0;
    /// All datagrams that have arrived, at least one and at most MostInABatch, with as few system calls as possible. Cut, and with errors,
    /// as in receive(). Other tasks of the loop run before it reads. Valid until the next call.
    virtual Task<std::span<const DatagramView>> receive_batch() = 0;
    /// For a bound socket. As usual for datagrams, it is lost without an error if the kernel's buffer is full. Error: Unavailable.
    virtual Result<void> send_to(std::string_view bytes, const IpAddress& address, std::uint16_t port) = 0;
    /// At most MostInABatch, as send_to(). One that cannot be sent is dropped without an error; the others are sent.
    virtual void send_batch(std::span<const DatagramReply> replies) = 0;
    /// For a connected socket; as send_to().
    virtual Result<void> send(std::string_view bytes) = 0;
};

}  // namespace porthole::net
