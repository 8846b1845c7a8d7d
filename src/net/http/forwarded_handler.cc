#include "net/http/forwarded_handler.h"

#include "runtime/run_on.h"

namespace porthole::net {
namespace {

/// A connection that a handler has taken over, as the handler's loop uses it.
class ForwardedStream final : public ByteStream {
public:
    ForwardedStream(EventLoop& loop, std::unique_ptr<ByteStream> stream)
        : loop_(loop), stream_(stream.release(), [&loop](ByteStream* last) { loop.post([last] { delete last; }); }) {}
    ~ForwardedStream() override { close(); }

    Task<std::size_t> read(std::span<char> buffer) override {
        return run_on<std::size_t>(loop_, [stream = stream_, buffer] { return stream->read(buffer); });
    }
    Task<> write(std::string_view bytes) override {
        return run_on<void>(loop_, [stream = stream_, bytes] { return stream->write(bytes); });
    }
    Task<> end_writing() override {
        return run_on<void>(loop_, [stream = stream_] { return stream->end_writing(); });
    }
    void close() override {
        loop_.post([stream = stream_] { stream->close(); });
    }

private:
    EventLoop& loop_;
    std::shared_ptr<ByteStream> stream_;  ///< destroyed on its own loop, whoever has it last
};

struct WholeAnswer {
    int code = 0;
    Headers headers;
    std::vector<Bytes> body;
};

/// The responder of a connection, as the handler's loop uses it. Made and destroyed on the connection's loop.
class ForwardedResponder final : public HttpResponder {
public:
    ForwardedResponder(EventLoop& connections, HttpResponder& responder)
        : connections_(connections), responder_(responder), body_(responder.received_body()) {}
    ~ForwardedResponder() override {
        if (expected_ > 0) responder_.expected_answer_came(expected_);
    }

    Task<std::string> read_body() override {
        CO_TRY_VOID(check_not_started());
        if (body_) co_return *std::exchange(body_, std::nullopt);
        co_return co_await run_on<std::string>(connections_, [this] { return responder_.read_body(); });
    }
    bool has_room() const override { return responder_.has_room(); }
    Task<> room() override {
        return run_on<void>(connections_, [this] { return responder_.room(); });
    }
    Task<> respond(int code, Headers headers, std::vector<Bytes> body) override {
        CO_TRY_VOID(check_not_started());
        started_ = true;
        for (const Bytes& part : body) expected_ += part->size();
        responder_.expect_answer(expected_);
        answer_.emplace(code, std::move(headers), std::move(body));
        co_return {};
    }
    Task<> start(int code, Headers headers) override {
        CO_TRY_VOID(check_not_started());
        CO_TRY_VOID(co_await run_on<void>(
            connections_, [this, code, headers = std::move(headers)]() mutable { return responder_.start(code, std::move(headers)); }));
        started_ = true;
        co_return {};
    }
    Task<> write(Bytes chunk) override {
        return run_on<void>(connections_, [this, chunk = std::move(chunk)]() mutable { return responder_.write(std::move(chunk)); });
    }
    Task<> finish(Headers trailers) override {
        return run_on<void>(connections_,
                            [this, trailers = std::move(trailers)]() mutable { return responder_.finish(std::move(trailers)); });
    }
    Task<std::unique_ptr<ByteStream>> upgrade(Headers headers) override {
        CO_TRY_VOID(check_not_started());
        CO_TRY(auto stream, co_await run_on<std::unique_ptr<ByteStream>>(connections_, [this, headers = std::move(headers)]() mutable {
                   return responder_.upgrade(std::move(headers));
               }));
        started_ = true;
        co_return std::make_unique<ForwardedStream>(connections_, std::move(stream));
    }
    bool started() const override { return started_; }

    /// For the connection's loop, once the handler has ended.
    std::optional<WholeAnswer> take_answer() { return std::move(answer_); }

private:
    Result<void> check_not_started() const {
        if (started_) return Error(Reason::InternalError, "the response has already been sent");
        return {};
    }

    EventLoop& connections_;
    HttpResponder& responder_;
    std::optional<std::string> body_;
    std::optional<WholeAnswer> answer_;
    std::size_t expected_ = 0;  ///< bytes of it
    bool started_ = false;
};

}  // namespace

Task<> ForwardedHandler::handle(HttpRequest request, HttpResponder& responder) {
    ForwardedResponder forwarded(connections_, responder);
    auto ended = co_await run_on<void>(
        home_, [this, request = std::move(request), &forwarded]() mutable { return handler_.handle(std::move(request), forwarded); });
    auto answer = forwarded.take_answer();
    if (!answer) co_return std::move(ended);
    co_return co_await responder.respond(answer->code, std::move(answer->headers), std::move(answer->body));
}

}  // namespace porthole::net
