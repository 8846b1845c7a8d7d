#include "net/streams/websocket.h"

#include <openssl/sha.h>
#include <wslay/wslay.h>

#include <algorithm>
#include <deque>

#include "base/base64.h"
#include "base/strings.h"
#include "net/streams/framed_connection.h"
#include "runtime/random.h"

namespace porthole::net {
namespace {

constexpr std::size_t LargestWebSocketInbox = 1 << 20;  ///< bytes of messages not received yet before reading stops
constexpr std::size_t MostFragments = 16 << 10;         ///< of a message: wslay keeps each in blocks of its own
constexpr std::size_t LargestPongBacklog = 4 << 20;     ///< bytes of pongs (and what else waits) for a peer that does not read

/// wslay does the framing; it pulls from input_ and its output goes to the connection's writer.
class WebSocketConnection final : public FramedConnection {
public:
    WebSocketConnection(EventLoop& loop, std::unique_ptr<ByteStream> stream, WebSocket::Role role)
        : FramedConnection(loop, std::move(stream)) {
        const wslay_event_callbacks callbacks{take_input, put_output, make_mask, frame_started, nullptr, nullptr, message_received};
        const auto init = role == WebSocket::Role::Server ? wslay_event_context_server_init : wslay_event_context_client_init;
        CHECK(init(&wslay_, &callbacks, this) == 0);
        wslay_event_config_set_max_recv_msg_length(wslay_, WebSocket::LargestMessage);
    }
    ~WebSocketConnection() override { wslay_event_context_free(wslay_); }

    // Static, to hold the connection while they wait.
    static Task<std::optional<WebSocketMessage>> receive(std::shared_ptr<WebSocketConnection> self) {
        while (self->inbox_.empty() && !self->over() && !self->closed_) {
            self->changed_.reset();
            CO_TRY_VOID(co_await self->changed_.wait());
        }
        if (self->inbox_.empty()) {
            if (!self->closed_) co_return self->why_;
            co_return std::optional<WebSocketMessage>();
        }
        WebSocketMessage message = std::move(self->inbox_.front());
        self->inbox_.pop_front();
        self->inbox_size_ -= size_of(message);
        self->input_wanted();
        co_return std::optional(std::move(message));
    }

    static Task<> send(std::shared_ptr<WebSocketConnection> self, WebSocketMessage message) {
        const std::uint8_t opcode = message.binary ? WSLAY_BINARY_FRAME : WSLAY_TEXT_FRAME;
        if (self->over() || !self->queue(opcode, message.data)) co_return Error(Reason::Unavailable, "WebSocket closed");
        co_return co_await self->wait_for_room();
    }

    void ping() { (void)queue(WSLAY_PING, ""); }

    void close(std::uint16_t code, std::string_view reason) {
        constexpr std::size_t LongestReason = 123;
        reason = reason.substr(0, LongestReason);
        wslay_event_queue_close(wslay_, code, reinterpret_cast<const std::uint8_t*>(reason.data()), reason.size());
        wslay_event_send(wslay_);
        end_after_output();
    }

private:
    /// In memory: an empty message takes room, too.
    static std::size_t size_of(const WebSocketMessage& message) { return sizeof message + message.data.size(); }
    static WebSocketConnection& self_of(void* user) { return *static_cast<WebSocketConnection*>(user); }

    static ssize_t take_input(wslay_event_context_ptr context, std::uint8_t* buffer, std::size_t size, int, void* user) {
        std::string_view& input = self_of(user).input_;
        if (input.empty()) {
            wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
            return -1;
        }
        const std::size_t count = std::min(size, input.size());
        std::copy_n(input.begin(), count, buffer);
        input.remove_prefix(count);
        return static_cast<ssize_t>(count);
    }

    static ssize_t put_output(wslay_event_context_ptr, const std::uint8_t* data, std::size_t size, int, void* user) {
        self_of(user).add_output({reinterpret_cast<const char*>(data), size});
        return static_cast<ssize_t>(size);
    }

    static int make_mask(wslay_event_context_ptr, std::uint8_t* buffer, std::size_t size, void*) {
        std::ranges::copy(SystemRandom().bytes(size), buffer);
        return 0;
    }

    static void frame_started(wslay_event_context_ptr, const wslay_event_on_frame_recv_start_arg* frame, void* user) {
        if (!wslay_is_ctrl_frame(frame->opcode)) ++self_of(user).fragments_;
    }

    static void message_received(wslay_event_context_ptr, const wslay_event_on_msg_recv_arg* message, void* user) {
        if (wslay_is_ctrl_frame(message->opcode)) return;  // wslay has answered it
        WebSocketConnection& self = self_of(user);
        self.fragments_ = 0;
        self.inbox_.push_back(
            {std::string(reinterpret_cast<const char*>(message->msg), message->msg_length), message->opcode == WSLAY_BINARY_FRAME});
        self.inbox_size_ += size_of(self.inbox_.back());
        self.changed_.set();
    }

    bool queue(std::uint8_t opcode, std::string_view data) {
        const wslay_event_msg message{opcode, reinterpret_cast<const std::uint8_t*>(data.data()), data.size()};
        return wslay_event_queue_msg(wslay_, &message) == 0 && wslay_event_send(wslay_) == 0;
    }

    Result<void> on_bytes(std::string_view bytes) override {
        input_ = bytes;
        const int failed = wslay_event_recv(wslay_);
        wslay_event_send(wslay_);  // pongs, the answer to a close
        if (backlog() > LargestPongBacklog) return Error(Reason::Unavailable, "WebSocket: too many unread answers");
        if (failed) return Error(Reason::Unavailable, "WebSocket: protocol error");
        if (fragments_ > MostFragments) return Error(Reason::Unavailable, "WebSocket: too many fragments of a message");
        if (wslay_event_get_close_received(wslay_)) {
            const int code = wslay_event_get_status_code_received(wslay_);
            closed_ = code == WSLAY_CODE_NORMAL_CLOSURE || code == WSLAY_CODE_GOING_AWAY || code == WSLAY_CODE_NO_STATUS_RCVD || code == 0;
            return Error(Reason::Unavailable, "WebSocket closed by the peer with code " + std::to_string(code));
        }
        if (!wslay_event_get_read_enabled(wslay_)) return Error(Reason::Unavailable, "WebSocket: protocol error");
        return {};
    }
    void on_over(const Error& why) override {
        why_ = Error(Reason::Unavailable, why.message);
        changed_.set();
    }
    bool wants_input() const override { return inbox_size_ < LargestWebSocketInbox; }

    wslay_event_context_ptr wslay_ = nullptr;
    std::string_view input_;
    std::deque<WebSocketMessage> inbox_;
    std::size_t inbox_size_ = 0;
    std::size_t fragments_ = 0;  ///< of the message that is being received
    bool closed_ = false;        ///< by the peer, in good order
    Error why_;
    Event changed_;
};

class WebSocketHandle final : public WebSocket {
public:
    WebSocketHandle(std::shared_ptr<WebSocketConnection> connection, std::string protocol)
        : connection_(std::move(connection)), protocol_(std::move(protocol)) {}
    ~WebSocketHandle() override {
        if (!closing_) connection_->shut_down();
    }
    const std::string& protocol() const override { return protocol_; }
    Task<std::optional<WebSocketMessage>> receive() override { return WebSocketConnection::receive(connection_); }
    Task<> send(WebSocketMessage message) override { return WebSocketConnection::send(connection_, std::move(message)); }
    void ping() override { connection_->ping(); }
    void close(std::uint16_t code, std::string_view reason) override {
        if (!std::exchange(closing_, true)) connection_->close(code, reason);
    }

private:
    std::shared_ptr<WebSocketConnection> connection_;
    std::string protocol_;
    bool closing_ = false;
};

/// The proof that a server has understood the handshake (RFC 6455, section 4.2.2).
std::string accept_token(std::string_view key) {
    const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    unsigned char digest[SHA_DIGEST_LENGTH];
    SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
    return encode_base64({reinterpret_cast<const char*>(digest), sizeof digest});
}

Result<std::string> choose_protocol(const HttpRequest& request, const std::vector<std::string>& protocols) {
    const auto offered = header_words(request.headers, "sec-websocket-protocol");
    for (const std::string& protocol : offered) {
        if (std::ranges::find(protocols, protocol) != protocols.end()) return protocol;
    }
    if (protocols.empty() || (offered.empty() && std::ranges::find(protocols, "") != protocols.end())) return std::string();
    return Error(Reason::BadRequest, "none of the WebSocket subprotocols offered is supported");
}

/// Shared with the tasks that wait in it, so that the stream may go meanwhile.
struct Tunnel {
    std::unique_ptr<WebSocket> socket;  ///< null once closed
    std::string rest;                   ///< of the last message
};

Task<std::size_t> read_tunnel(std::shared_ptr<Tunnel> tunnel, std::span<char> buffer) {
    while (tunnel->rest.empty()) {
        if (!tunnel->socket) co_return Error(Reason::Unavailable, "connection closed");
        CO_TRY(auto message, co_await tunnel->socket->receive());
        if (!message) co_return std::size_t(0);
        tunnel->rest = std::move(message->data);
    }
    const std::size_t count = std::min(buffer.size(), tunnel->rest.size());
    std::copy_n(tunnel->rest.begin(), count, buffer.begin());
    tunnel->rest.erase(0, count);
    co_return count;
}

Task<> write_tunnel(std::shared_ptr<Tunnel> tunnel, std::string_view bytes) {
    if (!tunnel->socket) co_return Error(Reason::Unavailable, "connection closed");
    co_return co_await tunnel->socket->send({std::string(bytes), true});
}

Task<> end_tunnel(std::shared_ptr<Tunnel> tunnel) {
    constexpr std::uint16_t NormalClosure = 1000;
    if (tunnel->socket) tunnel->socket->close(NormalClosure, "");
    co_return {};
}

class TunnelStream final : public ByteStream {
public:
    explicit TunnelStream(std::unique_ptr<WebSocket> socket) : tunnel_(std::make_shared<Tunnel>(std::move(socket))) {}
    ~TunnelStream() override { close(); }
    Task<std::size_t> read(std::span<char> buffer) override { return read_tunnel(tunnel_, buffer); }
    Task<> write(std::string_view bytes) override { return write_tunnel(tunnel_, bytes); }
    Task<> end_writing() override { return end_tunnel(tunnel_); }
    void close() override { tunnel_->socket.reset(); }

private:
    std::shared_ptr<Tunnel> tunnel_;
};

}  // namespace

std::vector<std::string> header_words(const Headers& headers, std::string_view name) {
    std::vector<std::string> words;
    for (const std::string_view line : headers.all(name)) {
        for (const std::string_view part : split_views(line, ',')) {
            if (const std::string_view word = trim(part, " \t"); !word.empty()) words.emplace_back(word);
        }
    }
    return words;
}

bool header_has_word(const Headers& headers, std::string_view name, std::string_view word) {
    return std::ranges::any_of(header_words(headers, name), [&](const std::string& found) { return equal_ignoring_case(found, word); });
}

std::unique_ptr<WebSocket> WebSocket::over(EventLoop& loop, std::unique_ptr<ByteStream> stream, Role role, std::string protocol) {
    auto connection = std::make_shared<WebSocketConnection>(loop, std::move(stream), role);
    connection->start();
    return std::make_unique<WebSocketHandle>(std::move(connection), std::move(protocol));
}

bool is_websocket_request(const HttpRequest& request) {
    return header_has_word(request.headers, "upgrade", "websocket") && header_has_word(request.headers, "connection", "upgrade");
}

Task<std::unique_ptr<WebSocket>> accept_websocket(EventLoop& loop, const HttpRequest& request, HttpResponder& responder,
                                                  std::vector<std::string> protocols) {
    const std::string_view key = request.headers.get("sec-websocket-key");
    if (!is_websocket_request(request) || request.method != "GET") co_return Error(Reason::BadRequest, "not a WebSocket handshake");
    if (key.empty() || request.headers.get("sec-websocket-version") != "13") {
        co_return Error(Reason::BadRequest, "the WebSocket handshake needs a key and version 13");
    }
    CO_TRY(std::string protocol, choose_protocol(request, protocols));
    Headers headers{{"connection", "Upgrade"}, {"upgrade", "websocket"}, {"sec-websocket-accept", accept_token(key)}};
    if (!protocol.empty()) headers.add("sec-websocket-protocol", protocol);
    CO_TRY(auto stream, co_await responder.upgrade(std::move(headers)));
    co_return WebSocket::over(loop, std::move(stream), WebSocket::Role::Server, std::move(protocol));
}

std::unique_ptr<ByteStream> tunnel_stream(std::unique_ptr<WebSocket> socket) { return std::make_unique<TunnelStream>(std::move(socket)); }

}  // namespace porthole::net
