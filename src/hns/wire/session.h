#pragma once
#include <functional>
#include <memory>
#include <string>

#include "hns/hns.h"
#include "hns/wire/protocol.h"
#include "net/byte_stream.h"
#include "runtime/event_loop.h"

namespace porthole::hns::wire {

/// The collaborators of a session.
struct SessionContext {
    EventLoop& loop;
    Hns& hns;
    std::function<Task<std::string>(std::string)> control;  ///< handles "Control"; empty if there is nothing to control
    std::string token;                                      ///< not empty
};

/// A connection of frames.
class FrameStream {
public:
    explicit FrameStream(std::unique_ptr<net::ByteStream> stream) : stream_(std::move(stream)) {}

    /// nullopt at the end of the connection. Errors: Unavailable, RequestEntityTooLarge, Cancelled.
    Task<std::optional<std::string>> read();
    /// Error: RequestEntityTooLarge, Unavailable, Cancelled.
    Task<> write(std::string json);
    void close() { stream_->close(); }

private:
    std::unique_ptr<net::ByteStream> stream_;
    FrameReader reader_;
};

/// Serves one connection until it ends. Error: why it ended, unless the peer closed it.
Task<> serve(SessionContext& context, std::unique_ptr<net::ByteStream> stream);

}  // namespace porthole::hns::wire
