#include <gtest/gtest.h>

#include <array>

#include "base/result.h"
#include "net/http/http_connection.h"
#include "net/http/http_fixture.h"
#include "net/memory_stream.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

using namespace std::chrono_literals;

namespace porthole::net {
namespace {

constexpr std::size_t BigAnswer = 3'000'000;

class Http1Handler final : public TestHandler {
public:
    using TestHandler::TestHandler;

private:
    Task<> answer(HttpRequest request, HttpResponder& responder) override {
        if (request.path == "/stream") {
            CO_TRY_VOID(co_await responder.start(200, {{"content-type", "text/plain"}}));
            for (int i = 0; i < 3; ++i) {
                CO_TRY_VOID(co_await responder.write(bytes("piece" + std::to_string(i) + "\n")));
                CO_TRY_VOID(co_await loop_.sleep(1s));
            }
            co_return co_await responder.finish();
        }
        if (request.path == "/big") co_return co_await responder.respond(200, {}, {bytes(std::string(BigAnswer, 'x'))});
        if (request.path == "/big-piece") {
            CO_TRY_VOID(co_await responder.start(200, {}));
            CO_TRY_VOID(co_await responder.write(bytes(std::string(BigAnswer, 'x'))));
            co_return co_await responder.finish();
        }
        if (request.path == "/silent") co_return {};
        if (request.path == "/cut") {
            CO_TRY_VOID(co_await responder.start(200, {}));
            co_return Error(Reason::Io, "disk");
        }
        if (request.path == "/echo-stream") {
            CO_TRY(auto stream, co_await responder.upgrade({{"connection", "Upgrade"}, {"upgrade", "echo"}}));
            std::array<char, 100> buffer;
            for (;;) {
                CO_TRY(const std::size_t count, co_await stream->read(buffer));
                if (count == 0) co_return {};
                CO_TRY_VOID(co_await stream->write({buffer.data(), count}));
            }
        }
        co_return co_await TestHandler::answer(std::move(request), responder);
    }
};

/// A stream whose reader must be the only one, as ByteStream asks.
class OneReader final : public ByteStream {
public:
    explicit OneReader(std::unique_ptr<ByteStream> lower) : lower_(std::move(lower)) {}
    Task<std::size_t> read(std::span<char> buffer) override {
        EXPECT_FALSE(std::exchange(reading_, true)) << "two reads at a time";
        auto count = co_await lower_->read(buffer);
        reading_ = false;
        co_return std::move(count);
    }
    Task<> write(std::string_view bytes) override { return lower_->write(bytes); }
    Task<> end_writing() override { return lower_->end_writing(); }
    void close() override { lower_->close(); }

private:
    std::unique_ptr<ByteStream> lower_;
    bool reading_ = false;
};

/// Sends `input`, half-closes if asked, and collects what comes back.
class RawClient {
public:
    RawClient(sim::SimLoop& loop, HttpHandler& handler, HttpLimits limits = {}, Peer peer = {})
        : loop_(loop), limits_(limits), peer_(std::move(peer)) {
        auto [ours, theirs] = make_memory_stream_pair();
        ours_ = std::move(ours);
        scope_.spawn(serve(std::move(theirs), handler));
        scope_.spawn(collect());
    }
    ~RawClient() { EXPECT_TRUE(sim::run(loop_, scope_.close())); }

    void send(std::string text) {
        scope_.spawn(write(std::move(text)));
        loop_.run_ready();
    }
    void leave() {
        ours_->close();
        loop_.run_ready();
    }
    std::string received;
    std::size_t sent = 0;  ///< bytes that the server's end has taken
    bool ended = false;

private:
    Task<> serve(std::unique_ptr<ByteStream> stream, HttpHandler& handler) {
        co_return co_await serve_test_connection(loop_, std::make_unique<OneReader>(std::move(stream)), peer_, handler, limits_);
    }
    Task<> write(std::string text) {
        constexpr std::size_t Piece = 4096;
        for (std::size_t begin = 0; begin < text.size(); begin += Piece) {
            const std::string piece = text.substr(begin, Piece);
            CO_TRY_VOID(co_await ours_->write(piece));
            sent += piece.size();
        }
        co_return {};
    }
    Task<> collect() {
        std::array<char, 1000> buffer;
        for (;;) {
            auto count = co_await ours_->read(buffer);
            if (!count || *count == 0) break;
            received.append(buffer.data(), *count);
        }
        ended = true;
        co_return {};
    }
    sim::SimLoop& loop_;
    HttpLimits limits_;
    Peer peer_;
    std::unique_ptr<ByteStream> ours_;
    Scope scope_{loop_};
};

/// Sends requests and takes no answer.
class SilentClient {
public:
    SilentClient(sim::SimLoop& loop, HttpHandler& handler, HttpLimits limits) : loop_(loop), limits_(limits) {
        auto [ours, theirs] = make_memory_stream_pair();
        ours_ = std::move(ours);
        scope_.spawn(serve(std::move(theirs), handler));
    }
    ~SilentClient() { EXPECT_TRUE(sim::run(loop_, scope_.close())); }

    void send(const std::string& text) {
        EXPECT_TRUE(sim::run(loop_, ours_->write(text)));
        loop_.run_ready();
    }
    bool dropped() const { return dropped_; }

private:
    Task<> serve(std::unique_ptr<ByteStream> stream, HttpHandler& handler) {
        (void)co_await serve_test_connection(loop_, std::move(stream), {}, handler, limits_);
        dropped_ = true;
        co_return {};
    }
    sim::SimLoop& loop_;
    HttpLimits limits_;
    std::unique_ptr<ByteStream> ours_;
    bool dropped_ = false;
    Scope scope_{loop_};
};

struct Http1Server : testing::Test {
    sim::SimLoop loop;
    Http1Handler handler{loop};
    static std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }
};

TEST_F(Http1Server, AnswersAndKeepsTheConnection) {
    RawClient client(loop, handler);
    client.send("GET /a/b?c=d HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(client.received.starts_with("HTTP/1.1 200 OK\r\ncontent-length: 13\r\n")) << client.received;
    EXPECT_EQ(body_of(client.received), "GET /a/b?c=d ");
    client.received.clear();
    client.send("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
    EXPECT_EQ(body_of(client.received), "POST /p? body");
    EXPECT_FALSE(client.ended);
}

TEST_F(Http1Server, TakesAMessageByteByByte) {
    RawClient client(loop, handler);
    const std::string head = "POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string body : {"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "0\r\n\r\n", "000;a=b\r\nc: d\r\n\r\n"}) {
        client.received.clear();
        for (const char c : head + body) client.send(std::string(1, c));
        EXPECT_EQ(body_of(client.received), body.front() == '3' ? "POST /p? abcde" : "POST /p? ") << body;
    }
}

TEST_F(Http1Server, AnswersPipelinedRequestsInOrder) {
    RawClient client(loop, handler);
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\nGET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
    client.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
    loop.advance(10s);
    const auto stream = client.received.find("piece2"), one = client.received.find("GET /1?"), two = client.received.find("GET /2?");
    EXPECT_LT(stream, one);
    EXPECT_LT(one, two);
    EXPECT_NE(two, std::string::npos);
}

TEST_F(Http1Server, SendsEveryPieceOfAStreamAtOnce) {
    RawClient client(loop, handler);
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(body_of(client.received), "7\r\npiece0\n\r\n");
    loop.advance(5s);
    EXPECT_EQ(body_of(client.received), "7\r\npiece0\n\r\n7\r\npiece1\n\r\n7\r\npiece2\n\r\n0\r\n\r\n");
}

TEST_F(Http1Server, InvitesABodyThatWaitsToBeInvited) {
    RawClient client(loop, handler);
    client.send("POST /p HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    EXPECT_EQ(client.received, "HTTP/1.1 100 Continue\r\n\r\n");
    client.received.clear();
    client.send("abc");
    EXPECT_EQ(body_of(client.received), "POST /p? abc");
}

TEST_F(Http1Server, RefusesWhatIsNotHttp) {
    struct {
        const char *name, *input, *start, *contains;
    } const rows[] = {
        {"garbage", "hello\r\n\r\n", "HTTP/1.1 400", "\"reason\":\"BadRequest\""},
        {"no host", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400", "Host"},
        {"two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 400", ""},
        {"length and chunks", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 400", ""},
        {"unknown coding", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 400", ""},
        {"body too large", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n", "HTTP/1.1 413",
         "Request entity too large: limit is "},
        {"wrong version", "GET / HTTP/3.7\r\nHost: x\r\n\r\n", "HTTP/1.1 505", ""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        RawClient client(loop, handler);
        client.send(row.input);
        EXPECT_TRUE(client.received.starts_with(row.start)) << client.received;
        EXPECT_NE(client.received.find(row.contains), std::string::npos) << client.received;
        loop.advance(3s);
        EXPECT_TRUE(client.ended);
    }
}

TEST_F(Http1Server, RefusesAChunkedBodyOverTheLimit) {
    RawClient client(loop, handler, {.body_limit = 100});
    client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n60\r\n" + std::string(96, 'x') + "\r\n60\r\n");
    client.send(std::string(96, 'x'));
    EXPECT_TRUE(client.received.starts_with("HTTP/1.1 413")) << client.received;
}

TEST_F(Http1Server, RefusesEndlessHeaders) {
    RawClient client(loop, handler);
    client.send("GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(70000, 'a'));
    EXPECT_TRUE(client.received.starts_with("HTTP/1.1 431")) << client.received.substr(0, 100);
}

TEST_F(Http1Server, RefusesEndlessLinesOfChunksAndTrailers) {
    for (const std::string begin : {"1;a=", "0;a=", "0\r\na: "}) {
        RawClient client(loop, handler);
        client.send("POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + begin);
        for (int i = 0; i < 7; ++i) client.send(std::string(10'000, 'a'));
        EXPECT_TRUE(client.received.starts_with("HTTP/1.1 400")) << begin << client.received.substr(0, 100);
        EXPECT_NE(client.received.find("header limit exceeded"), std::string::npos) << client.received;
    }
}

TEST_F(Http1Server, DropsSlowAndIdlePeers) {
    RawClient slow(loop, handler), idle(loop, handler);
    slow.send("GET / HT");
    for (int i = 0; i < 29; ++i) {
        loop.advance(1s);
        slow.send("T");  // a byte now and then does not help
    }
    EXPECT_FALSE(slow.ended);
    loop.advance(2s);
    EXPECT_TRUE(slow.ended);
    EXPECT_TRUE(idle.ended);
}

TEST_F(Http1Server, DropsAPeerWhoseBodyTakesTooLong) {
    RawClient slow(loop, handler);
    slow.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
    for (int i = 0; i < 59; ++i) {
        loop.advance(1s);
        slow.send("x");  // a byte now and then does not help
    }
    EXPECT_FALSE(slow.ended);
    loop.advance(2s);
    EXPECT_TRUE(slow.ended);
}

TEST_F(Http1Server, ARefusedRequestIsAnsweredBeforeItsBodyHasCome) {
    RawClient client(loop, handler);
    client.send("POST /refuse HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3000000\r\n\r\n");
    EXPECT_TRUE(client.received.starts_with("HTTP/1.1 401")) << "and is not invited: " << client.received;
    EXPECT_NE(client.received.find("connection: close"), std::string::npos);
    RawClient small(loop, handler);
    small.send("POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbodyGET /next HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(small.received.find("GET /next"), std::string::npos) << "a body that is here already costs no connection";
}

TEST_F(Http1Server, TakesOnlyAPartOfABodyThatNobodyAsksFor) {
    RawClient client(loop, handler);
    client.send("POST /hang HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n" + std::string(2'000'000, 'x'));
    EXPECT_LT(client.sent, 200'000u);
    loop.advance(2h);
    EXPECT_TRUE(client.received.starts_with("HTTP/1.1 200")) << client.received;
    EXPECT_GT(client.sent, 2'000'000u);
}

TEST_F(Http1Server, DoesNotChangeTheProtocolBehindABodyThatHasNotCome) {
    RawClient client(loop, handler);
    client.send("POST /echo-stream HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n");
    EXPECT_TRUE(client.received.starts_with("HTTP/1.1 400")) << client.received;
}

TEST_F(Http1Server, HoldsNoMoreUnfinishedBodiesThanAllowedForAllConnections) {
    BodyBudget budget{.limit = 1000};
    const HttpLimits limits{.bodies = &budget};
    {
        RawClient first(loop, handler, limits), second(loop, handler, limits), third(loop, handler, limits);
        const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 600\r\n\r\n";
        first.send(head + std::string(599, 'x'));
        second.send(head + std::string(599, 'x'));
        EXPECT_FALSE(first.ended);
        EXPECT_TRUE(second.received.starts_with("HTTP/1.1 429")) << second.received;
        first.send("x");
        EXPECT_TRUE(first.received.starts_with("HTTP/1.1 200"));
        third.send(head + std::string(600, 'x'));
        EXPECT_TRUE(third.received.starts_with("HTTP/1.1 200")) << "what is handled, or gone, is not counted any more";
    }
    EXPECT_EQ(budget.others, 0u);
}

TEST_F(Http1Server, TheConnectionThatTakesLeastEndsWhenAllAnswersAreTooMuch) {
    for (const char* path : {"/big", "/big-piece"}) {
        SCOPED_TRACE(path);
        AnswerBudget answers(2 * BigAnswer);
        const HttpLimits limits{.answers = &answers};
        const std::string request = "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n\r\n";
        RawClient reader(loop, handler, limits);
        {
            SilentClient first(loop, handler, limits), second(loop, handler, limits);
            first.send(request);
            second.send(request);
            EXPECT_FALSE(first.dropped() || second.dropped());
            reader.send(request);
            EXPECT_TRUE(first.dropped() || second.dropped()) << "together they held all that there was";
        }
        EXPECT_GE(reader.received.size(), BigAnswer) << "who reads is served";
        reader.send(request);
        EXPECT_GE(reader.received.size(), 2 * BigAnswer) << "what was taken, or dropped, is not counted any more";
    }
}

TEST_F(Http1Server, CancelsTheHandlerWhenThePeerLeaves) {
    RawClient client(loop, handler);
    client.send("GET /hang HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(handler.cancelled, 0);
    client.leave();
    EXPECT_EQ(handler.cancelled, 1);
}

TEST_F(Http1Server, TurnsAHandlersErrorIntoAStatus) {
    RawClient client(loop, handler);
    client.send("GET /fail HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(client.received.starts_with("HTTP/1.1 409 Conflict")) << client.received;
    EXPECT_NE(client.received.find(R"("message":"no \"luck\"","reason":"Conflict","code":409)"), std::string::npos);
    RawClient other(loop, handler);
    other.send("GET /silent HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(other.received.starts_with("HTTP/1.1 500")) << other.received;
}

TEST_F(Http1Server, NeverEndsACutAnswerInGoodOrder) {
    RawClient client(loop, handler);
    client.send("GET /cut HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(client.ended);
    EXPECT_EQ(body_of(client.received), "");  // no final chunk
}

TEST_F(Http1Server, AConnectionDoesNotOutliveItsCertificate) {
    RawClient client(loop, handler, {}, {.certificate = CertificateIdentity{.common_name = "jane", .not_after = loop.wall_now() + 1min}});
    client.send("GET /who HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(body_of(client.received), "jane");
    client.received.clear();
    loop.advance(61s);
    client.send("GET /who HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(body_of(client.received), "certificate has expired");
}

TEST_F(Http1Server, HeadHasNoBody) {
    RawClient client(loop, handler);
    client.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.0\r\n\r\n");
    EXPECT_NE(client.received.find("content-length: 9\r\n"), std::string::npos) << client.received;
    EXPECT_EQ(body_of(client.received).find("HTTP/1.1 200 OK"), 0u);
    EXPECT_TRUE(client.ended);  // HTTP/1.0
}

TEST_F(Http1Server, HandsOverAnUpgradedConnectionWithWhatWasReadAlready) {
    RawClient client(loop, handler);
    client.send("GET /echo-stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly ");
    client.send("late");
    EXPECT_TRUE(client.received.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
    EXPECT_EQ(body_of(client.received), "early late");
    loop.advance(10min);
    EXPECT_FALSE(client.ended);
}

TEST_F(Http1Server, ClosingCancelsHandlers) {
    auto client = std::make_unique<RawClient>(loop, handler);
    client->send("GET /hang HTTP/1.1\r\nHost: x\r\n\r\n");
    client.reset();
    EXPECT_EQ(handler.cancelled, 1);
}

}  // namespace
}  // namespace porthole::net
