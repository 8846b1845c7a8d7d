#pragma once  // private to this folder
#include <vector>

#include "net/child_task.h"
#include "net/streams/websocket.h"

namespace porthole::net {

/// Several streams in the messages of one WebSocket: a message's first byte (or digit, in the base64 variants) is the
/// number of its channel. Protocols channel.k8s.io, v4 and v5; with v5 a client can end a channel by itself, otherwise they end only
/// all together. Owns the WebSocket; its own task and the channels keep it alive, so it is used through the shared pointer of start().
class ChannelSocket : public std::enable_shared_from_this<ChannelSocket> {
public:
    static std::shared_ptr<ChannelSocket> start(EventLoop& loop, std::unique_ptr<WebSocket> socket, WebSocket::Role role,
                                                std::size_t channels);
    ChannelSocket(EventLoop& loop, std::unique_ptr<WebSocket> socket, WebSocket::Role role, std::size_t channels);

    /// Requires: channel < the number given to start(). What comes in for channels that were not made readable is discarded.
    std::unique_ptr<ByteStream> channel(std::size_t channel, bool readable);
    /// After the last channel(). Discards what comes in for channels that were not asked for.
    void discard_others();
    /// Begins to close in good order, as WebSocket::close().
    void close();
    /// Drops the connection; its task ends at a later turn of the loop.
    void shut_down();
    /// Waits until the connection is over. Error: Cancelled.
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
