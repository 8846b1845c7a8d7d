#include "net/streams/channel_socket.h"

#include <tuple>

#include "base/base64.h"
#include "net/memory_stream.h"

namespace porthole::net {
namespace {

constexpr unsigned char EndChannel = 255;
constexpr std::size_t LargestPiece = 32 << 10;

}  // namespace

class ChannelSocket::Channel final : public ByteStream {
public:
    Channel(std::shared_ptr<ChannelSocket> socket, std::size_t number, std::unique_ptr<ByteStream> source)
        : socket_(std::move(socket)), number_(number), source_(std::move(source)) {}
    Task<std::size_t> read(std::span<char> buffer) override {
        if (!source_) return not_readable();
        return source_->read(buffer);
    }
    Task<> write(std::string_view bytes) override { return ChannelSocket::write(socket_, number_, bytes); }
    Task<> end_writing() override { return ChannelSocket::end(socket_, number_); }
    void close() override {
        if (source_) source_->close();
    }

private:
    static Task<std::size_t> not_readable() { co_return Error(Reason::Unavailable, "this channel is only written to"); }

    std::shared_ptr<ChannelSocket> socket_;
    std::size_t number_;
    std::unique_ptr<ByteStream> source_;
};

ChannelSocket::ChannelSocket(EventLoop& loop, std::unique_ptr<WebSocket> socket, WebSocket::Role role, std::size_t channels)
    : loop_(loop),
      socket_(std::move(socket)),
      is_base64_(socket_->protocol().find("base64") != std::string::npos),
      can_end_channels_(socket_->protocol().starts_with("v5.") && role == WebSocket::Role::Client),
      sinks_(channels),
      sources_(channels) {
    for (std::size_t i = 0; i < channels; ++i) std::tie(sinks_[i], sources_[i]) = make_memory_stream_pair();
}

std::shared_ptr<ChannelSocket> ChannelSocket::start(EventLoop& loop, std::unique_ptr<WebSocket> socket, WebSocket::Role role,
                                                    std::size_t channels) {
    auto self = std::make_shared<ChannelSocket>(loop, std::move(socket), role, channels);
    self->distributing_.start(self->distribute(), [self]() mutable {
        EventLoop& loop = self->loop_;
        loop.post([self = std::move(self)] {});  // the last reference must not go within its own task
    });
    return self;
}

std::unique_ptr<ByteStream> ChannelSocket::channel(std::size_t channel, bool readable) {
    auto source = readable ? std::move(sources_[channel]) : nullptr;
    return std::make_unique<Channel>(shared_from_this(), channel, std::move(source));
}

void ChannelSocket::discard_others() {
    for (auto& source : sources_) source.reset();
}

Task<> ChannelSocket::distribute() {
    Result<void> result;
    while (result) {
        auto message = co_await socket_->receive();
        if (!message || !*message) break;
        result = co_await deliver(std::move(**message));
    }
    over_ = true;
    socket_.reset();
    for (auto& sink : sinks_) sink.reset();
    ended_.set();
    co_return std::move(result);
}

Task<> ChannelSocket::deliver(WebSocketMessage message) {
    std::string_view bytes = message.data;
    if (bytes.empty()) co_return {};
    std::size_t channel = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if (channel == EndChannel && !is_base64_) {
        const std::size_t ended = bytes.empty() ? sinks_.size() : static_cast<unsigned char>(bytes.front());
        if (ended < sinks_.size()) CO_TRY_VOID(co_await sinks_[ended]->end_writing());
        co_return {};
    }
    std::string decoded;
    if (is_base64_) {
        channel -= '0';
        CO_TRY(decoded, decode_base64(bytes));
        bytes = decoded;
    }
    if (channel >= sinks_.size()) co_return {};
    (void)co_await sinks_[channel]->write(bytes);  // nobody may be reading it any more
    co_return {};
}

std::string ChannelSocket::encode(std::size_t channel, std::string_view bytes) const {
    if (is_base64_) return std::to_string(channel) + encode_base64(bytes);
    return std::string(1, static_cast<char>(channel)).append(bytes);
}

Task<> ChannelSocket::write(std::shared_ptr<ChannelSocket> self, std::size_t channel, std::string_view bytes) {
    do {  // also for no bytes at all: the empty message says that the connection stands
        if (self->over_) co_return Error(Reason::Unavailable, "WebSocket closed");
        const std::string_view piece = bytes.substr(0, LargestPiece);
        CO_TRY_VOID(co_await self->socket_->send({self->encode(channel, piece), !self->is_base64_}));
        bytes.remove_prefix(piece.size());
    } while (!bytes.empty());
    co_return {};
}

Task<> ChannelSocket::end(std::shared_ptr<ChannelSocket> self, std::size_t channel) {
    if (!self->can_end_channels_ || self->over_) co_return {};
    const std::string message{static_cast<char>(EndChannel), static_cast<char>(channel)};
    co_return co_await self->socket_->send({message, true});
}

void ChannelSocket::close() {
    constexpr std::uint16_t NormalClosure = 1000;
    if (socket_) socket_->close(NormalClosure, "");
}

void ChannelSocket::shut_down() { distributing_.cancel(); }

Task<> ChannelSocket::wait_over(std::shared_ptr<ChannelSocket> self) {
    while (!self->over_) CO_TRY_VOID(co_await self->ended_.wait());
    co_return {};
}

}  // namespace porthole::net
