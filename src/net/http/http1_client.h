#pragma once  // private to this folder
#include <array>

#include "net/child_task.h"
#include "net/http/http.h"
#include "net/http/http1_parser.h"

namespace porthole::net {

/// A connection of an HTTP/1.1 client, which it owns. Between two requests it is watched, so that a connection closed by the server is not
/// used again.
class Http1ClientConnection {
public:
    Http1ClientConnection(EventLoop& loop, std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)), watching_(loop) {}

    /// Begins to watch; `lost` is called when the server ends the connection, and also by take().
    void watch(Callback lost);
    /// Ends the watch. Returns whether the connection may be used. Waits even if the caller is cancelled.
    Task<bool> take();
    void close() { stream_->close(); }

    /// Sends a request and reads the head of its answer. `answered` is set when the first byte of the answer arrives.
    Task<std::unique_ptr<Http1Parser>> exchange(std::string head, Bytes body, bool no_body, bool& answered);
    /// Reads once and feeds the parser.
    Task<> read_into(Http1Parser& parser);
    /// After an upgrade: the bytes after the head.
    std::unique_ptr<ByteStream> into_stream() &&;

private:
    Task<> watch_read();

    std::unique_ptr<ByteStream> stream_;
    std::string input_;
    std::array<char, 16 << 10> buffer_;
    ChildTask watching_;
};

}  // namespace porthole::net
