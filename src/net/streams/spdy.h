#pragma once
#include "net/http/http.h"
#include "runtime/event_loop.h"

namespace porthole::net {

/// One stream of a SPDY session. Destroying it resets it, unless our direction has ended.
class SpdyStream : public ByteStream {
public:
    virtual std::uint32_t id() const = 0;
    /// The headers with which the stream was opened.
    virtual const Headers& headers() const = 0;
};

/// A SPDY/3.1 session over any byte stream, as kubectl and the container runtimes use it for exec, attach and port-forward. Destroying it
/// drops the connection and fails its streams.
///
/// Differs from SPDY: there is no flow control per stream, because these peers neither grant nor respect windows. Reading pauses while a
/// megabyte waits to be read from the streams.
class SpdySession {
public:
    enum class Role { Server, Client };

    static std::unique_ptr<SpdySession> over(EventLoop& loop, std::unique_ptr<ByteStream> connection, Role role);
    virtual ~SpdySession() = default;

    /// The next stream that the peer opens (it is accepted at once), or nullopt if the session has ended. Error: Cancelled.
    virtual Task<std::optional<std::unique_ptr<SpdyStream>>> accept() = 0;
    /// Opens a stream; it may be written to immediately. Error: Unavailable if the session has ended.
    virtual Task<std::unique_ptr<SpdyStream>> open(Headers headers) = 0;
    /// Ends the session in order: pending output is sent first. Returns immediately; the rest happens in the background until the peer ends
    /// too or two seconds have passed, even if this object is destroyed.
    virtual void close() = 0;
    /// Waits until the session has ended. Error: Cancelled.
    virtual Task<> wait_over() = 0;
};

}  // namespace porthole::net
