#include "net/memory_stream.h"

#include <algorithm>

#include "runtime/sync.h"

namespace porthole::net {
namespace {

/// One direction. Shared by both ends and by every task that waits in it, so that an end may go while the other waits.
struct MemoryPipe {
    explicit MemoryPipe(std::size_t capacity) : capacity(capacity) {}
    std::size_t capacity;
    std::string bytes;
    bool ended = false;     ///< nothing more will be written
    bool unwanted = false;  ///< the reading end has gone
    WaitList<void> readers, writers;

    void end() {
        ended = true;
        readers.wake_all({});
        writers.wake_all({});
    }
    void drop() {
        unwanted = true;
        bytes.clear();
        end();
    }
};

using SharedPipe = std::shared_ptr<MemoryPipe>;

Task<std::size_t> read_memory(SharedPipe pipe, std::span<char> buffer) {
    while (pipe->bytes.empty() && !pipe->ended) CO_TRY_VOID(co_await pipe->readers.wait());
    if (pipe->unwanted) co_return Error(Reason::Unavailable, "connection closed");
    const std::size_t count = std::min(buffer.size(), pipe->bytes.size());
    std::copy_n(pipe->bytes.begin(), count, buffer.begin());
    pipe->bytes.erase(0, count);
    pipe->writers.wake_all({});
    co_return count;
}

Task<> write_memory(SharedPipe pipe, std::string_view bytes) {
    while (!bytes.empty()) {
        if (pipe->ended) co_return Error(Reason::Unavailable, "connection closed");
        const std::size_t count = std::min(bytes.size(), pipe->capacity - pipe->bytes.size());
        pipe->bytes.append(bytes.substr(0, count));
        bytes.remove_prefix(count);
        pipe->readers.wake_all({});
        if (!bytes.empty()) CO_TRY_VOID(co_await pipe->writers.wait());
    }
    co_return {};
}

Task<> end_pipe(SharedPipe pipe) {
    pipe->end();
    co_return {};
}

class MemoryStream final : public ByteStream {
public:
    MemoryStream(SharedPipe in, SharedPipe out) : in_(std::move(in)), out_(std::move(out)) {}
    ~MemoryStream() override { close(); }

    Task<std::size_t> read(std::span<char> buffer) override { return read_memory(in_, buffer); }
    Task<> write(std::string_view bytes) override { return write_memory(out_, bytes); }
    Task<> end_writing() override { return end_pipe(out_); }
    void close() override {
        in_->drop();
        out_->end();
    }

private:
    SharedPipe in_, out_;
};

}  // namespace

std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>> make_memory_stream_pair(std::size_t capacity) {
    auto forth = std::make_shared<MemoryPipe>(capacity), back = std::make_shared<MemoryPipe>(capacity);
    return {std::make_unique<MemoryStream>(back, forth), std::make_unique<MemoryStream>(forth, back)};
}

}  // namespace porthole::net
