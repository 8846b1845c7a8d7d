#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/byte_stream.h"
#include "runtime/asio_loop.h"
#include "runtime/sync.h"
#include "winhost/tools/frames.h"

namespace porthole::winhost {

/// A message from or to an init.
struct Frame {
    FrameType type{};
    std::string payload;

    std::uint32_t number() const;  ///< of Started and Exit
};

/// A connection to a container's init (tools/frames.h). One task reads while others write. Destroying it ends the connection.
class InitConnection {
public:
    /// Error: Unavailable if no init listens there.
    static Task<std::unique_ptr<InitConnection>> open(AsioLoop& loop, std::string socket);

    /// Several tasks may send; frames are sent one after the other.
    Task<> send(FrameType type, std::string payload);
    /// Error: Unavailable if the init has ended.
    Task<Frame> next();
    void close() { stream_->close(); }

private:
    explicit InitConnection(std::unique_ptr<net::ByteStream> stream) : stream_(std::move(stream)) {}
    Task<> fill(std::size_t size);

    std::unique_ptr<net::ByteStream> stream_;
    std::string buffer_;
    Semaphore sending_{1};
};

/// The payload of a request: "wait", or "exec" with its words.
std::string init_request(std::initializer_list<std::string_view> words);
/// A short request and its answer. Errors: Unavailable; Timeout after 10 s; as error_of_failure().
Task<> ask_init(AsioLoop& loop, std::string socket, std::string request);
/// The error for the payload "2 text" of a Failed frame, with Windows' message. Reason: NotFound if the program does not exist, otherwise
/// Unknown.
Error error_of_failure(const std::string& payload);

/// Init's report of the end of a container's program.
struct ProgramEnd {
    std::int32_t code = 0;
    std::int64_t time = 0;  ///< nanoseconds since 1970, not negative
    std::string failure;    ///< of a program that did not start, for error_of_failure(); otherwise ""
};

/// Parses an exit file, "CODE NANOSECONDS" or "failed NANOSECONDS FAILURE". Nullopt for other texts: a container can write anything there.
std::optional<ProgramEnd> parse_program_end(std::string_view text);

}  // namespace porthole::winhost
