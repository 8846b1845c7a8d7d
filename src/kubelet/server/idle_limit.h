#pragma once
#include "net/http/http.h"
#include "runtime/event_loop.h"
#include "runtime/scope.h"

namespace porthole::kubelet {

/// Wraps a responder, and drops the connection that upgrade() has returned if no byte was sent either way for `limit`. It outlives that
/// connection; close() ends the supervision.
class IdleLimit final : public net::HttpResponder {
public:
    IdleLimit(EventLoop& loop, net::HttpResponder& responder, Duration limit)
        : loop_(loop), responder_(responder), limit_(limit), watching_(loop) {}

    Task<> respond(int code, net::Headers headers, std::vector<net::Bytes> body) override {
        return responder_.respond(code, std::move(headers), std::move(body));
    }
    Task<> start(int code, net::Headers headers) override { return responder_.start(code, std::move(headers)); }
    Task<> write(net::Bytes chunk) override { return responder_.write(std::move(chunk)); }
    Task<> finish(net::Headers trailers) override { return responder_.finish(std::move(trailers)); }
    Task<std::unique_ptr<net::ByteStream>> upgrade(net::Headers headers) override;
    bool started() const override { return responder_.started(); }

    Task<> close() { return watching_.close(); }

private:
    class Watched;
    struct Activity;
    static Task<> watch(std::shared_ptr<Activity> activity, Duration limit);

    EventLoop& loop_;
    net::HttpResponder& responder_;
    Duration limit_;
    Scope watching_;
};

}  // namespace porthole::kubelet
