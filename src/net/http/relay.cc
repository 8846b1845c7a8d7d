#include "net/http/relay.h"

#include "net/child_task.h"

namespace porthole::net {
namespace {

Task<> copy_or_close(ByteStream& from, ByteStream& to) {
    auto copied = co_await copy_stream(from, to);
    if (!copied) {
        from.close();
        to.close();
    }
    co_return std::move(copied);
}

}  // namespace

Task<> copy_stream(ByteStream& from, ByteStream& to) {
    constexpr std::size_t BufferSize = 32 << 10;
    const auto buffer = std::make_unique<char[]>(BufferSize);
    for (;;) {
        CO_TRY(const std::size_t count, co_await from.read({buffer.get(), BufferSize}));
        if (count == 0) co_return co_await to.end_writing();
        CO_TRY_VOID(co_await to.write({buffer.get(), count}));
    }
}

Task<> relay(EventLoop& loop, ByteStream& a, ByteStream& b) {
    ChildTask forth(loop), back(loop);
    Event ended;
    forth.start(copy_or_close(a, b), [&] { ended.set(); });
    back.start(copy_or_close(b, a), [&] { ended.set(); });
    Result<void> waited;
    while (waited && (forth.running() || back.running())) {
        ended.reset();
        waited = co_await ended.wait();
    }
    forth.cancel();
    back.cancel();
    (void)co_await forth.join();
    (void)co_await back.join();
    a.close();
    b.close();
    if (!waited) co_return std::move(waited);
    co_return forth.result() ? back.result() : forth.result();
}

}  // namespace porthole::net
