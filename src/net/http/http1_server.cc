#include <array>

#include "base/result.h"
#include "net/child_task.h"
#include "net/flow.h"
#include "net/http/http1_parser.h"
#include "net/http/http_connection.h"
#include "net/http/http_status.h"

namespace porthole::net {
namespace {

constexpr std::size_t LargestReadAhead = 64 << 10;  ///< bytes of later requests taken while one is answered
constexpr std::size_t LargestJoin = 64 << 10;       ///< bodies up to here go out with the head in one write

/// Bytes of an answer that the peer has not taken yet.
class HeldAnswer {
public:
    HeldAnswer(AnswerBudget::Share& share, std::size_t bytes) : share_(share), bytes_(bytes) { share_.add(bytes_); }
    ~HeldAnswer() { share_.remove(bytes_); }
    HeldAnswer(const HeldAnswer&) = delete;
    HeldAnswer& operator=(const HeldAnswer&) = delete;

private:
    AnswerBudget::Share& share_;
    const std::size_t bytes_;
};

/// One HTTP/1.x connection: the head of a request is read, the request handled and answered before the next.
///
/// While a handler works, a watcher reads on, so that a peer that leaves is noticed and its handler cancelled. What the
/// watcher reads (the body's first bytes, pipelined requests, the first bytes after an upgrade) stays in input_ for whoever is next.
class Http1Connection final : public HttpResponder {
public:
    Http1Connection(EventLoop& loop, std::unique_ptr<ByteStream> stream, Peer peer, HttpHandler& handler, const HttpLimits& limits,
                    std::string initial)
        : loop_(loop), stream_(std::move(stream)), peer_(std::move(peer)), handler_(handler), limits_(limits), input_(std::move(initial)) {}

    ~Http1Connection() override { (void)count_body(0); }

    Task<> run() {
        auto result = co_await serve_requests();
        watching_.cancel();
        (void)co_await watching_.join();
        co_return std::move(result);
    }

    Task<std::string> read_body() override {
        if (started()) co_return Error(Reason::InternalError, "the response has already been sent");
        if (!parser_->done()) {
            receiving_ = true;
            auto received = co_await receive_body();
            receiving_ = false;
            deadline_.clear();
            (void)count_body(0);
            if (!received) co_return std::move(received).error();
            watch();
        }
        co_return std::move(parser_->body);
    }

    Task<> respond(int code, Headers headers, std::vector<Bytes> body) override {
        if (started()) co_return Error(Reason::InternalError, "the response has already been sent");
        std::size_t size = 0;
        for (const Bytes& part : body) size += part->size();
        const bool bodiless = code == 204 || code == 304;
        if (!bodiless) headers.add("content-length", std::to_string(size));
        const HeldAnswer held(answers_, size);
        std::string out = begin(code, headers);
        finished_ = true;
        for (const Bytes& part : body) {
            if (head_only_ || bodiless) break;
            if (out.size() + part->size() > LargestJoin) {
                CO_TRY_VOID(co_await send(std::exchange(out, {})));
            }
            if (part->size() > LargestJoin) {
                CO_TRY_VOID(co_await send_shared(part));
            } else {
                out += *part;
            }
        }
        if (!out.empty()) CO_TRY_VOID(co_await send(std::move(out)));
        co_return {};
    }

    Task<> start(int code, Headers headers) override {
        if (started()) co_return Error(Reason::InternalError, "the response has already been sent");
        chunked_ = !http10_;
        if (chunked_) headers.add("transfer-encoding", "chunked");
        if (!chunked_) keep_alive_ = false;  // the connection's end is the body's end
        co_return co_await send(begin(code, headers));
    }

    Task<> write(Bytes chunk) override {
        if (!started() || finished_) co_return Error(Reason::InternalError, "no response is in progress");
        if (chunk->empty() || head_only_) co_return {};
        const HeldAnswer held(answers_, chunk->size());
        if (!chunked_) co_return co_await send_shared(std::move(chunk));
        char size[20];
        std::snprintf(size, sizeof size, "%zx\r\n", chunk->size());
        if (chunk->size() <= LargestJoin) co_return co_await send(size + *chunk + "\r\n");
        // A reader that takes nothing is kept waiting with the one copy that there is.
        CO_TRY_VOID(co_await send(size));
        CO_TRY_VOID(co_await send_shared(std::move(chunk)));
        co_return co_await send("\r\n");
    }

    Task<> finish(Headers trailers) override {
        if (!started() || finished_) co_return Error(Reason::InternalError, "no response is in progress");
        finished_ = true;
        if (!chunked_ || head_only_) co_return {};
        std::string end = "0\r\n";
        for (const auto& [name, value] : trailers.fields()) end += name + ": " + value + "\r\n";
        co_return co_await send(end + "\r\n");
    }

    Task<std::unique_ptr<ByteStream>> upgrade(Headers headers) override {
        if (started()) co_return Error(Reason::InternalError, "the response has already been sent");
        if (!request_done()) co_return Error(Reason::BadRequest, "a request that changes the protocol has no body");
        watching_.cancel();
        CO_TRY_VOID(co_await watching_.join());
        started_ = finished_ = true;
        CO_TRY_VOID(co_await send(http1_response_head(101, headers)));
        deadline_.clear();
        co_return prefixed_stream(std::move(input_), std::move(stream_));
    }

    bool started() const override { return started_; }

private:
    /// The watcher's end, which resumes the reader at once: on a busy loop a later turn would cost each request milliseconds.
    class WatchEnd final : public Operation<void> {
    public:
        explicit WatchEnd(Http1Connection& connection) : connection_(connection) {}
        void wake() { complete({}); }

    private:
        void start() override { connection_.reader_ = this; }
        void cancel() override {
            if (std::exchange(connection_.reader_, nullptr)) complete_later(cancelled_error());
        }
        Http1Connection& connection_;
    };

    Task<> serve_requests() {
        while (keep_alive_) {
            deadline_.set(limits_.idle_time);
            parser_ = Http1Parser::for_request({limits_.header_limit, limits_.body_limit});
            auto read = co_await read_head();
            deadline_.clear();
            if (!read) co_return co_await refuse(std::move(read).error());
            if (!parser_->head_done()) co_return {};  // the peer has ended the connection between requests
            CO_TRY_VOID(co_await serve());
            if (!stream_) co_return {};  // upgraded
        }
        co_return co_await linger();
    }

    Task<> read_head() {
        for (bool begun = false;;) {
            if (!input_.empty() && !std::exchange(begun, true)) deadline_.set(limits_.header_time);
            CO_TRY_VOID(feed());
            if (parser_->head_done()) co_return {};
            CO_TRY(const bool more, co_await read_more());
            if (!more && !begun) co_return {};
            if (!more) co_return Error(Reason::Unavailable, "the peer ended the connection within a request");
        }
    }

    Task<> receive_body() {
        if (parser_->head.wants_continue && input_.empty()) CO_TRY_VOID(co_await send("HTTP/1.1 100 Continue\r\n\r\n"));
        deadline_.set(limits_.body_time);
        const Flow::Body awaited(peer_.flow);
        for (;;) {
            CO_TRY_VOID(feed());
            CO_TRY_VOID(count_body(parser_->body.size()));
            if (parser_->done()) co_return {};
            CO_TRY(const bool more, co_await read_more());
            if (!more) co_return Error(Reason::Unavailable, "the peer ended the connection within a request");
        }
    }

    /// Gives the parser what has been read.
    Result<void> feed() {
        auto taken = parser_->feed(input_);
        if (!taken && parser_->failure_code() == 413) return too_large(limits_);
        if (!taken) return std::move(taken).error();
        input_.erase(0, *taken);
        return {};
    }

    /// Whether the whole request has come, without waiting for it.
    bool request_done() { return parser_->done() || (feed() && parser_->done()); }

    /// Of the body that is being read. Error: TooManyRequests when all connections together hold too much.
    Result<void> count_body(std::size_t bytes) {
        if (!limits_.bodies) return {};
        std::size_t& all = limits_.bodies->part_of(peer_);
        all += bytes - std::exchange(counted_, bytes);
        if (all > limits_.bodies->limit) return Error(Reason::TooManyRequests, "too many unfinished requests");
        return {};
    }

    /// Adds to input_ and yields true; false at the connection's end.
    Task<bool> read_more() {
        if (watching_.running()) {
            WatchEnd end(*this);
            CO_TRY_VOID(co_await end);
            co_return !ended_;
        }
        if (ended_) co_return false;
        CO_TRY_VOID(co_await read_once());
        co_return !ended_;
    }

    Task<> read_once() {
        auto count = co_await stream_->read(buffer_);
        if (!count) {
            ended_ = !is_cancelled(count);
            co_return std::move(count).error();
        }
        ended_ = *count == 0;
        input_.append(buffer_.data(), *count);
        co_return {};
    }

    Task<> serve() {
        handling_.start(handler_.handle(to_request(parser_->head), *this), [this] { handled_.set(); });
        if (handling_.running()) watch();
        while (handling_.running()) {
            handled_.reset();
            if (co_await handled_.wait()) continue;
            handling_.cancel();
            CO_TRY_VOID(co_await handling_.join());
            keep_alive_ = false;
        }
        if (finished_) co_return {};
        keep_alive_ = false;
        if (started_) {  // the peer must not take a cut answer for a whole one
            stream_->close();
            co_return Error(Reason::Unavailable, "response cut off");
        }
        const auto& result = handling_.result();
        const Error error = result ? Error(Reason::InternalError, "the request got no response") : result.error();
        co_return co_await respond_status(*this, http_code(error.reason), error.reason, error.message);
    }

    /// Reads on beside the handler, so that a peer that leaves is noticed; while the body is received, the handler itself reads.
    void watch() {
        if (watching_.running() || receiving_ || !stream_ || input_.size() >= LargestReadAhead || ended_) return;
        watching_.start(read_once(), [this] { watch_ended(); });
    }

    void watch_ended() {
        if (ended_) handling_.cancel();
        if (reader_) std::exchange(reader_, nullptr)->wake();  // may destroy this
    }

    HttpRequest to_request(Http1Head& head) {
        started_ = finished_ = chunked_ = false;
        http10_ = head.is_http10;
        keep_alive_ = head.keep_alive && !http10_;
        head_only_ = head.method == "HEAD";
        HttpRequest request;
        request.method = std::move(head.method);
        std::string_view target = head.target;
        if (const auto scheme = target.find("://"); !target.starts_with('/') && scheme != target.npos) {
            target.remove_prefix(std::min(target.size(), target.find('/', scheme + 3)));
        }
        const auto question = target.find('?');
        request.path = target.substr(0, question);
        if (request.path.empty()) request.path = "/";
        if (question != target.npos) request.query = target.substr(question + 1);
        request.headers = std::move(head.headers);
        request.peer = peer_at(peer_, loop_.wall_now());
        return request;
    }

    /// The head as bytes; the answer has begun.
    std::string begin(int code, Headers& headers) {
        started_ = true;
        headers.add("date", http_date(loop_.wall_now()));
        keep_alive_ = keep_alive_ && request_done();  // what the handler did not ask for is not waited for
        if (!keep_alive_) headers.add("connection", "close");
        return http1_response_head(code, headers);
    }

    Task<> send(std::string bytes) {
        deadline_.set(limits_.write_time);
        auto written = co_await stream_->write(bytes);
        deadline_.clear();
        co_return std::move(written);
    }
    Task<> send_shared(Bytes bytes) {
        deadline_.set(limits_.write_time);
        auto written = co_await stream_->write(*bytes);
        deadline_.clear();
        co_return std::move(written);
    }

    /// Answers a request that could not be read, if the peer is still there to hear it.
    Task<> refuse(Error error) {
        if (ended_ || (error.reason != Reason::BadRequest && error.reason != Reason::RequestEntityTooLarge)) co_return error;
        keep_alive_ = started_ = finished_ = head_only_ = false;
        CO_TRY_VOID(co_await respond_status(*this, parser_->failure_code(), error.reason, std::move(error.message)));
        co_return co_await linger();
    }

    /// Lets the peer read our last answer: closing with unread input would reset the connection under it. Most peers send a body to its
    /// end before they read, over a slow link or on a busy machine for some seconds.
    Task<> linger() {
        constexpr auto Patience = std::chrono::seconds(5);
        constexpr std::size_t MostDiscarded = 16 << 20;
        CO_TRY_VOID(co_await stream_->end_writing());
        deadline_.set(Patience);
        for (std::size_t discarded = 0; discarded < MostDiscarded; discarded += input_.size()) {
            input_.clear();
            CO_TRY(const bool more, co_await read_more());
            if (!more) break;
        }
        co_return {};
    }

    EventLoop& loop_;
    std::unique_ptr<ByteStream> stream_;  ///< null once upgraded
    Peer peer_;
    HttpHandler& handler_;
    const HttpLimits& limits_;
    std::string input_;
    std::unique_ptr<Http1Parser> parser_;  ///< of the present request
    std::array<char, 16 << 10> buffer_;
    bool ended_ = false;       ///< nothing more can be read
    std::size_t counted_ = 0;  ///< bytes of the body that is being read
    bool receiving_ = false;   ///< a handler is reading it

    // Of the present request.
    bool started_ = false, finished_ = false, chunked_ = false, head_only_ = false, http10_ = false;
    bool keep_alive_ = true;

    AnswerBudget::Share answers_{limits_.answers, [this] {
                                     if (stream_) stream_->close();
                                 }};
    ChildTask handling_{loop_}, watching_{loop_};
    Event handled_;
    WatchEnd* reader_ = nullptr;  ///< that waits for what the watcher reads
    Deadline deadline_{loop_, [this] {
                           if (stream_) stream_->close();
                       }};
};

}  // namespace

Task<> serve_http1(EventLoop& loop, std::unique_ptr<ByteStream> stream, Peer peer, HttpHandler& handler, const HttpLimits& limits,
                   std::string initial) {
    Http1Connection connection(loop, std::move(stream), std::move(peer), handler, limits, std::move(initial));
    co_return co_await connection.run();
}

}  // namespace porthole::net
