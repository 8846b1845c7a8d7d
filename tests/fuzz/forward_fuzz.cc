// What the far side of a port-forward may send over SPDY: a node's or runtime's server to our client, and a client to our
// server (first bit of the input). Whatever it is, both ends come to an end.
#include "net/streams/port_forward.h"
#include "net_fuzz_peer.h"

namespace porthole::net {
namespace {

Task<> use(std::unique_ptr<ByteStream> data, std::unique_ptr<ByteStream> errors) {
    if (!co_await data->write("hello")) co_return {};
    (void)co_await data->end_writing();
    (void)co_await read_everything(*data);
    co_return co_await read_everything(*errors);
}

Task<> forward(PortForwardClient& client) {
    for (const std::uint16_t port : {80, 443}) {
        CO_TRY(auto connection, co_await client.open(port));
        CO_TRY_VOID(co_await use(std::move(connection.data), std::move(connection.errors)));
    }
    client.close();
    co_return {};
}

Task<> serve(PortForwardServer& server) {
    for (;;) {
        CO_TRY(auto connection, co_await server.accept());
        if (!connection) co_return {};
        CO_TRY_VOID(co_await use(std::move(connection->data), std::move(connection->errors)));
    }
}

}  // namespace
}  // namespace porthole::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole;
    using namespace porthole::net;
    const std::string input(reinterpret_cast<const char*>(data), size);
    sim::SimLoop loop;
    {
        auto [ours, theirs] = make_memory_stream_pair();
        std::optional<PortForwardClient> client;
        std::optional<PortForwardServer> server;
        Scope scope(loop);
        if (size > 0 && data[0] & 1)
            scope.spawn(serve(server.emplace(loop, std::move(theirs))));
        else
            scope.spawn(forward(client.emplace(loop, std::move(theirs))));
        scope.spawn(write_pieces(*ours, input));
        scope.spawn(read_everything(*ours));
        finish(loop, scope);
    }
    loop.advance(std::chrono::minutes(1));
    return 0;
}
