#pragma once
#include <chrono>
#include <functional>

#include "base/log.h"
#include "net/http/answer_budget.h"
#include "net/http/http.h"
#include "net/tls/tls.h"
#include "runtime/event_loop.h"

namespace porthole::net {

/// Memory for the incomplete bodies of all requests of one server, whose senders are not authorized yet. Peers with a verified certificate
/// have a separate share, so that others cannot keep nodes out. Outlives the connections.
struct BodyBudget {
    std::size_t limit = 256 << 20;  ///< bytes, of each share
    std::size_t verified = 0, others = 0;

    std::size_t& part_of(const Peer& peer) { return peer.certificate ? verified : others; }
};

/// Shares the handler's loop fairly among one server's HTTP/2 connections. Outlives them.
struct HandlerTurns {
    std::size_t waiting = 0;  ///< connections with more requests than they may start now
    /// Calls back on the connections' loop once the started handlers had their turn. If empty, the next turn of that loop.
    std::function<void(Callback)> next;
};

/// Limits for a peer of a server, against slow, greedy and vanished ones.
struct HttpLimits {
    std::size_t body_limit = 3 << 20;        ///< bytes of one request
    std::uint32_t header_limit = 64 << 10;   ///< bytes of one request
    std::uint32_t concurrent_streams = 250;  ///< HTTP/2 requests of one connection at a time
    std::size_t buffered_bodies = 16 << 20;  ///< bytes of all incomplete requests of one connection
    BodyBudget* bodies = nullptr;            ///< of all connections; null: no limit
    std::size_t queued_answers = 16 << 20;   ///< bytes that an HTTP/2 peer has not read; above this, no request is started
    AnswerBudget* answers = nullptr;         ///< of all connections; null: no limit
    HandlerTurns* turns = nullptr;           ///< of all HTTP/2 connections; null: each is alone
    Duration handshake_time = std::chrono::seconds(10);
    Duration header_time = std::chrono::seconds(30);  ///< from a request's first byte to the end of its head
    Duration body_time = std::chrono::seconds(60);    ///< from the head to the body's end
    Duration idle_time = std::chrono::seconds(120);   ///< between requests
    Duration write_time = std::chrono::seconds(60);   ///< for the peer to read what is sent, or (HTTP/2) some of a stream
    Duration ping_time = std::chrono::seconds(30);    ///< of HTTP/2 silence before a ping; after the same time again, the connection ends
};

/// Serves one connection until either side ends it: with TLS if there is a context, then HTTP/1.1 or HTTP/2, chosen by ALPN (or by the
/// preface). Cancelling the task cancels the handlers, sends the answers that are possible, and waits for all. `handler` and `limits` must
/// outlive it. Its error says, for the log, why the connection ended.
Task<> serve_connection(EventLoop& loop, std::unique_ptr<ByteStream> stream, Peer peer, std::shared_ptr<const TlsServerContext> tls,
                        HttpHandler& handler, const HttpLimits& limits);

/// The two protocols; `initial` has already been read.
Task<> serve_http1(EventLoop& loop, std::unique_ptr<ByteStream> stream, Peer peer, HttpHandler& handler, const HttpLimits& limits,
                   std::string initial);
Task<> serve_http2(EventLoop& loop, std::unique_ptr<ByteStream> stream, Peer peer, HttpHandler& handler, const HttpLimits& limits,
                   std::string initial);

/// The error for a body that exceeds the limit.
Error too_large(const HttpLimits& limits);

/// A stream that reads `prefix` first, and then `lower`.
std::unique_ptr<ByteStream> prefixed_stream(std::string prefix, std::unique_ptr<ByteStream> lower);

}  // namespace porthole::net
