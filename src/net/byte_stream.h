#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "runtime/task.h"

namespace porthole::net {

/// Bytes shared by everyone who sends them: an encoded object is written once and sent to many.
using Bytes = std::shared_ptr<const std::string>;

/// A connection of bytes in both directions: TCP, TLS, a Unix socket, a named pipe, an upgraded HTTP connection.
/// The caller has at most one read and one write in progress at a time, on the loop that the stream was made for. A stream may be destroyed
/// while they are: they fail as after close(), so an implementation keeps what they use by shared pointers.
class ByteStream {
public:
    virtual ~ByteStream() = default;
    /// Reads at least one byte; 0 means the peer has ended its direction. Errors: Unavailable, Cancelled.
    virtual Task<std::size_t> read(std::span<char> buffer) = 0;
    /// Writes all of `bytes`, which must stay valid until the task ends.
    virtual Task<> write(std::string_view bytes) = 0;
    /// Ends our direction; reading goes on. No write may follow.
    virtual Task<> end_writing() = 0;
    /// Drops the connection at once; pending reads and writes fail with Unavailable. May be repeated.
    virtual void close() = 0;
};

}  // namespace porthole::net
