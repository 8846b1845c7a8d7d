#pragma once
#include "net/http/http.h"
#include "runtime/event_loop.h"

namespace porthole::net {

/// Carries requests from the loop of their connections to that of their handler, and the answers back. A whole answer is sent when its
/// handler has ended; what is streamed, or read of a body that had not come with the head, waits for the connection at each step.
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
