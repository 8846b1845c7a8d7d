#pragma once  // private to this folder
#include <vector>

#include "net/child_task.h"
#include "net/streams/websocket.h"

namespace porthole::net {

/// Several streams in the messages of one WebSocket: a message's first byte (or digit, in the base64 variants) is the number of its
/// channel. Protocols channel.k8s.io, v4 and v5. With v5 a client can end a single channel, otherwise all end together.
///
/// Owns the WebSocket. Its own task and the channels keep it alive, so it is used through the shared pointer of start().
class ChannelSocket : public std::enable_shared_from_this<ChannelSocket> {
public:
    static std::shared_ptr<ChannelSocket> start(EventLoop& loop, std::unique_ptr<WebSocket> socket, WebSocket::Role role,
                                                std::size_t channels);
    ChannelSocket(EventLoop& loop, std::unique_ptr<WebSocket> socket, WebSocket::Role role, std::size_t channels);

    /// Requires: channel < the number given to start(). Input for channels that were not requested as readable is discarded.
    std::unique_ptr<ByteStream> channel(std::size_t channel, bool readable);
    /// Called after the last channel(). Discards input for channels that were not requested.
    void discard_others();
    /// Begins an orderly close, as WebSocket::close().
    void close();
    /// Drops the connection; its task ends in a later turn of the loop.
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
    std::unique_ptr<WebSocket> socket_;  ///< null if over
    const bool is_base64_, can_end_channels_;
    /// Where the input of each channel is written; the other ends are in the streams.
    std::vector<std::unique_ptr<ByteStream>> sinks_, sources_;
    bool over_ = false;
    ChildTask distributing_{loop_};
    Event ended_;
};

}  // namespace porthole::net
