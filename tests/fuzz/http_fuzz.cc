// What a client may send to the HTTP server on plain text: HTTP/1.1, or HTTP/2 behind its preface (first bit of the
// input).
#include "net/http/http_connection.h"
#include "net_fuzz_peer.h"

namespace porthole::net {
namespace {

class Handler final : public HttpHandler {
public:
    Task<> handle(HttpRequest request, HttpResponder& responder) override {
        if (request.path == "/u") {
            CO_TRY(const auto stream, co_await responder.upgrade({}));
            co_return co_await read_everything(*stream);
        }
        CO_TRY(std::string body, co_await responder.read_body());
        CO_TRY_VOID(co_await responder.start(200, {}));
        CO_TRY_VOID(co_await responder.write(std::make_shared<const std::string>(std::move(body))));
        co_return co_await responder.finish({{"a", "b"}});
    }
};

}  // namespace
}  // namespace porthole::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole;
    using namespace porthole::net;
    std::string input(reinterpret_cast<const char*>(data), size);
    if (size > 0 && data[0] & 1) input.insert(1, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    sim::SimLoop loop;
    Handler handler;
    serve_input(loop, handler, input);
    return 0;
}
