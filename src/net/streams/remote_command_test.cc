#include "net/streams/remote_command.h"

#include <gtest/gtest.h>

#include <array>
#include <tuple>

#include "net/child_task.h"
#include "net/http/http_connection.h"
#include "net/http/relay.h"
#include "net/memory_stream.h"
#include "net/streams/port_forward.h"
#include "net/streams/spdy_headers.h"
#include "net/tls/x509.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

using namespace std::chrono_literals;

namespace porthole::net {
namespace {

Task<std::string> read_all(ByteStream& stream) {
    std::string all;
    std::array<char, 1000> buffer;
    for (;;) {
        CO_TRY(const std::size_t count, co_await stream.read(buffer));
        if (count == 0) co_return all;
        all.append(buffer.data(), count);
    }
}

Task<std::string> read_some(ByteStream& stream, std::size_t count) {
    std::string all;
    std::array<char, 1000> buffer;
    while (all.size() < count) {
        CO_TRY(const std::size_t got, co_await stream.read(std::span(buffer).first(std::min(buffer.size(), count - all.size()))));
        if (got == 0) break;
        all.append(buffer.data(), got);
    }
    co_return all;
}

struct InMemory : testing::Test {
    sim::SimLoop loop;
    ~InMemory() override { loop.advance(1min); }  // what was dropped ends by itself
    template <class T>
    Result<T> run(Task<T> task) {
        return sim::run(loop, std::move(task));
    }
    void run(Task<> task) {
        const auto result = sim::run(loop, std::move(task));
        EXPECT_TRUE(result) << result.error().message;
    }
};

// WebSocket

struct WebSockets : InMemory {
    std::pair<std::unique_ptr<WebSocket>, std::unique_ptr<WebSocket>> pair() {
        auto [a, b] = make_memory_stream_pair();
        return {WebSocket::over(loop, std::move(a), WebSocket::Role::Server, ""),
                WebSocket::over(loop, std::move(b), WebSocket::Role::Client, "")};
    }
    /// A server whose peer sends raw bytes.
    std::pair<std::unique_ptr<WebSocket>, std::unique_ptr<ByteStream>> raw() {
        auto [a, b] = make_memory_stream_pair();
        return {WebSocket::over(loop, std::move(a), WebSocket::Role::Server, ""), std::move(b)};
    }
};

Task<> exchange(WebSocket& server, WebSocket& client) {
    CO_TRY_VOID(co_await client.send({"hello", false}));
    CO_TRY_VOID(co_await client.send({std::string(100'000, 'x'), true}));
    client.ping();
    CO_TRY(const auto text, co_await server.receive());
    EXPECT_EQ(text->data, "hello");
    EXPECT_FALSE(text->binary);
    CO_TRY(const auto big, co_await server.receive());
    EXPECT_EQ(big->data.size(), 100'000u);
    EXPECT_TRUE(big->binary);
    CO_TRY_VOID(co_await server.send({"last words", true}));
    server.close(1000, "bye");
    CO_TRY(const auto last, co_await client.receive());
    EXPECT_EQ(last->data, "last words");
    CO_TRY(const auto end, co_await client.receive());
    EXPECT_FALSE(end);
    co_return {};
}

TEST_F(WebSockets, CarryMessagesAndCloseInGoodOrder) {
    auto [server, client] = pair();
    run(exchange(*server, *client));
}

TEST_F(WebSockets, RefuseWhatBreaksTheProtocol) {
    struct {
        const char* name;
        std::string input;
        std::string_view close_code;
    } const rows[] = {
        {"unmasked", std::string("\x82\x01", 2) + "x", "\x03\xea"},
        {"reserved bit", std::string("\xc2\x81\0\0\0\0", 6) + "x", "\x03\xea"},
        {"unknown opcode", std::string("\x83\x80\0\0\0\0", 6), "\x03\xea"},
        {"fragmented ping", std::string("\x09\x80\0\0\0\0", 6), ""},
        {"not UTF-8", std::string("\x81\x81\0\0\0\0", 6) + "\xff", "\x03\xef"},
        {"too large", std::string("\x82\xff\0\0\0\0\x10\0\0\0\0\0\0\0", 14) + "x", "\x03\xf1"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        auto [server, peer] = raw();
        run(peer->write(row.input));
        const auto received = run(server->receive());
        EXPECT_FALSE(received);
        const auto read = run(read_all(*peer));
        ASSERT_TRUE(read) << read.error().message;
        const std::string& answer = *read;
        EXPECT_EQ(answer.substr(0, 1), "\x88");
        EXPECT_NE(answer.find(row.close_code), answer.npos) << to_hex(answer);
    }
}

/// Writes what `next` yields until the peer has had enough.
Task<> flood(ByteStream& stream, std::function<std::string()> next) {
    for (;;) {
        const std::string piece = next();
        CO_TRY_VOID(co_await stream.write(piece));
    }
}

/// The bytes that a peer took of a flood before it ended the connection, or 0 if it took 100 MB.
std::size_t flooded(sim::SimLoop& loop, ByteStream& stream, std::function<std::string()> next) {
    constexpr std::size_t Most = 100'000'000;
    std::size_t sent = 0;
    Scope scope(loop);
    scope.spawn(flood(stream, [&] {
        std::string piece = sent < Most ? next() : "";
        sent += piece.size();
        if (piece.empty()) stream.close();
        return piece;
    }));
    loop.advance(10s);
    EXPECT_TRUE(sim::run(loop, scope.close()));
    return sent < Most ? sent : 0;
}

TEST_F(WebSockets, EndAPeerThatPingsWithoutReading) {
    auto [server, peer] = raw();
    const std::string ping = "\x89\xfd" + std::string(4, '\0') + std::string(125, 'x');
    EXPECT_GT(flooded(loop, *peer, [&] { return ping; }), 1'000'000u);
    EXPECT_FALSE(run(server->receive()));
}

TEST_F(WebSockets, HoldNoEndlessNumberOfEmptyMessages) {
    auto [server, peer] = raw();
    std::size_t sent = 0;
    Scope scope(loop);
    scope.spawn(flood(*peer, [&] {
        ++sent;
        return std::string("\x82\x80\0\0\0\0", 6);
    }));
    loop.advance(1s);
    EXPECT_LT(sent, 100'000u);
    EXPECT_TRUE(run(server->receive()));
    run(scope.close());
}

TEST_F(WebSockets, EndAPeerThatSendsEndlessFragments) {
    auto [server, peer] = raw();
    bool begun = false;
    const std::size_t sent = flooded(loop, *peer, [&] {
        const std::string one = std::string(std::exchange(begun, true) ? "\x00\x81" : "\x02\x81", 2) + std::string(4, '\0') + "x";
        std::string many = one;
        for (int i = 0; begun && i < 99; ++i) many += std::string("\x00\x81\0\0\0\0x", 7);
        return many;
    });
    EXPECT_GT(sent, 0u);
    EXPECT_LT(sent, 1'000'000u);
    EXPECT_FALSE(run(server->receive()));
}

TEST_F(WebSockets, ReportALostConnection) {
    auto [server, peer] = raw();
    peer.reset();
    EXPECT_EQ(run(server->receive()).error().reason, Reason::Unavailable);
}

// SPDY

struct Spdy : InMemory {
    std::pair<std::unique_ptr<SpdySession>, std::unique_ptr<SpdySession>> pair() {
        auto [a, b] = make_memory_stream_pair();
        return {SpdySession::over(loop, std::move(a), SpdySession::Role::Server),
                SpdySession::over(loop, std::move(b), SpdySession::Role::Client)};
    }
};

Task<> spdy_exchange(SpdySession& server, SpdySession& client) {
    CO_TRY(const auto first, co_await client.open({{"streamtype", "error"}, {"port", "80"}}));
    CO_TRY(const auto second, co_await client.open({{"streamtype", "data"}, {"port", "80"}}));
    CO_TRY(auto accepted_first, co_await server.accept());
    CO_TRY(auto accepted_second, co_await server.accept());
    EXPECT_EQ((*accepted_first)->headers().get("streamtype"), "error");
    EXPECT_EQ((*accepted_second)->headers().get("streamtype"), "data");
    EXPECT_EQ((*accepted_second)->id(), 3u);
    CO_TRY_VOID(co_await second->write("ping"));
    CO_TRY_VOID(co_await second->end_writing());
    CO_TRY(const std::string ping, co_await read_all(**accepted_second));
    EXPECT_EQ(ping, "ping");
    CO_TRY_VOID(co_await (*accepted_second)->write("pong"));
    CO_TRY_VOID(co_await (*accepted_second)->end_writing());
    CO_TRY(const std::string pong, co_await read_all(*second));
    EXPECT_EQ(pong, "pong");
    accepted_first->reset();  // a reset
    EXPECT_FALSE(co_await read_all(*first));
    server.close();
    CO_TRY_VOID(co_await client.wait_over());
    EXPECT_FALSE(co_await client.open({}));
    co_return {};
}

TEST_F(Spdy, CarriesStreams) {
    auto [server, client] = pair();
    run(spdy_exchange(*server, *client));
}

Task<> pour(ByteStream& stream, std::size_t pieces, std::size_t& poured) {
    const std::string piece(10'000, 'x');
    for (; poured < pieces; ++poured) CO_TRY_VOID(co_await stream.write(piece));
    co_return co_await stream.end_writing();
}

TEST_F(Spdy, HoldsBackAWriterWhoseReaderIsSlow) {
    auto [server, client] = pair();
    const auto stream = run(client->open({})).value();
    const auto accepted = std::move(*run(server->accept()).value());
    Scope scope(loop);
    std::size_t poured = 0;
    scope.spawn(pour(*stream, 1000, poured));
    loop.advance(1s);
    EXPECT_GT(poured, 50u);
    EXPECT_LT(poured, 200u);
    EXPECT_EQ(run(read_all(*accepted)).value().size(), 10'000'000u);
    EXPECT_EQ(poured, 1000u);
    run(scope.close());
}

TEST_F(Spdy, EndsOnNonsense) {
    for (const std::string& input :
         {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\x80\x03\0\x01\x01\0\0\x0c", 8) + std::string(12, 'z'),
          std::string("\x80\x03\0\x01\0\xff\xff\xff", 8), std::string("\x80\x02\0\x06\0\0\0\x04\0\0\0\x01", 12)}) {
        auto [a, b] = make_memory_stream_pair();
        const auto server = SpdySession::over(loop, std::move(a), SpdySession::Role::Server);
        run(b->write(input));
        run(b->end_writing());
        EXPECT_FALSE(run(server->accept()).value());
    }
}

std::string spdy_control(char type, std::string_view payload) {
    std::string frame("\x80\x03\0", 3);
    frame += type;
    frame += std::string(3, '\0') + static_cast<char>(payload.size());
    return frame.append(payload);
}

std::string spdy_number(std::uint32_t number) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
    return bytes;
}

/// A stream of the client, opened and reset.
std::string short_stream(SpdyHeaderWriter& packer, std::uint32_t id) {
    return spdy_control(1, spdy_number(id) + std::string(6, '\0') + packer.write({})) + spdy_control(3, spdy_number(id) + spdy_number(5));
}

TEST_F(Spdy, EndsAPeerThatDoesNotReadTheAnswers) {
    SpdyHeaderWriter packer;
    std::uint32_t id = 1;
    struct {
        const char* name;
        std::function<std::string()> next;
    } const rows[] = {
        {"pings", [] { return spdy_control(6, spdy_number(7)); }},
        {"streams", [&] { return short_stream(packer, std::exchange(id, id + 2)); }},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        auto [a, b] = make_memory_stream_pair();
        const auto server = SpdySession::over(loop, std::move(a), SpdySession::Role::Server);
        EXPECT_GT(flooded(loop, *b, row.next), 100'000u);
        run(server->wait_over());
    }
}

TEST_F(Spdy, KeepsNoEndlessNumberOfStreamsForWhoDoesNotAcceptThem) {
    auto [a, b] = make_memory_stream_pair(100'000'000);
    const auto server = SpdySession::over(loop, std::move(a), SpdySession::Role::Server);
    SpdyHeaderWriter packer;
    for (std::uint32_t id = 1; id < 10'000; id += 2) run(b->write(short_stream(packer, id)));
    run(b->end_writing());
    loop.advance(1s);
    int accepted = 0;
    while (run(server->accept()).value()) ++accepted;
    EXPECT_EQ(accepted, 1000);
}

TEST_F(Spdy, EchoesAPing) {
    auto [a, b] = make_memory_stream_pair();
    const auto server = SpdySession::over(loop, std::move(a), SpdySession::Role::Server);
    const std::string ping("\x80\x03\0\x06\0\0\0\x04\0\0\0\x07", 12);
    run(b->write(ping));
    EXPECT_EQ(run(read_some(*b, 12)).value(), ping);
}

// Exec and port-forward, over a server's connections in memory.

/// A client whose every connection ends in a handler of ours. Speaks HTTP by hand, since HttpClient needs sockets.
struct Streaming : InMemory, HttpHandler {
    Scope scope{loop};
    HttpLimits limits;
    RemoteCommandOptions options{.input = true, .output = true, .errors = true};
    std::string chosen;  ///< protocol the server took
    bool forward = false;

    ~Streaming() override {
        loop.advance(1min);
        run(scope.close());
    }

    Task<> handle(HttpRequest request, HttpResponder& responder) override {
        if (forward && is_port_channels_request(request)) co_return co_await serve_channels(request, responder);
        if (forward) {
            CO_TRY(auto bytes, co_await accept_port_forward(loop, request, responder));
            co_return co_await serve_forward(std::move(bytes));
        }
        CO_TRY(const auto command, co_await accept_remote_command(loop, request, responder, options));
        co_return co_await run_command(*command);
    }

    /// Reads the head of an answer and hands over what follows it.
    Task<std::unique_ptr<ByteStream>> upgrade(std::string head) {
        auto [ours, theirs] = make_memory_stream_pair();
        scope.spawn(serve(std::move(theirs)));
        CO_TRY_VOID(co_await ours->write(head + "Host: x\r\nConnection: Upgrade\r\n\r\n"));
        answer.clear();
        while (!answer.ends_with("\r\n\r\n")) {
            char c = 0;
            CO_TRY(const std::size_t count, co_await ours->read({&c, 1}));
            if (count == 0) break;
            answer += c;
        }
        co_return std::move(ours);
    }
    std::string answer;

private:
    Task<> serve(std::unique_ptr<ByteStream> stream) { return serve_http1(loop, std::move(stream), {}, *this, limits, ""); }

    /// Echoes its input, tells its terminal's sizes, exits with 3.
    Task<> run_command(RemoteCommand& command) {
        if (command.resize) {
            CO_TRY(const std::string size, co_await read_some(*command.resize, 24));
            CO_TRY_VOID(co_await command.output->write("size " + size + "\n"));
        }
        if (command.input) {
            CO_TRY(const std::string input, co_await read_some(*command.input, 5));
            CO_TRY_VOID(co_await command.output->write("got " + input));
        }
        if (command.errors) CO_TRY_VOID(co_await command.errors->write("careful"));
        co_return co_await finish_remote_command(command, 3);
    }

    Task<> serve_channels(const HttpRequest& request, HttpResponder& responder) {
        auto [near, far] = make_memory_stream_pair();
        ChildTask serving(loop);
        serving.start(serve_forward(std::move(far)));
        PortForwardClient client(loop, std::move(near));
        auto served = co_await serve_port_channels(loop, request, responder, client);
        client.close();
        (void)co_await serving.join();
        co_return served;
    }

    Task<> serve_forward(std::unique_ptr<ByteStream> bytes) {
        PortForwardServer server(loop, std::move(bytes));
        for (;;) {
            CO_TRY(auto connection, co_await server.accept());
            if (!connection) co_return {};
            CO_TRY(const std::string request, co_await read_some(*connection->data, 4));
            CO_TRY_VOID(co_await connection->data->write(std::to_string(connection->port) + " " + request));
            CO_TRY_VOID(co_await connection->data->end_writing());
            CO_TRY_VOID(co_await connection->errors->end_writing());
        }
    }
};

constexpr char FailureThree[] =
    R"({"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: exit status 3","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}})";

Task<> exec_over_spdy(Streaming& test, std::string protocols, std::string chosen, std::string status) {
    CO_TRY(auto stream, co_await test.upgrade("POST /exec HTTP/1.1\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n" + protocols));
    EXPECT_TRUE(test.answer.starts_with("HTTP/1.1 101")) << test.answer;
    EXPECT_NE(test.answer.find(chosen), std::string::npos) << test.answer;
    const auto session = SpdySession::over(test.loop, std::move(stream), SpdySession::Role::Client);
    CO_TRY(const auto error, co_await session->open({{"streamtype", "error"}}));
    CO_TRY(const auto input, co_await session->open({{"streamtype", "stdin"}}));
    CO_TRY(const auto output, co_await session->open({{"streamtype", "stdout"}}));
    CO_TRY(const auto errors, co_await session->open({{"streamtype", "stderr"}}));
    CO_TRY_VOID(co_await input->write("hello"));
    EXPECT_EQ(co_await read_all(*output), "got hello");
    EXPECT_EQ(co_await read_all(*errors), "careful");
    EXPECT_EQ(co_await read_all(*error), status);
    co_return co_await session->wait_over();
}

TEST_F(Streaming, ExecOverSpdyTakesTheBestProtocolOffered) {
    run(exec_over_spdy(*this,
                       "X-Stream-Protocol-Version: v5.channel.k8s.io\r\nX-Stream-Protocol-Version: channel.k8s.io\r\n"
                       "X-Stream-Protocol-Version: v4.channel.k8s.io\r\n",
                       "x-stream-protocol-version: v4.channel.k8s.io\r\n", FailureThree));
}

TEST_F(Streaming, ExecOverSpdyServesTheOldestClients) {
    run(exec_over_spdy(*this, "", "upgrade: SPDY/3.1", "command terminated with non-zero exit code: exit status 3"));
}

/// A pair of ends of one exec connection, in memory.
struct MemoryCommand final : RemoteCommand {
    Event over;
    int spoken = 4;
    int version() const override { return spoken; }
    void close() override { over.set(); }
    Task<> wait_over() override { return over.wait(); }

    static void connect(MemoryCommand& server, MemoryCommand& client) {
        for (auto member : {&RemoteCommand::input, &RemoteCommand::output, &RemoteCommand::errors, &RemoteCommand::status}) {
            std::tie(server.*member, client.*member) = make_memory_stream_pair();
        }
    }
};

struct Bridge : InMemory {
    MemoryCommand user, front, back, runtime;
    Scope scope{loop};
    Bridge() {
        MemoryCommand::connect(front, user);
        MemoryCommand::connect(runtime, back);
        scope.spawn(bridge_remote_commands(loop, front, back));
    }
    ~Bridge() override { run(scope.close()); }
};

TEST_F(Bridge, CarriesACommandToItsEnd) {
    run(user.input->write("to the command"));
    EXPECT_EQ(run(read_some(*runtime.input, 14)).value(), "to the command");
    run(runtime.output->write("output"));
    run(finish_remote_command(runtime, 3));
    EXPECT_EQ(run(read_all(*user.output)).value(), "output");
    EXPECT_EQ(run(read_all(*user.errors)).value(), "");
    EXPECT_EQ(parse_remote_command_status(4, run(read_all(*user.status)).value()).value(), 3);
    loop.run_ready();
    EXPECT_TRUE(scope.empty());
    EXPECT_TRUE(front.over.is_set() && back.over.is_set());
}

TEST_F(Bridge, GivesAnOlderClientTheStatusThatItUnderstands) {
    front.spoken = 1;
    run(finish_remote_command(runtime, 0));
    EXPECT_EQ(run(read_all(*user.status)).value(), "") << "any text would be a failure";
}

TEST_F(Bridge, GivesAnOlderClientTheFailureAsText) {
    front.spoken = 1;
    run(finish_remote_command(runtime, 3));
    EXPECT_EQ(run(read_all(*user.status)).value(), "command terminated with non-zero exit code: exit status 3");
}

TEST_F(Bridge, TellsTheUserWhenTheRuntimeIsLost) {
    runtime.output.reset();
    runtime.errors.reset();
    runtime.status.reset();
    EXPECT_EQ(parse_remote_command_status(4, run(read_all(*user.status)).value()).error().message,
              "lost the connection to the container runtime");
}

TEST_F(Bridge, DropsTheRuntimeWhenTheUserLeaves) {
    front.over.set();
    loop.run_ready();
    EXPECT_TRUE(scope.empty());
    EXPECT_TRUE(back.over.is_set());
}

Task<std::string> messages_until_end(WebSocket& socket) {
    std::string all;
    for (;;) {
        CO_TRY(const auto message, co_await socket.receive());
        if (!message) co_return all;
        const auto channel = static_cast<unsigned char>(message->data[0]);
        all += "[" + (channel < 10 ? std::to_string(channel) : message->data.substr(0, 1)) + ":" + message->data.substr(1) + "]";
    }
}

Task<std::unique_ptr<WebSocket>> websocket(Streaming& test, std::string protocol, std::string target = "/exec") {
    CO_TRY(auto stream, co_await test.upgrade("GET " + target +
                                              " HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                                              "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: other, " +
                                              protocol + "\r\n"));
    EXPECT_NE(test.answer.find("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), std::string::npos) << test.answer;
    EXPECT_NE(test.answer.find("sec-websocket-protocol: " + protocol + "\r\n"), std::string::npos) << test.answer;
    co_return WebSocket::over(test.loop, std::move(stream), WebSocket::Role::Client, protocol);
}

Task<> exec_over_websocket(Streaming& test) {
    CO_TRY(const auto socket, co_await websocket(test, "v5.channel.k8s.io"));
    CO_TRY_VOID(co_await socket->send({std::string("\4{\"Width\":80,\"Height\":24}x", 26)}));
    CO_TRY_VOID(co_await socket->send({std::string("\0hel", 4)}));
    CO_TRY_VOID(co_await socket->send({std::string("\xff\0", 2)}));
    CO_TRY(const std::string all, co_await messages_until_end(*socket));
    EXPECT_EQ(all, "[1:][1:size {\"Width\":80,\"Height\":24}\n][1:got hel][3:" + std::string(FailureThree) + "]");
    co_return {};
}

TEST_F(Streaming, ExecOverWebSocketWithATerminalAndAnEndOfInput) {
    options.tty = true;
    run(exec_over_websocket(*this));
}

Task<> exec_over_base64(Streaming& test) {
    CO_TRY(const auto socket, co_await websocket(test, "v4.base64.channel.k8s.io"));
    CO_TRY_VOID(co_await socket->send({"0aGVsbG8=", false}));
    CO_TRY(const std::string all, co_await messages_until_end(*socket));
    EXPECT_TRUE(all.starts_with("[1:][1:Z290IGhlbGxv][2:Y2FyZWZ1bA==][3:")) << all;
    co_return {};
}

TEST_F(Streaming, ExecOverWebSocketInBase64) { run(exec_over_base64(*this)); }

Task<> refused(Streaming& test, std::string head, std::string answer) {
    CO_TRY_VOID(co_await test.upgrade(head));
    EXPECT_TRUE(test.answer.starts_with(answer)) << test.answer;
    co_return {};
}

TEST_F(Streaming, RefusesWhatIsNoUpgrade) {
    run(refused(*this, "GET /exec HTTP/1.1\r\n", "HTTP/1.1 400"));
    run(refused(*this, "POST /exec HTTP/1.1\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v9\r\nContent-Length: 0\r\n",
                "HTTP/1.1 403"));
    run(refused(*this,
                "GET /exec HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: a\r\n"
                "Sec-WebSocket-Protocol: v9\r\n",
                "HTTP/1.1 400"));
    options = {};
    run(refused(*this, "POST /exec HTTP/1.1\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n", "HTTP/1.1 400"));
}

Task<> forward_twice(Streaming& test, std::unique_ptr<ByteStream> bytes) {
    PortForwardClient client(test.loop, std::move(bytes));
    CO_TRY(const auto one, co_await client.open(80));
    CO_TRY(const auto two, co_await client.open(8080));
    CO_TRY_VOID(co_await two.data->write("abcd"));
    CO_TRY_VOID(co_await one.data->write("efgh"));
    EXPECT_EQ(co_await read_all(*one.data), "80 efgh");
    EXPECT_EQ(co_await read_all(*two.data), "8080 abcd");
    EXPECT_EQ(co_await read_all(*two.errors), "");
    client.close();
    co_return {};
}

Task<> forward_over_spdy(Streaming& test) {
    CO_TRY(auto stream, co_await test.upgrade("POST /pf HTTP/1.1\r\nUpgrade: SPDY/3.1\r\nContent-Length: "
                                              "0\r\nX-Stream-Protocol-Version: portforward.k8s.io\r\n"));
    co_return co_await forward_twice(test, std::move(stream));
}

TEST_F(Streaming, PortForwardOverSpdy) {
    forward = true;
    run(forward_over_spdy(*this));
}

Task<> forward_over_websocket(Streaming& test) {
    CO_TRY(auto socket, co_await websocket(test, "SPDY/3.1+portforward.k8s.io"));
    co_return co_await forward_twice(test, tunnel_stream(std::move(socket)));
}

TEST_F(Streaming, PortForwardTunnelledInAWebSocket) {
    forward = true;
    run(forward_over_websocket(*this));
}

Task<> forward_in_channels(Streaming& test) {
    CO_TRY(const auto socket, co_await websocket(test, "v4.channel.k8s.io", "/pf?port=80,8080"));
    CO_TRY_VOID(co_await socket->send({"\2abcd"}));
    CO_TRY_VOID(co_await socket->send({std::string("\0efgh", 5)}));
    CO_TRY(const std::string all, co_await messages_until_end(*socket));
    const std::string first("P\0", 2), second("\x90\x1f", 2);
    EXPECT_EQ(all, "[0:" + first + "][1:" + first + "][2:" + second + "][3:" + second + "][0:80 efgh][2:8080 abcd]");
    co_return {};
}

TEST_F(Streaming, PortForwardInChannelsOfAWebSocket) {
    forward = true;
    run(forward_in_channels(*this));
}

TEST_F(Streaming, PortForwardInChannelsRefusesWhatIsNoPort) {
    forward = true;
    for (const std::string target : {"/pf", "/pf?port=0", "/pf?port=80,", "/pf?port=65536", "/pf?port=web"}) {
        run(refused(*this,
                    "GET " + target +
                        " HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                        "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n",
                    "HTTP/1.1 400"));
    }
}

TEST(RemoteCommandStatus, IsReadThroughEscapes) {
    EXPECT_EQ(parse_remote_command_status(4, R"({"metadata":{},"status":"Failure","message":"exec: \"\u003ca\u003e\" failed","code":500})")
                  .error()
                  .message,
              "exec: \"<a>\" failed");
}

TEST(RemoteCommandStatus, IsReadBack) {
    for (const int version : {4, 5}) {
        EXPECT_EQ(parse_remote_command_status(version, remote_command_status(version, 0)).value(), 0);
        EXPECT_EQ(parse_remote_command_status(version, remote_command_status(version, 137)).value(), 137);
        EXPECT_EQ(parse_remote_command_status(version, remote_command_status(version, Error(Reason::NotFound, "no such container")))
                      .error()
                      .message,
                  "no such container");
        EXPECT_EQ(parse_remote_command_status(version, "").error().reason, Reason::Unavailable);
    }
    EXPECT_EQ(parse_remote_command_status(1, "").value(), 0);
}

// Relay

TEST_F(InMemory, RelayPassesEndsOn) {
    auto [a, a_far] = make_memory_stream_pair();
    auto [b, b_far] = make_memory_stream_pair();
    Scope scope(loop);
    scope.spawn(relay(loop, *a, *b));
    run(a_far->write("request"));
    run(a_far->end_writing());
    EXPECT_EQ(run(read_all(*b_far)).value(), "request");
    run(b_far->write("answer"));
    run(b_far->end_writing());
    EXPECT_EQ(run(read_all(*a_far)).value(), "answer");
    loop.run_ready();
    EXPECT_TRUE(scope.empty());
}

}  // namespace
}  // namespace porthole::net
