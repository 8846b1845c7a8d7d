#include "net/http/http1_client.h"

#include "base/result.h"
#include "net/http/http_connection.h"

namespace porthole::net {

void Http1ClientConnection::watch(Callback lost) { watching_.start(watch_read(), std::move(lost)); }

/// Ends when the server ends the connection or sends what nobody asked for.
Task<> Http1ClientConnection::watch_read() {
    auto count = co_await stream_->read(buffer_);
    if (!count) co_return std::move(count).error();
    co_return Error(Reason::Unavailable, "connection closed by the peer");
}

Task<bool> Http1ClientConnection::take() {
    watching_.cancel();
    CO_TRY_VOID(co_await watching_.join());
    co_return is_cancelled(watching_.result());
}

Task<std::unique_ptr<Http1Parser>> Http1ClientConnection::exchange(std::string head, Bytes body, bool no_body, bool& answered) {
    constexpr std::size_t LargestJoin = 64 << 10;
    const bool joined = body->size() <= LargestJoin;
    if (joined) head += *body;
    auto written = co_await stream_->write(head);
    if (written && !joined) written = co_await stream_->write(*body);
    if (is_cancelled(written)) co_return std::move(written).error();

    // A server that refuses the body answers and stops reading: the answer counts more than the failed write.
    for (;;) {
        auto parser = Http1Parser::for_response({.header_limit = 1 << 20, .body_limit = UINT64_MAX}, no_body);
        while (!parser->head_done()) {
            auto read = co_await read_into(*parser);
            if (!read) co_return written ? std::move(read).error() : std::move(written).error();
            answered = true;
        }
        if (parser->head.code >= 200 || parser->head.code == 101) co_return std::move(parser);
    }
}

Task<> Http1ClientConnection::read_into(Http1Parser& parser) {
    if (!input_.empty()) {
        CO_TRY(const std::size_t taken, parser.feed(input_));
        input_.erase(0, taken);
        if (taken > 0) co_return {};
    }
    CO_TRY(const std::size_t count, co_await stream_->read(buffer_));
    if (count == 0) {
        if (parser.head_done() && parser.feed_end()) co_return {};
        co_return Error(Reason::Unavailable, "connection closed by the peer");
    }
    input_.append(buffer_.data(), count);
    CO_TRY(const std::size_t taken, parser.feed(input_));
    input_.erase(0, taken);
    co_return {};
}

std::unique_ptr<ByteStream> Http1ClientConnection::into_stream() && { return prefixed_stream(std::move(input_), std::move(stream_)); }

}  // namespace porthole::net
