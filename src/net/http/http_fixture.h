#pragma once
#include <memory>
#include <string>

#include "net/http/http_connection.h"
#include "runtime/event_loop.h"
#include "runtime/sync.h"

namespace porthole::net {

inline Bytes bytes(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

/// serve_connection() without TLS. The tests of servers are linked twice: with a connection that calls `handler` directly, and with one
/// that forwards requests to it as to another loop. The tests describe the behavior of both.
Task<> serve_test_connection(EventLoop& loop, std::unique_ptr<ByteStream> stream, Peer peer, HttpHandler& handler,
                             const HttpLimits& limits);

/// A handler for tests of servers: counts how its tasks ended, and answers by path. A test overrides answer() for its own paths.
class TestHandler : public HttpHandler {
public:
    explicit TestHandler(EventLoop& loop) : loop_(loop) {}

    Task<> handle(HttpRequest request, HttpResponder& responder) final {
        ++begun;
        auto result = co_await answer(std::move(request), responder);
        if (is_cancelled(result)) {
            ++cancelled;
            was_cancelled.set();
        }
        co_return std::move(result);
    }

    int begun = 0, cancelled = 0;
    Event was_cancelled;

protected:
    /// /hang answers after an hour, /who names the peer, /fail and /refuse fail, everything else is repeated: "POST /a?b body".
    virtual Task<> answer(HttpRequest request, HttpResponder& responder) {
        if (request.path == "/hang") CO_TRY_VOID(co_await loop_.sleep(std::chrono::hours(1)));
        if (request.path == "/who") {
            const std::string who = request.peer.certificate ? request.peer.certificate->common_name : request.peer.certificate_error;
            co_return co_await responder.respond(200, {}, {bytes(who)});
        }
        if (request.path == "/fail") co_return Error(Reason::Conflict, "no \"luck\"");
        if (request.path == "/refuse") co_return co_await responder.respond(401, {}, {bytes("nobody knows you")});
        CO_TRY(std::string body, co_await responder.read_body());
        co_return co_await responder.respond(
            200, {}, {bytes(request.method + " " + request.path + "?" + request.query + " "), bytes(std::move(body))});
    }

    EventLoop& loop_;
};

}  // namespace porthole::net
