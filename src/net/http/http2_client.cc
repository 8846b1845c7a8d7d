#include "net/http/http2_client.h"

#include <charconv>

#include "base/result.h"

namespace porthole::net {
namespace {

constexpr std::size_t LargestHead = 1 << 20;  ///< bytes of an answer's header fields, as over HTTP/1.1

}  // namespace

Http2Request::Http2Request(Http2Client& client) : Http2Stream(client), client_(client.shared_from_this()) {}

Http2Request::~Http2Request() {
    if (unconsumed_ > 0) client_->consume(*this, unconsumed_);
    if (closed() || id() == 0) return;
    reset(Http2Error::Cancel);
    client_->drop_reference(*this);
}

Error Http2Request::failure() const {
    if (!client_->running()) return Error(Reason::Unavailable, client_->why_ended());
    if (close_error_ == Http2Error::None) return Error(Reason::Unavailable, "the server ended the stream without a response");
    return Error(Reason::Unavailable,
                 "the server reset the stream (HTTP/2 error " + std::to_string(static_cast<std::uint32_t>(close_error_)) + ")");
}

Task<> Http2Request::wait_for_head() {
    while (!head_done_ && !gone_) {
        changed_.reset();
        CO_TRY_VOID(co_await changed_.wait());
    }
    if (!head_done_) co_return failure();
    if (header_bytes_ > LargestHead) co_return Error(Reason::Io, "the head of the answer is too large");
    co_return {};
}

Task<std::optional<std::string>> Http2Request::next() {
    while (pieces_.empty() && !ended_ && !gone_) {
        changed_.reset();
        CO_TRY_VOID(co_await changed_.wait());
    }
    if (pieces_.empty()) {
        if (!ended_) co_return failure();
        co_return std::optional<std::string>();
    }
    std::string piece = std::move(pieces_.front());
    pieces_.pop_front();
    unconsumed_ -= piece.size();
    client_->consume(*this, piece.size());
    co_return std::optional(std::move(piece));
}

void Http2Request::on_header(std::string name, std::string value) {
    header_bytes_ += name.size() + value.size();
    if (header_bytes_ > LargestHead) return;  // wait_for_head() fails
    if (head_done_) return trailers_.add(std::move(name), std::move(value));
    if (name == ":status") {
        std::from_chars(value.data(), value.data() + value.size(), code_);
    } else {
        headers_.add(std::move(name), std::move(value));
    }
}

void Http2Request::on_headers_end() {
    if (code_ >= 100 && code_ < 200) {  // an interim answer: the real one follows
        code_ = 0;
        headers_ = {};
        return;
    }
    head_done_ = true;
    changed_.set();
}

void Http2Request::on_data(std::string_view bytes) {
    constexpr std::size_t Joined = 32 << 10;
    unconsumed_ += bytes.size();
    if (!pieces_.empty() && pieces_.back().size() + bytes.size() <= Joined) {
        pieces_.back().append(bytes);
    } else {
        pieces_.emplace_back(bytes);
    }
    changed_.set();
}

void Http2Request::on_end() {
    ended_ = true;
    changed_.set();
}

void Http2Request::on_close(Http2Error error) {
    gone_ = true;
    close_error_ = error;
    refused_ = error == Http2Error::RefusedStream;
    changed_.set();
}

Http2Client::Http2Client(EventLoop& loop, std::unique_ptr<ByteStream> stream)
    : Http2Session(loop, std::move(stream), Role::Client, HttpLimits()) {}

std::shared_ptr<Http2Client> Http2Client::start(EventLoop& loop, std::unique_ptr<ByteStream> stream) {
    auto client = std::make_shared<Http2Client>(loop, std::move(stream));
    client->running_task_.start(client->run(), [self = client]() mutable {
        Http2Client& ended = *self;
        ended.loop().post([self = std::move(self)] {});  // the last reference must not go within its own task
        ended.ended_.set();
    });
    return client;
}

Task<> Http2Client::run() {
    auto ended = co_await communicate("");
    running_ = false;
    why_ended_ = is_cancelled(ended) ? "the client was closed" : ended.error().message;
    close_connection();
    abandon_streams();
    co_return co_await stop_writing(Duration::zero());
}

Result<std::shared_ptr<Http2Request>> Http2Client::open(const Headers& headers, bool has_body) {
    if (!usable()) return Error(Reason::Unavailable, running_ ? "the server is ending the connection" : why_ended_);
    auto request = std::make_shared<Http2Request>(*this);
    TRY_VOID(submit_request(*request, headers, has_body));
    return request;
}

void Http2Client::shut_down() {
    draining_ = true;
    running_task_.cancel();
}

Task<> Http2Client::wait_ended() {
    if (running_task_.running()) CO_TRY_VOID(co_await ended_.wait());
    co_return {};
}

}  // namespace porthole::net
