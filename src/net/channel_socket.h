#pragma once  // private to this folder
#include <vector>

#include "net/child_task.h"
#include "net/websocket.h"

namespace porthole::net {

/// Several streams in the messages of one WebSocket: a message's first byte (or digit, in the base64 variants) is the
/// number of its channel. Protocols channel.k8s.io, v4 and v5; from v5 a channel can be ended by itself, before only
/// all together.
class ChannelSocket : public std::enable_shared_from_this<ChannelSocket> {
public:
    static std::shared_ptr<ChannelSocket> start(EventLoop& loop, std::unique_ptr<WebSocket> socket, WebSocket::Role role,
                                                std::size_t channels);
    ChannelSocket(EventLoop& loop, std::unique_ptr<WebSocket> socket, WebSocket::Role role, std::size_t channels);

    /// Requires: channel < the number given to start(). What comes in for channels that were not made readable is discarded.
    std::unique_ptr<ByteStream> channel(std::size_t channel, bool readable);
    /// After the last channel().
    void discard_others();
    void close();
    void shut_down();
    static Task<> wait_over(std::shared_ptr<ChannelSocket> self);

private:
    class Channel;

    Task<> distribute();
    Task<> deliver(WebSocketMessage message);
    static Task<> write(std::shared_ptr<ChannelSocket> self, std::size_t channel, std::string_view bytes);
    static Task<> end(std::shared_ptr<ChannelSocket> self, std::size_t channel);
    std::string encode(std::size_t channel, std::string_view bytes) const;

    EventLoop& loop_;
    std::unique_ptr<WebSocket> socket_;  ///< null when over
    const bool is_base64_, can_end_channels_;
    /// Where what comes in for each channel goes; the other ends are in the streams.
    std::vector<std::unique_ptr<ByteStream>> sinks_, sources_;
    bool over_ = false;
    ChildTask distributing_{loop_};
    Event ended_;
};

}  // namespace porthole::net
