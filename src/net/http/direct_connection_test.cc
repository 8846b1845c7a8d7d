#include "net/http/http_fixture.h"

namespace porthole::net {

Task<> serve_test_connection(EventLoop& loop, std::unique_ptr<ByteStream> stream, Peer peer, HttpHandler& handler,
                             const HttpLimits& limits) {
    return serve_connection(loop, std::move(stream), std::move(peer), nullptr, handler, limits);
}

}  // namespace porthole::net
