// What a server may answer: HTTP/1.1, HTTP/2, and the messages of gRPC in it (first byte of the input).
#include <cstdint>
#include <cstdlib>

#include "net/grpc/grpc.h"
#include "net/http/http1_client.h"
#include "net/http/http2_client.h"
#include "net/memory_stream.h"
#include "net/streams/remote_command.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::net {
namespace {

Task<> answer(ByteStream& stream, std::string_view input) {
    const std::size_t step = input.empty() ? 1 : static_cast<unsigned char>(input[0]) + 1u;
    for (std::size_t at = 1; at < input.size(); at += step) {
        if (!co_await stream.write(input.substr(at, step))) break;
    }
    co_return co_await stream.end_writing();
}

Task<> take_questions(ByteStream& stream) {
    std::array<char, 4096> buffer;
    for (;;) {
        const auto count = co_await stream.read(buffer);
        if (!count || *count == 0) co_return {};
    }
}

Task<> ask_http1(EventLoop& loop, std::unique_ptr<ByteStream> stream) {
    Http1ClientConnection connection(loop, std::move(stream));
    bool answered = false;
    const auto no_body = std::make_shared<const std::string>();
    CO_TRY(const auto parser, co_await connection.exchange("GET / HTTP/1.1\r\nhost: a\r\n\r\n", no_body, false, answered));
    while (!parser->done()) CO_TRY_VOID(co_await connection.read_into(*parser));
    if (!answered) std::abort();
    co_return {};
}

Task<> ask_http2(EventLoop& loop, std::unique_ptr<ByteStream> stream) {
    const auto client = Http2Client::start(loop, std::move(stream));
    auto request = client->open({{":method", "GET"}, {":scheme", "http"}, {":authority", "a"}, {":path", "/"}}, false);
    if (request && co_await (*request)->wait_for_head()) {
        GrpcReassembler messages(1 << 20);
        for (;;) {
            const auto piece = co_await (*request)->next();
            if (!piece || !*piece) break;
            messages.add(**piece);
            while (true) {
                const auto message = messages.take();
                if (!message || !*message) break;
            }
        }
    }
    request = Error(Reason::Cancelled, "done");
    client->shut_down();
    co_return co_await client->wait_ended();
}

}  // namespace
}  // namespace porthole::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace porthole;
    using namespace porthole::net;
    if (size == 0) return 0;
    const std::string input(reinterpret_cast<const char*>(data + 1), size - 1);
    static_cast<void>(parse_remote_command_status(4, input));
    sim::SimLoop loop;
    Scope scope(loop);
    auto [ours, theirs] = make_memory_stream_pair();
    scope.spawn(data[0] & 1 ? ask_http2(loop, std::move(theirs)) : ask_http1(loop, std::move(theirs)));
    scope.spawn(answer(*ours, input));
    scope.spawn(take_questions(*ours));
    loop.advance(std::chrono::minutes(10));
    static_cast<void>(sim::run(loop, scope.close()));
    loop.advance(std::chrono::minutes(1));
    return 0;
}
