#include "net/http/http_connection.h"

#include <algorithm>
#include <array>

#include "net/tls/tls_stream.h"

namespace porthole::net {
namespace {

constexpr std::string_view Http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class PrefixedStream final : public ByteStream {
public:
    PrefixedStream(std::string prefix, std::unique_ptr<ByteStream> lower) : prefix_(std::move(prefix)), lower_(std::move(lower)) {}

    Task<std::size_t> read(std::span<char> buffer) override {
        if (prefix_.empty()) return lower_->read(buffer);
        return read_prefix(buffer);
    }
    Task<> write(std::string_view bytes) override { return lower_->write(bytes); }
    Task<> end_writing() override { return lower_->end_writing(); }
    void close() override { lower_->close(); }

private:
    Task<std::size_t> read_prefix(std::span<char> buffer) {
        const std::size_t count = std::min(buffer.size(), prefix_.size());
        std::copy_n(prefix_.begin(), count, buffer.begin());
        prefix_.erase(0, count);
        co_return count;
    }
    std::string prefix_;
    std::unique_ptr<ByteStream> lower_;
};

/// What the peer speaks, from its first bytes on a connection without ALPN, and those bytes.
struct Opening {
    bool is_http2 = false;
    std::string bytes;
};

Task<Opening> read_opening(ByteStream& stream) {
    Opening opening;
    while (Http2Preface.starts_with(opening.bytes) && opening.bytes.size() < Http2Preface.size()) {
        std::array<char, 4096> buffer;
        CO_TRY(const std::size_t count, co_await stream.read(buffer));
        if (count == 0) break;
        opening.bytes.append(buffer.data(), count);
        if (opening.bytes.starts_with(Http2Preface)) break;
    }
    opening.is_http2 = opening.bytes.starts_with(Http2Preface);
    co_return opening;
}

}  // namespace

Error too_large(const HttpLimits& limits) {
    return Error(Reason::RequestEntityTooLarge, "Request entity too large: limit is " + std::to_string(limits.body_limit));
}

std::unique_ptr<ByteStream> prefixed_stream(std::string prefix, std::unique_ptr<ByteStream> lower) {
    if (prefix.empty()) return lower;
    return std::make_unique<PrefixedStream>(std::move(prefix), std::move(lower));
}

Task<> serve_connection(EventLoop& loop, std::unique_ptr<ByteStream> stream, Peer peer, std::shared_ptr<const TlsServerContext> tls,
                        HttpHandler& handler, const HttpLimits& limits) {
    std::string protocol;
    if (tls) {
        CO_TRY(auto connection, co_await with_timeout(tls_accept(std::move(stream), tls), limits.handshake_time, "TLS handshake"));
        stream = std::move(connection.stream);
        peer.certificate = std::move(connection.certificate);
        peer.certificate_error = std::move(connection.certificate_error);
        protocol = std::move(connection.protocol);
    }
    Opening opening{.is_http2 = protocol == "h2"};
    if (protocol.empty()) {
        CO_TRY(opening, co_await with_timeout(read_opening(*stream), limits.header_time, "first request"));
    }
    auto serve = opening.is_http2 ? serve_http2 : serve_http1;
    co_return co_await serve(loop, std::move(stream), std::move(peer), handler, limits, std::move(opening.bytes));
}

}  // namespace porthole::net
