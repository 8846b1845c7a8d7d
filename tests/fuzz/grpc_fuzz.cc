// What a client may send to a gRPC server: HTTP/2 frames behind the preface.
#include "net/grpc/grpc.h"
#include "net/http/http_connection.h"
#include "net_fuzz_peer.h"

namespace porthole::net {
namespace {

Task<std::string> echo(std::string request) { co_return request; }

Task<> echo_twice(std::string request, GrpcWriter& writer) {
    CO_TRY_VOID(co_await writer.write(request));
    co_return co_await writer.write(std::move(request));
}

}  // namespace
}  // namespace porthole::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole;
    using namespace porthole::net;
    std::string input(reinterpret_cast<const char*>(data), size);
    if (size > 0) input.insert(1, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    sim::SimLoop loop;
    GrpcHandler handler;
    handler.add("/a", echo);
    handler.add_streaming("/b", echo_twice);
    serve_input(loop, handler, input);
    return 0;
}
