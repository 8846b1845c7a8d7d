// What a client may send over a WebSocket, and in the channels of exec within it.
#include "net/streams/channel_socket.h"
#include "net_fuzz_peer.h"

constexpr std::size_t Channels = 5;  // as exec has them

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole;
    using namespace porthole::net;
    const std::string input(reinterpret_cast<const char*>(data), size);
    constexpr const char* Protocols[] = {"v5.channel.k8s.io", "v4.base64.channel.k8s.io"};
    sim::SimLoop loop;
    Scope scope(loop);
    auto [ours, theirs] = make_memory_stream_pair();
    const char* protocol = Protocols[size > 0 ? data[0] & 1 : 0];
    {
        const auto channels = ChannelSocket::start(loop, WebSocket::over(loop, std::move(theirs), WebSocket::Role::Server, protocol),
                                                   WebSocket::Role::Server, Channels);
        const auto in = channels->channel(0, true), resize = channels->channel(4, true);
        channels->discard_others();
        scope.spawn(read_everything(*in));
        scope.spawn(read_everything(*resize));
        scope.spawn(write_pieces(*ours, input));
        scope.spawn(read_everything(*ours));
        finish(loop, scope);
        channels->shut_down();
    }
    loop.advance(std::chrono::minutes(1));
    return 0;
}
