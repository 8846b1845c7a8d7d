#pragma once
#include <array>
#include <cstdint>

#include "net/http/http_connection.h"
#include "net/memory_stream.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::net {

/// Writes `input` to `stream` in pieces whose sizes its own first byte decides, reads what comes back, and ends.
inline Task<> write_pieces(ByteStream& stream, std::string_view input) {
    const std::size_t step = input.empty() ? 1 : static_cast<unsigned char>(input[0]) + 1u;
    for (std::size_t at = 1; at < input.size(); at += step) {
        if (!co_await stream.write(input.substr(at, step))) break;
    }
    co_return co_await stream.end_writing();
}

inline Task<> read_everything(ByteStream& stream) {
    std::array<char, 4096> buffer;
    for (;;) {
        const auto count = co_await stream.read(buffer);
        if (!count || *count == 0) co_return {};
    }
}

/// Ends everything that the input has begun.
inline void finish(sim::SimLoop& loop, Scope& scope) {
    loop.advance(std::chrono::minutes(10));
    (void)sim::run(loop, scope.close());
    loop.advance(std::chrono::minutes(1));
}

/// One connection of a client that sends `input` to a server with `handler`.
inline void serve_input(sim::SimLoop& loop, HttpHandler& handler, std::string_view input) {
    const HttpLimits limits;
    Scope scope(loop);
    auto [ours, theirs] = make_memory_stream_pair();
    scope.spawn(serve_connection(loop, std::move(theirs), {}, nullptr, handler, limits));
    scope.spawn(write_pieces(*ours, input));
    scope.spawn(read_everything(*ours));
    finish(loop, scope);
}

}  // namespace porthole::net
