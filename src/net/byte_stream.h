#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "runtime/task.h"

namespace porthole::net {

/// Bytes shared by all senders: an encoded object is written once and sent to many.
using Bytes = std::shared_ptr<const std::string>;

/// A connection of bytes in both directions: TCP, TLS, a Unix socket, a named pipe, an upgraded HTTP connection.
///
/// The caller has at most one read and one write in progress, on the loop that the stream was created for. A stream may be destroyed while
/// they are in progress: they then fail as after close(), so an implementation holds what they use by shared pointers.
class ByteStream {
public:
    virtual ~ByteStream() = default;
    /// Reads at least one byte; 0 means the peer has ended its direction. Errors: Unavailable, Cancelled.
    virtual Task<std::size_t> read(std::span<char> buffer) = 0;
    /// Writes all of `bytes`, which must stay valid until the task ends.
    virtual Task<> write(std::string_view bytes) = 0;
    /// Ends our direction; reading continues. No write may follow.
    virtual Task<> end_writing() = 0;
    /// Drops the connection immediately; pending reads and writes fail with Unavailable. May be called again.
    virtual void close() = 0;
};

}  // namespace porthole::net
