#include <gtest/gtest.h>

#include <thread>

#include "base/result.h"
#include "net/flow.h"
#include "net/http/forwarded_handler.h"
#include "net/http/http2_client.h"
#include "net/http/http_client.h"
#include "net/http/http_fixture.h"
#include "net/http/http_server.h"
#include "net/socket.h"
#include "runtime/run_task.h"
#include "runtime/scope.h"

using namespace std::chrono_literals;

namespace porthole::net {

Task<> serve_test_connection(EventLoop& loop, std::unique_ptr<ByteStream> stream, Peer peer, HttpHandler& handler,
                             const HttpLimits& limits) {
    ForwardedHandler forwarded(loop, loop, handler);
    co_return co_await serve_connection(loop, std::move(stream), std::move(peer), nullptr, forwarded, limits);
}

namespace {

constexpr std::size_t LongAnswer = 3'000'000;  ///< bytes of an answer: the peer's window takes a third

/// Notes whether it was ever called on another thread than the one that made it.
class HomeHandler final : public TestHandler {
public:
    using TestHandler::TestHandler;
    bool strayed = false;
    int waited = 0;  ///< for room

private:
    Task<> answer(HttpRequest request, HttpResponder& responder) override {
        strayed = strayed || std::this_thread::get_id() != home_;
        if (request.path == "/large") co_return co_await answer_at_length(std::move(request), responder);
        if (request.path != "/stream") co_return co_await TestHandler::answer(std::move(request), responder);
        CO_TRY_VOID(co_await responder.start(200, {}));
        for (int i = 0; i < 100; ++i) {
            CO_TRY_VOID(co_await responder.write(bytes("piece " + std::to_string(i) + "\n")));
            strayed = strayed || std::this_thread::get_id() != home_;
        }
        co_return co_await responder.finish();
    }

    /// As the API server does: it says whose request it is, reads the body, and waits until the peer has read earlier answers.
    Task<> answer_at_length(HttpRequest request, HttpResponder& responder) {
        request.peer.flow->set_user(static_cast<std::uint64_t>(begun), true);
        CO_TRY(const std::string body, co_await responder.read_body());
        while (!responder.has_room()) {
            ++waited;
            CO_TRY_VOID(co_await responder.room());
        }
        strayed = strayed || std::this_thread::get_id() != home_;
        co_return co_await responder.respond(200, {}, {bytes(std::string(LongAnswer, 'x')), bytes(body)});
    }

    const std::thread::id home_ = std::this_thread::get_id();
};

struct ServerWithOwnThread : testing::Test {
    AsioLoop loop;
    HomeHandler handler{loop};
    HttpServer server{loop, handler, HttpServerOptions{.own_thread = true}, Logger(make_null_sink(), "")};
    const std::uint16_t port = server.listen("127.0.0.1", 0).value();
    Scope scope{loop};
    int right = 0;

    ~ServerWithOwnThread() override { EXPECT_FALSE(handler.strayed); }

    Task<> ask(int number) {
        HttpClient client(loop, {.host = "127.0.0.1", .port = port}, nullptr);
        const std::string path = "/" + std::to_string(number), text(1000 * (number % 100), 'x');
        for (int i = 0; i < 10; ++i) {
            CO_TRY(const HttpResponse echo, co_await client.send({.method = "POST", .path = path, .body = text}));
            CO_TRY(const HttpResponse stream, co_await client.send({.method = "GET", .path = "/stream"}));
            if (echo.body == "POST " + path + "? " + text && stream.body.ends_with("piece 99\n")) ++right;
        }
        co_return co_await client.close();
    }
    Task<> hang() {
        HttpClient client(loop, {.host = "127.0.0.1", .port = port}, nullptr);
        auto answer = co_await client.send({.method = "GET", .path = "/hang"});
        if (!answer || answer->code != 200) ++right;
        co_return co_await client.close();
    }
    static Task<std::size_t> size_of_answer(std::shared_ptr<Http2Request> request) {
        for (std::size_t size = 0;;) {
            CO_TRY(const auto piece, co_await request->next());
            if (!piece) co_return size;
            size += piece->size();
        }
    }
    /// Bytes of the answers to `count` requests on one connection, but one that is not wanted. Nothing is read before a handler waits for
    /// room.
    Task<std::size_t> read_late(int count, std::string body) {
        CO_TRY(auto stream, co_await connect_socket(loop, {.host = "127.0.0.1", .port = port}));
        const auto client = Http2Client::start(loop, std::move(stream));
        const Headers head{{":method", "POST"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/large"}};
        std::vector<std::shared_ptr<Http2Request>> requests;
        for (int i = 0; i < count; ++i) {
            CO_TRY(auto request, client->open(head, true));
            request->queue(bytes(body));
            request->end_sending();
            requests.push_back(std::move(request));
        }
        while (handler.waited == 0) CO_TRY_VOID(co_await loop.sleep(1ms));
        requests.pop_back();
        std::vector<Task<std::size_t>> answers;
        for (const auto& request : requests) answers.push_back(size_of_answer(request));
        CO_TRY(const auto sizes, co_await when_all(std::move(answers)));
        std::size_t size = 0;
        for (const auto& one : sizes) size += one.value_or(0);
        client->shut_down();
        co_return size;
    }
    Task<> wait_for_handlers(int count) {
        while (handler.begun < count) CO_TRY_VOID(co_await loop.sleep(1ms));
        co_return {};
    }
};

TEST_F(ServerWithOwnThread, AnswersManyConnectionsAtATime) {
    std::vector<Task<>> clients;
    for (int i = 0; i < 30; ++i) clients.push_back(ask(i));
    const auto ended = run_task(loop, when_all(std::move(clients)));
    ASSERT_TRUE(ended);
    for (const auto& one : *ended) EXPECT_TRUE(one);
    EXPECT_EQ(right, 300);
    EXPECT_TRUE(run_task(loop, server.close()));
}

TEST_F(ServerWithOwnThread, HandlersWaitForRoomWhilePeersReadNothing) {
    constexpr int Clients = 3, Requests = 16;
    const std::string body(50'000, 'b');
    std::vector<Task<std::size_t>> clients;
    for (int i = 0; i < Clients; ++i) clients.push_back(read_late(Requests, body));
    const auto sizes = run_task(loop, when_all(std::move(clients)));
    ASSERT_TRUE(sizes);
    for (const auto& size : *sizes) EXPECT_EQ(size.value_or(0), (Requests - 1) * (LongAnswer + body.size()));
    EXPECT_TRUE(run_task(loop, server.close()));
}

TEST_F(ServerWithOwnThread, ClosingCancelsHandlersAndWaitsForThem) {
    for (int i = 0; i < 10; ++i) scope.spawn(hang());
    ASSERT_TRUE(run_task(loop, wait_for_handlers(10)));
    EXPECT_TRUE(run_task(loop, server.close()));
    EXPECT_EQ(handler.cancelled, 10);
    EXPECT_TRUE(run_task(loop, scope.close()));
}

TEST_F(ServerWithOwnThread, AHandlerWhoseClientLeavesIsCancelled) {
    scope.spawn(hang());
    ASSERT_TRUE(run_task(loop, wait_for_handlers(1)));
    EXPECT_TRUE(run_task(loop, scope.close()));
    EXPECT_TRUE(run_task(loop, handler.was_cancelled.wait()));
    EXPECT_TRUE(run_task(loop, server.close()));
}

}  // namespace
}  // namespace porthole::net
