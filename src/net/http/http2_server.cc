#include <algorithm>
#include <atomic>

#include "base/result.h"
#include "net/flow.h"
#include "net/http/http2_session.h"
#include "net/http/http_status.h"

namespace porthole::net {
namespace {

// Handlers that are started before the loop looks at other connections: a peer sends hundreds of requests in one read.
constexpr std::size_t HandlersOfConnection = 16;  ///< by one connection; their answers leave in one write
constexpr std::size_t HandlersInTurn = 24;        ///< by all connections that have more of them, in equal parts

class ServerSession;

class ServerStream final : public Http2Stream, public HttpResponder {
public:
    explicit ServerStream(ServerSession& session);

    bool handling() const { return handling_.running(); }
    Task<> join() { return handling_.join(); }
    void cancel() { handling_.cancel(); }
    void start_handler();

    Task<std::string> read_body() override;
    std::optional<std::string> received_body() override {
        if (!body_done_ || body_error_ || started_) return std::nullopt;
        return std::exchange(body_, {});
    }
    bool has_room() const override;
    Task<> room() override;
    void expect_answer(std::size_t bytes) override;
    void expected_answer_came(std::size_t bytes) override;
    Task<> respond(int code, Headers headers, std::vector<Bytes> body) override {
        if (started_) co_return Error(Reason::InternalError, "the response has already been sent");
        if (closed()) co_return Error(Reason::Unavailable, "the peer ended the stream");
        answer(code, std::move(headers), std::move(body));
        co_return {};
    }
    Task<> start(int code, Headers headers) override {
        if (started_) co_return Error(Reason::InternalError, "the response has already been sent");
        if (closed()) co_return Error(Reason::Unavailable, "the peer ended the stream");
        begin(code, headers, !head_only_);
        co_return {};
    }
    Task<> write(Bytes chunk) override {
        if (!started_ || finished_) co_return Error(Reason::InternalError, "no response is in progress");
        if (head_only_) co_return {};
        co_return co_await send(std::move(chunk));
    }
    Task<> finish(Headers trailers) override {
        if (!started_ || finished_) co_return Error(Reason::InternalError, "no response is in progress");
        if (closed()) co_return Error(Reason::Unavailable, "the peer ended the stream");
        finished_ = true;
        end_sending(std::move(trailers));
        co_return {};
    }
    Task<std::unique_ptr<ByteStream>> upgrade(Headers) override {
        co_return Error(Reason::BadRequest, "connections are upgraded over HTTP/1.1 only");
    }
    bool started() const override { return started_; }

private:
    ServerSession& server() const;
    void on_header(std::string name, std::string value) override;
    void on_headers_end() override;
    void on_data(std::string_view bytes) override;
    void on_end() override;
    void on_sent() override;
    void on_close(Http2Error error) override;

    bool body_is_to_come() const { return !body_done_ && !body_error_ && !closed(); }
    Task<> receive_body();
    void begin(int code, Headers& headers, bool has_body);
    void answer(int code, Headers headers, std::vector<Bytes> body);
    void refuse(int code, Reason reason, std::string_view message);
    void handler_ended();
    void forget_body(std::optional<Error> why = std::nullopt);
    /// The body's memory is the handler's from now on, or free.
    void uncount_body();

    HttpRequest request_;
    std::string authority_;
    std::size_t header_bytes_ = 0;
    std::string body_;
    std::size_t buffered_ = 0;  ///< bytes of the body counted in the session
    bool asked_ = false;        ///< the handler waits for the body
    bool body_done_ = false;
    std::optional<Error> body_error_;  ///< why there will be none
    Event body_changed_;
    bool head_done_ = false;
    bool started_ = false, finished_ = false, head_only_ = false;
    ChildTask handling_;
    Deadline body_deadline_;
};

/// The server's side of a connection.
class ServerSession final : public Http2Session {
public:
    ServerSession(EventLoop& loop, std::unique_ptr<ByteStream> stream, Peer peer, HttpHandler& handler, const HttpLimits& limits)
        : Http2Session(loop, std::move(stream), Role::Server, limits), peer_(std::move(peer)), handler_(handler) {}
    ~ServerSession() override {
        *self_ = nullptr;
        set_waiting(false);
    }

    Task<> run(std::string initial) {
        constexpr auto Patience = std::chrono::seconds(1);
        auto ended = co_await communicate(std::move(initial));
        const bool closing = is_cancelled(ended);
        if (closing) {
            announce_end();
        } else {
            close_connection();
            abandon_streams();
        }
        CO_TRY_VOID(co_await end_handlers());
        CO_TRY_VOID(co_await stop_writing(closing ? Patience : Duration::zero()));
        co_return std::move(ended);
    }

    /// On any thread.
    bool has_room() const { return queued() + expected_ <= limits().queued_answers; }
    Task<> room() {
        while (!has_room()) CO_TRY_VOID(co_await room_.wait());
        co_return {};
    }
    HttpHandler& handler() const { return handler_; }
    const Peer& peer() const { return peer_; }

private:
    friend ServerStream;

    Http2Stream* on_begin(std::int32_t id) override {
        // A peer that resets its requests at once may still have this many handlers at work.
        if (ending_ || requests_.size() >= 2 * limits().concurrent_streams) return nullptr;
        auto& request = requests_[id] = std::make_unique<ServerStream>(*this);
        return request.get();
    }

    /// The peer may have reset streams, whose answers are then no longer queued.
    void on_received() override { use_room(); }
    void on_written() override { use_room(); }

    void use_room() {
        if (has_room()) room_.wake_all({});
        start_handlers();
    }

    void start_handlers() {
        if (next_turn_waited_for_) return;
        const std::size_t most = handlers_of_this_turn();
        for (std::size_t started = 0; !ready_.empty() && !ending_ && has_room(); ++started) {
            if (started == most) return start_handlers_in_next_turn();
            const auto found = requests_.find(ready_.front());
            ready_.pop_front();
            if (found != requests_.end()) found->second->start_handler();
        }
    }

    std::size_t handlers_of_this_turn() const {
        const std::size_t others = limits().turns ? limits().turns->waiting : 0;
        return std::clamp<std::size_t>(HandlersInTurn / (others + 1), 1, HandlersOfConnection);
    }

    void start_handlers_in_next_turn() {
        set_waiting(true);
        Callback start = [self = self_] {
            if (!*self) return;
            (*self)->set_waiting(false);
            (*self)->start_handlers();
        };
        if (limits().turns && limits().turns->next) return limits().turns->next(std::move(start));
        loop().post(std::move(start));
    }

    void set_waiting(bool waiting) {
        if (waiting == std::exchange(next_turn_waited_for_, waiting) || !limits().turns) return;
        limits().turns->waiting += waiting ? 1 : std::size_t(-1);
    }

    Task<> end_handlers() {
        ending_ = true;
        for (auto& [id, request] : requests_) request->cancel();
        for (;;) {
            ServerStream* busy = nullptr;
            for (auto& [id, request] : requests_) {
                if (request->handling()) busy = request.get();
            }
            if (!busy) co_return {};
            CO_TRY_VOID(co_await busy->join());
        }
    }

    Peer peer_;
    HttpHandler& handler_;
    std::map<std::int32_t, std::unique_ptr<ServerStream>> requests_;  ///< open, or closed with a handler still at work
    std::deque<std::int32_t> ready_;                                  ///< whose handlers are to be started
    std::size_t buffered_ = 0;                                        ///< bytes of unfinished requests
    std::atomic<std::size_t> expected_ = 0;                           ///< bytes of answers that come from another thread
    WaitList<void> room_;
    bool ending_ = false;
    bool next_turn_waited_for_ = false;  ///< counted in limits().turns
    /// For posted callbacks, which cannot be taken back.
    std::shared_ptr<ServerSession*> self_ = std::make_shared<ServerSession*>(this);
};

ServerStream::ServerStream(ServerSession& session)
    : Http2Stream(session),
      handling_(session.loop()),
      body_deadline_(session.loop(), [this] { reset(finished_ ? Http2Error::None : Http2Error::Cancel); }) {}

bool ServerStream::has_room() const { return server().has_room(); }
Task<> ServerStream::room() { return server().room(); }
void ServerStream::expect_answer(std::size_t bytes) { server().expected_ += bytes; }
void ServerStream::expected_answer_came(std::size_t bytes) {
    server().expected_ -= bytes;
    server().use_room();
}

ServerSession& ServerStream::server() const { return static_cast<ServerSession&>(session_); }

void ServerStream::on_header(std::string name, std::string value) {
    constexpr std::size_t Overhead = 32;  // RFC 9113, section 6.5.2
    header_bytes_ += name.size() + value.size() + Overhead;
    if (head_done_ || header_bytes_ > session_.limits().header_limit) return;
    if (name == ":method") {
        request_.method = std::move(value);
    } else if (name == ":path") {
        const auto question = value.find('?');
        if (question != value.npos) request_.query = value.substr(question + 1);
        request_.path = value.substr(0, question);
    } else if (name == ":authority") {
        authority_ = std::move(value);
    } else if (!name.starts_with(':')) {
        request_.headers.add(std::move(name), std::move(value));
    }
}

void ServerStream::on_headers_end() {
    if (std::exchange(head_done_, true)) return;
    if (!authority_.empty() && !request_.headers.has("host")) request_.headers.add("host", std::move(authority_));
    request_.peer = peer_at(server().peer(), session_.loop().wall_now());
    request_.http2 = true;
    head_only_ = request_.method == "HEAD";
    if (header_bytes_ > session_.limits().header_limit) {
        return refuse(431, Reason::BadRequest, "the request's header fields are too large");
    }
    if (request_.path.empty()) return refuse(400, Reason::BadRequest, "the request has no path");
    const std::string length(request_.headers.get("content-length"));
    if (!length.empty() && std::strtoull(length.c_str(), nullptr, 10) > session_.limits().body_limit) {
        return refuse(413, Reason::RequestEntityTooLarge, too_large(session_.limits()).message);
    }
    server().ready_.push_back(id());
}

void ServerStream::on_data(std::string_view bytes) {
    if (asked_ && !body_error_) {
        server().consume(*this, bytes.size());
    } else {  // other streams shall not wait because nobody wants this body
        server().consume_connection(bytes.size());
    }
    if (started_ || body_error_) return;
    body_.append(bytes);
    buffered_ += bytes.size();
    server().buffered_ += bytes.size();
    BodyBudget* bodies = session_.limits().bodies;
    if (bodies) bodies->part_of(server().peer()) += bytes.size();
    if (body_.size() > session_.limits().body_limit) {
        forget_body(too_large(session_.limits()));
    } else if (server().buffered_ > session_.limits().buffered_bodies) {
        forget_body(Error(Reason::TooManyRequests, "too many unfinished requests on one connection"));
    } else if (bodies && bodies->part_of(server().peer()) > bodies->limit) {
        forget_body(Error(Reason::TooManyRequests, "too many unfinished requests"));
    }
}

Task<std::string> ServerStream::read_body() {
    if (started_) co_return Error(Reason::InternalError, "the response has already been sent");
    if (body_is_to_come()) CO_TRY_VOID(co_await receive_body());
    body_deadline_.clear();
    uncount_body();
    if (closed()) co_return Error(Reason::Unavailable, "the peer ended the stream");
    if (body_error_) co_return *body_error_;
    co_return std::move(body_);
}

Task<> ServerStream::receive_body() {
    asked_ = true;
    body_deadline_.set(session_.limits().body_time);
    server().open_window(*this);
    const Flow::Body awaited(server().peer().flow);
    while (body_is_to_come()) {
        body_changed_.reset();
        CO_TRY_VOID(co_await body_changed_.wait());
    }
    co_return {};
}

void ServerStream::on_end() {
    body_done_ = true;
    body_changed_.set();
}

void ServerStream::on_sent() {
    // The rest of the request is not wanted (RFC 9113, section 8.1). Some clients would not read the answer if they were told at once.
    constexpr auto Patience = std::chrono::seconds(2);
    if (!body_done_) body_deadline_.set(Patience);
}

void ServerStream::on_close(Http2Error error) {
    body_deadline_.clear();
    forget_body();
    if (!handling_.running()) {
        server().requests_.erase(id());  // destroys this
        return;
    }
    if (error != Http2Error::None || !finished_) handling_.cancel();
}

void ServerStream::start_handler() {
    handling_.start(server().handler().handle(std::move(request_), *this), [this] { handler_ended(); });
}

void ServerStream::handler_ended() {
    if (closed()) {
        server().requests_.erase(id());  // destroys this
        return;
    }
    if (finished_) return;
    if (started_) return reset(Http2Error::Internal);  // the peer must not take a cut answer for a whole one
    const auto& result = handling_.result();
    const Error error = result ? Error(Reason::InternalError, "the request got no response") : result.error();
    refuse(http_code(error.reason), error.reason, error.message);
}

void ServerStream::begin(int code, Headers& headers, bool has_body) {
    started_ = true;
    forget_body();
    headers.add("date", http_date(session_.loop().wall_now()));
    server().submit_response(*this, code, headers, has_body);
}

void ServerStream::answer(int code, Headers headers, std::vector<Bytes> body) {
    std::size_t size = 0;
    for (const Bytes& part : body) size += part->size();
    if (code != 204 && code != 304) headers.add("content-length", std::to_string(size));
    const bool has_body = size > 0 && !head_only_;
    begin(code, headers, has_body);
    finished_ = true;
    if (!has_body) return;
    for (Bytes& part : body) queue(std::move(part));
    end_sending();
}

void ServerStream::refuse(int code, Reason reason, std::string_view message) {
    if (started_ || closed()) return;
    answer(code, {{"content-type", "application/json"}}, {std::make_shared<const std::string>(status_json(code, reason, message))});
}

void ServerStream::forget_body(std::optional<Error> why) {
    uncount_body();
    body_ = {};
    body_error_ = std::move(why);
    body_changed_.set();
}

void ServerStream::uncount_body() {
    if (BodyBudget* bodies = session_.limits().bodies) bodies->part_of(server().peer()) -= buffered_;
    server().buffered_ -= std::exchange(buffered_, 0);
}

}  // namespace

Task<> serve_http2(EventLoop& loop, std::unique_ptr<ByteStream> stream, Peer peer, HttpHandler& handler, const HttpLimits& limits,
                   std::string initial) {
    ServerSession session(loop, std::move(stream), std::move(peer), handler, limits);
    co_return co_await session.run(std::move(initial));
}

}  // namespace porthole::net
