#pragma once
#include "net/http/http.h"
#include "runtime/event_loop.h"

namespace porthole::net {

/// Hands requests from the loop of their connections to the loop of their handler, and the answers back. A complete answer is sent when the
/// handler has ended. Each step of a streamed answer, and of reading a body that did not arrive with the head, waits for the connection.
///
/// Used on the connections' loop. Both loops and the handler must outlive it.
class ForwardedHandler final : public HttpHandler {
public:
    ForwardedHandler(EventLoop& connections, EventLoop& home, HttpHandler& handler)
        : connections_(connections), home_(home), handler_(handler) {}

    Task<> handle(HttpRequest request, HttpResponder& responder) override;

private:
    EventLoop& connections_;
    EventLoop& home_;
    HttpHandler& handler_;
};

}  // namespace porthole::net
