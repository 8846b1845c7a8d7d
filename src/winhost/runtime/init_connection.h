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

/// One conversation with a container's init (tools/frames.h). One task reads while others write. Destroying it ends the connection.
class InitConnection {
public:
    /// Error: Unavailable when no init listens there.
    static Task<std::unique_ptr<InitConnection>> open(AsioLoop& loop, std::string socket);

    /// Several tasks may send; frames go out one after the other.
    Task<> send(FrameType type, std::string payload);
    /// Error: Unavailable when the init has ended.
    Task<Frame> next();
    void close() { stream_->close(); }

private:
    explicit InitConnection(std::unique_ptr<net::ByteStream> stream) : stream_(std::move(stream)) {}
    Task<> fill(std::size_t size);

    std::unique_ptr<net::ByteStream> stream_;
    std::string buffer_;
    Semaphore sending_{1};
};

/// "wait", "exec" with its words: a request's payload.
std::string init_request(std::initializer_list<std::string_view> words);
/// A short request and its answer. Errors: Unavailable; Timeout after 10 s; as error_of_failure().
Task<> ask_init(AsioLoop& loop, std::string socket, std::string request);
/// "2 text" of a Failed frame as an error in Windows' words. Reason: NotFound for programs that are not there, else Unknown.
Error error_of_failure(const std::string& payload);

/// What init wrote of the end of a container's program.
struct ProgramEnd {
    std::int32_t code = 0;
    std::int64_t time = 0;  ///< nanoseconds since 1970, not negative
    std::string failure;    ///< of one that did not start, as error_of_failure() reads it; "" for others
};

/// An exit file's text, "CODE NANOSECONDS" or "failed NANOSECONDS FAILURE". Nothing for others: a container can write there what it likes.
std::optional<ProgramEnd> parse_program_end(std::string_view text);

}  // namespace porthole::winhost
