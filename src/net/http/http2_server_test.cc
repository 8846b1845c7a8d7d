#include <gtest/gtest.h>

#include <array>

#include "base/result.h"
#include "net/http/http2_client.h"
#include "net/http/http_fixture.h"
#include "net/memory_stream.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

using namespace std::chrono_literals;

namespace porthole::net {
namespace {

class Http2Handler final : public TestHandler {
public:
    using TestHandler::TestHandler;
    std::size_t written = 0;  ///< bytes of /endless

private:
    Task<> answer(HttpRequest request, HttpResponder& responder) override {
        if (request.path == "/trailers") {
            CO_TRY_VOID(co_await responder.start(200, {}));
            CO_TRY_VOID(co_await responder.write(bytes("body")));
            co_return co_await responder.finish({{"grpc-status", "0"}});
        }
        if (request.path == "/cut") {
            CO_TRY_VOID(co_await responder.start(200, {}));
            CO_TRY_VOID(co_await responder.write(bytes("half")));
            co_return Error(Reason::Io, "disk");
        }
        if (request.path.starts_with("/big")) co_return co_await responder.respond(200, {}, {bytes(std::string(3'000'000, 'x'))});
        if (request.path == "/endless") {
            CO_TRY_VOID(co_await responder.start(200, {}));
            for (;;) {
                CO_TRY_VOID(co_await responder.write(bytes(std::string(10'000, 'x'))));
                written += 10'000;
            }
        }
        co_return co_await TestHandler::answer(std::move(request), responder);
    }
};

struct Http2Server : testing::Test {
    sim::SimLoop loop;
    Http2Handler handler{loop};
    BodyBudget bodies;
    AnswerBudget answers{10'000'000};
    HandlerTurns turns;
    HttpLimits limits{.header_limit = 16 << 10, .bodies = &bodies};
    Peer peer{.certificate = CertificateIdentity{.common_name = "jane", .not_after = loop.wall_now() + 1min}};
    Scope scope{loop};

    ~Http2Server() override {
        EXPECT_TRUE(sim::run(loop, scope.close()));
        loop.advance(1min);
    }
    /// The client's end of a new connection.
    std::unique_ptr<ByteStream> connect() {
        auto [ours, theirs] = make_memory_stream_pair();
        scope.spawn(serve_test_connection(loop, std::move(theirs), peer, handler, limits));
        return std::move(ours);
    }
    template <class T>
    Result<T> run(Task<T> task) {
        return sim::run(loop, std::move(task));
    }
};

struct Answer {
    int code = 0;
    std::string body;
    Headers trailers;
};

Headers head(std::string method, std::string path) {
    return {{":method", method}, {":scheme", "http"}, {":authority", "x"}, {":path", path}};
}

Task<Answer> ask(std::shared_ptr<Http2Client> client, Headers headers, std::string body = "") {
    CO_TRY(const auto request, client->open(headers, !body.empty()));
    if (!body.empty()) {
        request->queue(bytes(std::move(body)));
        request->end_sending();
    }
    CO_TRY_VOID(co_await request->wait_for_head());
    Answer answer{request->code(), "", {}};
    for (;;) {
        CO_TRY(const auto piece, co_await request->next());
        if (!piece) break;
        answer.body += *piece;
    }
    answer.trailers = request->trailers();
    co_return answer;
}

Task<std::string> read_all(std::shared_ptr<Http2Request> request) {
    std::string body;
    for (;;) {
        CO_TRY(const auto piece, co_await request->next());
        if (!piece) co_return body;
        body += *piece;
    }
}

struct Http2Pair : Http2Server {
    std::shared_ptr<Http2Client> client = Http2Client::start(loop, connect());
    ~Http2Pair() override { client->shut_down(); }
    Result<Answer> get(std::string path) { return run(ask(client, head("GET", std::move(path)))); }
};

TEST_F(Http2Pair, AnswersManyRequestsOfOneConnection) {
    std::vector<Task<Answer>> tasks;
    for (int i = 0; i < 200; ++i) tasks.push_back(ask(client, head("POST", "/p?n=" + std::to_string(i)), "body" + std::to_string(i)));
    const auto answers = run(when_all(std::move(tasks))).value();
    for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(answers[i]->body, "POST /p?n=" + std::to_string(i) + " body" + std::to_string(i));
    }
}

TEST_F(Http2Pair, AConnectionDoesNotOutliveItsCertificate) {
    EXPECT_EQ(get("/who")->body, "jane");
    loop.advance(61s);
    EXPECT_EQ(get("/who")->body, "certificate has expired");
}

TEST_F(Http2Pair, SendsTrailers) {
    const auto answer = get("/trailers").value();
    EXPECT_EQ(answer.body, "body");
    EXPECT_EQ(answer.trailers.get("grpc-status"), "0");
}

TEST_F(Http2Pair, TurnsAHandlersErrorIntoAStatus) {
    const auto answer = get("/fail").value();
    EXPECT_EQ(answer.code, 409);
    EXPECT_NE(answer.body.find(R"("reason":"Conflict","code":409)"), std::string::npos) << answer.body;
}

TEST_F(Http2Pair, NeverEndsACutAnswerInGoodOrder) { EXPECT_EQ(get("/cut").error().reason, Reason::Unavailable); }

TEST_F(Http2Pair, RefusesABodyOverTheLimit) {
    const auto answer = run(ask(client, head("POST", "/"), std::string(5'000'000, 'x'))).value();
    EXPECT_EQ(answer.code, 413);
    EXPECT_NE(answer.body.find("RequestEntityTooLarge"), std::string::npos);
    Headers announced = head("POST", "/");
    announced.add("content-length", "5000000");
    const auto request = client->open(announced, true).value();  // refused before its body has come
    EXPECT_TRUE(run(request->wait_for_head()));
    EXPECT_EQ(request->code(), 413);
    EXPECT_EQ(get("/")->code, 200);
}

TEST_F(Http2Pair, ARefusedRequestIsAnsweredBeforeItsBodyHasCome) {
    const auto request = client->open(head("POST", "/refuse"), true).value();
    request->queue(bytes(std::string(3'000'000, 'x')));
    EXPECT_TRUE(run(request->wait_for_head()));
    EXPECT_EQ(request->code(), 401);
    while (run(request->next()).value()) {
    }
    EXPECT_FALSE(request->closed()) << "a client that is still sending reads the answer first";
    loop.advance(3s);
    EXPECT_TRUE(request->closed()) << "but the rest is not waited for";
    EXPECT_EQ(bodies.verified, 0u);
    EXPECT_EQ(get("/")->code, 200);
}

TEST_F(Http2Pair, TakesOnlyAPartOfABodyThatNobodyAsksFor) {
    std::vector<std::shared_ptr<Http2Request>> requests;
    for (int i = 0; i < 100; ++i) {
        requests.push_back(client->open(head("POST", "/hang"), true).value());
        requests.back()->queue(bytes(std::string(3'000'000, 'x')));
    }
    loop.run_ready();
    EXPECT_EQ(handler.begun, 100);
    EXPECT_LE(bodies.verified, 100u * (64 << 10));
    EXPECT_EQ(run(ask(client, head("POST", "/"), std::string(3'000'000, 'x')))->code, 200) << "others are not held up";
}

TEST_F(Http2Pair, HoldsNoMoreUnfinishedBodiesOfAConnectionThanAllowed) {
    std::vector<std::shared_ptr<Http2Request>> requests;
    for (int i = 0; i < 8; ++i) {
        requests.push_back(client->open(head("POST", "/"), true).value());
        requests.back()->queue(bytes(std::string(2'500'000, 'x')));
        loop.run_ready();
        EXPECT_LE(bodies.verified, 16u << 20);
    }
    for (int i = 6; i < 8; ++i) {
        EXPECT_TRUE(run(requests[i]->wait_for_head()));
        EXPECT_EQ(requests[i]->code(), 429);
    }
    EXPECT_EQ(get("/")->code, 200) << "the connection stays";
    for (int i = 0; i < 6; ++i) {
        requests[i]->end_sending();
        EXPECT_TRUE(run(requests[i]->wait_for_head()));
        EXPECT_EQ(requests[i]->code(), 200);
        EXPECT_TRUE(run(read_all(requests[i])));
    }
    EXPECT_EQ(bodies.verified, 0u);
    const auto next = run(ask(client, head("POST", "/"), std::string(2'500'000, 'x')));
    ASSERT_TRUE(next);
    EXPECT_EQ(next->code, 200);
}

TEST_F(Http2Pair, ResetsAStreamOfWhichThePeerTakesNothing) {
    auto request = client->open(head("GET", "/endless"), false).value();
    loop.advance(59s);
    EXPECT_FALSE(request->closed());
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(run(request->next()));
    loop.advance(2s);
    EXPECT_FALSE(request->closed());
    loop.advance(59s);
    EXPECT_TRUE(request->closed());
    const std::size_t written = handler.written;
    loop.advance(1min);
    EXPECT_EQ(handler.written, written) << "its handler has ended";
}

TEST_F(Http2Pair, StartsNoRequestWhileTooManyAnswersAreNotTaken) {
    std::vector<std::shared_ptr<Http2Request>> requests;
    for (int i = 0; i < 20; ++i) {
        requests.push_back(client->open(head("GET", "/big"), false).value());
        loop.run_ready();
    }
    EXPECT_GT(handler.begun, 5);
    EXPECT_LT(handler.begun, 12) << "2 MB of each are left over when its window is closed";
    std::vector<Task<std::string>> readers;
    for (const auto& request : requests) readers.push_back(read_all(request));
    for (const auto& body : run(when_all(std::move(readers))).value()) EXPECT_EQ(body->size(), 3'000'000u);
    EXPECT_EQ(handler.begun, 20);
}

TEST_F(Http2Pair, ConnectionsWithManyRequestsTakeTurns) {
    constexpr int Many = 240;
    std::vector<std::shared_ptr<Http2Request>> requests;
    EXPECT_EQ(get("/")->code, 200);
    const auto greedy = Http2Client::start(loop, connect());
    loop.run_ready();
    for (int i = 0; i < Many; ++i) requests.push_back(greedy->open(head("GET", "/hang"), false).value());
    EXPECT_EQ(get("/")->code, 200);
    EXPECT_LT(handler.begun, Many) << "the other connection did not wait for all of them";
    loop.run_ready();
    EXPECT_EQ(handler.begun, 2 + Many);
}

TEST_F(Http2Pair, ConnectionsWithManyRequestsShareATurn) {
    constexpr int Connections = 12, Many = 100;
    limits.turns = &turns;
    std::vector<std::shared_ptr<Http2Client>> greedy;
    std::vector<std::shared_ptr<Http2Request>> requests;
    for (int i = 0; i < Connections; ++i) greedy.push_back(Http2Client::start(loop, connect()));
    client = Http2Client::start(loop, connect());
    loop.run_ready();
    for (const auto& one : greedy) {
        for (int i = 0; i < Many; ++i) requests.push_back(one->open(head("GET", "/hang"), false).value());
    }
    EXPECT_EQ(get("/")->code, 200);
    EXPECT_LT(handler.begun, 250) << "some four turns of 24; of 16 for each connection it would be twice as many";
    loop.run_ready();
    EXPECT_EQ(handler.begun, 1 + Connections * Many);
    EXPECT_EQ(turns.waiting, 0u);
}

TEST_F(Http2Pair, TheConnectionThatTakesLeastEndsWhenAllAnswersAreTooMuch) {
    limits.answers = &answers;
    client = Http2Client::start(loop, connect());
    const auto greedy = Http2Client::start(loop, connect());
    std::vector<std::shared_ptr<Http2Request>> unread;
    for (int i = 0; i < 4; ++i) {
        unread.push_back(greedy->open(head("GET", "/big"), false).value());
        loop.run_ready();
    }
    EXPECT_TRUE(greedy->running()) << "8 MB are left over";
    const auto answer = get("/big");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body.size(), 3'000'000u);
    loop.run_ready();
    EXPECT_FALSE(greedy->running());
    EXPECT_TRUE(client->running());
}

TEST_F(Http2Pair, RefusesHeadersOverTheLimit) {
    Headers many = head("GET", "/");
    for (int i = 0; i < 30; ++i) many.add("h" + std::to_string(i), std::string(1000, 'x'));
    const auto answer = run(ask(client, many));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->code, 431);
    EXPECT_EQ(get("/")->code, 200);
}

TEST_F(Http2Pair, CancelsTheHandlerOfADroppedRequest) {
    auto request = client->open(head("GET", "/hang"), false).value();
    loop.run_ready();
    EXPECT_EQ(handler.begun, 1);
    request.reset();
    loop.run_ready();
    EXPECT_EQ(handler.cancelled, 1);
    EXPECT_EQ(get("/")->code, 200);
}

TEST_F(Http2Pair, HoldsBackAHandlerWhoseClientDoesNotRead) {
    auto request = client->open(head("GET", "/endless"), false).value();
    loop.advance(10s);
    EXPECT_GT(handler.written, 1'000'000u);  // the window
    EXPECT_LT(handler.written, 1'300'000u);
    EXPECT_EQ(get("/")->code, 200);  // another request passes
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(run(request->next()));
    loop.run_ready();
    EXPECT_GT(handler.written, 2'000'000u);
}

TEST_F(Http2Pair, ClosingTellsTheClientAndCancelsHandlers) {
    const auto request = client->open(head("GET", "/hang"), false).value();
    loop.run_ready();
    ASSERT_TRUE(run(scope.close()));
    EXPECT_EQ(handler.cancelled, 1);
    EXPECT_TRUE(run(request->wait_for_head()));
    EXPECT_EQ(request->code(), 503);
    EXPECT_FALSE(client->usable());
}

TEST_F(Http2Pair, EndsAnIdleConnection) {
    EXPECT_EQ(get("/")->code, 200);
    loop.advance(119s);
    EXPECT_TRUE(client->usable());
    loop.advance(2s);
    EXPECT_FALSE(client->usable());
}

/// A peer that writes frames by hand.
struct RawHttp2 : Http2Server {
    static constexpr std::string_view Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    static std::string frame(char type, char flags, std::uint32_t stream, std::string_view payload) {
        std::string frame;
        for (int shift = 16; shift >= 0; shift -= 8) frame += static_cast<char>(payload.size() >> shift);
        frame += type;
        frame += flags;
        for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(stream >> shift);
        return frame.append(payload);
    }
    static std::string settings() { return frame(4, 0, 0, ""); }
    /// The whole request.
    static std::string get(std::uint32_t stream, std::string_view path) {
        return frame(1, 5, stream, "\x82\x86\x41\x01x\x44" + std::string(1, static_cast<char>(path.size())) + std::string(path));
    }
    static std::string get_hang(std::uint32_t stream) { return get(stream, "/hang"); }

    Task<> drain(ByteStream& stream) {
        std::array<char, 4000> buffer;
        for (;;) {
            auto count = co_await stream.read(buffer);
            if (!count || *count == 0) break;
            output.append(buffer.data(), *count);
        }
        ended = true;
        co_return {};
    }
    Task<> send(ByteStream& stream, std::string text) { co_return co_await stream.write(text); }

    std::unique_ptr<ByteStream> peer = connect();
    std::string output;
    bool ended = false;

    void write(std::string text) {
        scope.spawn(send(*peer, std::move(text)));
        loop.run_ready();
    }
    RawHttp2() { scope.spawn(drain(*peer)); }
    ~RawHttp2() override { EXPECT_TRUE(run(scope.close())); }
};

TEST_F(RawHttp2, AClientEndsAConnectionThatTakesNoRequest) {
    for (const std::string& last : {frame(4, 0, 0, std::string("\0\x03\0\0\0\0", 6)),  // MAX_CONCURRENT_STREAMS
                                    frame(7, 0, 0, std::string(8, '\0'))}) {           // GOAWAY
        auto [ours, theirs] = make_memory_stream_pair();
        const auto client = Http2Client::start(loop, std::move(ours));
        scope.spawn(send(*theirs, settings()));
        loop.run_ready();
        EXPECT_TRUE(client->running());
        scope.spawn(send(*theirs, last));
        loop.run_ready();
        EXPECT_FALSE(client->running());
    }
}

TEST_F(RawHttp2, DropsAPeerThatDoesNotAnswerAPing) {
    write(std::string(Preface) + settings() + get_hang(1));
    loop.advance(59s);
    EXPECT_FALSE(ended);
    EXPECT_EQ(handler.cancelled, 0);
    loop.advance(2s);
    EXPECT_TRUE(ended);
    EXPECT_EQ(handler.cancelled, 1);
}

TEST_F(RawHttp2, EndsAPeerThatLeavesTooManyFramesUnread) {
    const auto silent = connect();
    std::string text = std::string(Preface) + settings();
    std::uint32_t stream = 1;
    for (; stream < 500; stream += 2) text += get_hang(stream);
    for (; stream < 40'000; stream += 2) text += frame(1, 4, stream, "");  // each is refused with 13 bytes
    scope.spawn(send(*silent, text));
    loop.run_ready();
    EXPECT_GT(handler.cancelled, 0) << "those that had been started";
}

TEST_F(RawHttp2, AnswersCountUntilTheyAreWrittenHoweverLargeThePeersWindows) {
    limits.answers = &answers;
    const std::string windows = frame(4, 0, 0, std::string("\0\x04\x7f\xff\xff\xff", 6)) +  // INITIAL_WINDOW_SIZE
                                frame(8, 0, 0, std::string("\x7f\xff\0\0", 4));             // WINDOW_UPDATE
    const auto first = connect(), second = connect();
    for (ByteStream* silent : {first.get(), second.get()}) {
        scope.spawn(send(*silent, std::string(Preface) + windows + get(1, "/big") + get(3, "/big")));
        loop.run_ready();
    }
    scope.spawn(drain(*first));
    scope.spawn(drain(*second));
    loop.run_ready();
    EXPECT_LT(output.size(), 9'000'000u) << "of 12 MB, of which 10 may be held, one connection's have gone";
}

TEST_F(RawHttp2, CancelsHandlersWhenThePeerLeaves) {
    write(std::string(Preface) + settings() + get_hang(1) + get_hang(3));
    EXPECT_EQ(handler.begun, 2);
    peer->close();
    loop.run_ready();
    EXPECT_EQ(handler.cancelled, 2);
}

TEST_F(RawHttp2, EndsAFloodOfResets) {
    write(std::string(Preface) + settings());
    std::uint32_t stream = 1;
    for (; stream < 100'000 && !ended; stream += 2) write(get_hang(stream) + frame(3, 0, stream, std::string("\0\0\0\x08", 4)));
    EXPECT_TRUE(ended);
    EXPECT_LT(stream, 5'000u);
    EXPECT_EQ(handler.cancelled, handler.begun);
}

TEST_F(RawHttp2, EndsAFloodOfHeaderFragments) {
    write(std::string(Preface) + settings() + frame(1, 1, 1, "\x82\x86\x41\x01x\x84"));
    for (int i = 0; i < 1000 && !ended; ++i) write(frame(9, 0, 1, std::string(1000, '\x86')));
    loop.advance(1s);
    EXPECT_TRUE(ended);
    EXPECT_EQ(handler.begun, 0);
}

TEST_F(RawHttp2, EndsOnNonsenseAfterThePreface) {
    write(std::string(Preface) + std::string(100, 'x'));
    loop.advance(1s);
    EXPECT_TRUE(ended);
}

TEST_F(RawHttp2, RefusesMoreRequestsThanAllowedAtATime) {
    std::string input = std::string(Preface) + settings();
    for (std::uint32_t stream = 1; stream < 600; stream += 2) input += get_hang(stream);
    write(input);
    EXPECT_EQ(handler.begun, 250);
}

}  // namespace
}  // namespace porthole::net
