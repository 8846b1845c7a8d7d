#pragma once
#include "apiserver/handlers/request_context.h"
#include "net/child_task.h"
#include "net/streams/websocket.h"

namespace porthole::apiserver {

/// The output of a watch over a WebSocket: each event is a message, text or binary depending on the encoding. Lives on the loop of the
/// request, which outlives it.
class EventMessages final : public net::HttpResponder {
public:
    EventMessages(RequestContext& context, EventLoop& loop) : context_(context), loop_(loop) {}

    /// Runs `watch`, which writes to this object, until it ends or the client closes; then closes. Error: why the watch was refused, before
    /// any answer, or why the connection failed.
    Task<> carry(Task<> watch);

    Task<> respond(int code, net::Headers headers, std::vector<net::Bytes> body) override;
    /// Answers the handshake. Error: BadRequest.
    Task<> start(int code, net::Headers headers) override;
    /// `chunk` is the next part of events in the form of a stream.
    Task<> write(net::Bytes chunk) override;
    Task<> finish(net::Headers trailers) override;
    Task<std::unique_ptr<net::ByteStream>> upgrade(net::Headers headers) override;
    bool started() const override { return context_.responder.started(); }

private:
    Task<> receive_until_closed();

    RequestContext& context_;
    EventLoop& loop_;
    Event opened_;
    std::unique_ptr<net::WebSocket> socket_;  ///< null before the handshake
    bool is_text_ = true;
    std::string unsent_;  ///< the beginning of an event
};

}  // namespace porthole::apiserver
