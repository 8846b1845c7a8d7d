// What a client may send to a SPDY session.
#include "net/streams/spdy.h"
#include "net_fuzz_peer.h"

namespace porthole::net {
namespace {

Task<> answer_streams(SpdySession& session) {
    for (;;) {
        CO_TRY(const auto stream, co_await session.accept());
        if (!stream) co_return {};
        (void)co_await (*stream)->write((*stream)->headers().get("streamtype"));
        (void)co_await (*stream)->end_writing();
        CO_TRY_VOID(co_await read_everything(**stream));
    }
}

}  // namespace
}  // namespace porthole::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole;
    using namespace porthole::net;
    const std::string input(reinterpret_cast<const char*>(data), size);
    sim::SimLoop loop;
    Scope scope(loop);
    auto [ours, theirs] = make_memory_stream_pair();
    const auto session = SpdySession::over(loop, std::move(theirs), SpdySession::Role::Server);
    scope.spawn(answer_streams(*session));
    scope.spawn(write_pieces(*ours, input));
    scope.spawn(read_everything(*ours));
    finish(loop, scope);
    return 0;
}
