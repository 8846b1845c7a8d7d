#include "net/http/http_client.h"

#include <algorithm>
#include <list>

#include "net/http/http1_client.h"
#include "net/http/http2_client.h"
#include "net/socket.h"
#include "net/tls/tls_stream.h"
#include "runtime/asio_loop.h"

namespace porthole::net {
namespace {

constexpr Duration ConnectTime = std::chrono::seconds(10);
constexpr Duration UpgradeTime = std::chrono::seconds(60);  ///< for the answer to an upgrade, and for the body of a refusal
constexpr std::size_t RefusalLimit = 64 << 10;              ///< bytes of such a body; the rest is not read
constexpr std::size_t MostIdle = 8;                         ///< HTTP/1.1 connections kept for later requests

bool is_without_effect(std::string_view method) { return method == "GET" || method == "HEAD" || method == "OPTIONS"; }

/// A request in the form that can be sent again.
struct Outgoing {
    std::string method, target;
    Headers headers;  ///< with host and content-length
    Bytes body;
};

class Http2Body final : public HttpBody {
public:
    explicit Http2Body(std::shared_ptr<Http2Request> request) : request_(std::move(request)) {}
    int code() const override { return request_->code(); }
    const Headers& headers() const override { return request_->headers(); }
    Task<std::optional<std::string>> next() override { return request_->next(); }

private:
    std::shared_ptr<Http2Request> request_;
};

Task<std::string> read_all(HttpBody& body) {
    std::string all;
    for (;;) {
        CO_TRY(auto piece, co_await body.next());
        if (!piece) co_return all;
        if (all.empty()) {
            all = std::move(*piece);
        } else {
            all += *piece;
        }
    }
}

/// A server, and how it is reached.
struct Target {
    Endpoint endpoint;
    std::shared_ptr<const TlsClientContext> tls;
    std::optional<Proxy> proxy;
};

Task<TlsConnection> dial_once(AsioLoop& loop, Target target, std::vector<std::string> protocols) {
    std::string host = target.endpoint.host;
    CO_TRY(auto stream, co_await (target.proxy ? connect_through(loop, *std::move(target.proxy), std::move(target.endpoint))
                                               : connect_socket(loop, std::move(target.endpoint))));
    if (!target.tls) co_return TlsConnection{std::move(stream), "", std::nullopt};
    co_return co_await tls_connect(std::move(stream), std::move(target.tls), std::move(host), std::move(protocols));
}

std::string to_text(const Endpoint& endpoint) {
    return endpoint.unix_path.empty() ? host_and_port(endpoint.host, endpoint.port) : endpoint.unix_path;
}

Task<TlsConnection> dial(AsioLoop& loop, Target target, std::vector<std::string> protocols) {
    const std::string where = to_text(target.endpoint) + (target.proxy ? " through the proxy " + target.proxy->to_string() : "");
    auto dialed = co_await with_timeout(dial_once(loop, std::move(target), std::move(protocols)), ConnectTime, "connect");
    if (!dialed && dialed.error().reason == Reason::Timeout) co_return Error(Reason::Unavailable, "connection timed out: " + where);
    co_return std::move(dialed);
}

}  // namespace

/// Shared by the client and by its tasks, which may outlive it for a few turns of the loop.
struct HttpClient::Impl : std::enable_shared_from_this<HttpClient::Impl> {
    using Http1Pointer = std::shared_ptr<Http1ClientConnection>;

    /// A connection for one request.
    struct Lease {
        std::shared_ptr<Http2Client> http2;
        Http1Pointer http1;
        bool reused = false;
    };

    /// The body of an HTTP/1.1 answer; the connection is free again at its end.
    class Http1Body final : public HttpBody {
    public:
        Http1Body(std::shared_ptr<Impl> owner, Http1Pointer connection, std::unique_ptr<Http1Parser> parser)
            : owner_(std::move(owner)), connection_(std::move(connection)), parser_(std::move(parser)) {}
        int code() const override { return parser_->head.code; }
        const Headers& headers() const override { return parser_->head.headers; }
        Task<std::optional<std::string>> next() override {
            while (parser_->body.empty() && !parser_->done()) CO_TRY_VOID(co_await connection_->read_into(*parser_));
            if (!parser_->body.empty()) co_return std::optional(std::exchange(parser_->body, {}));
            if (connection_ && parser_->head.keep_alive) owner_->keep(std::move(connection_));
            connection_.reset();
            co_return std::optional<std::string>();
        }

    private:
        std::shared_ptr<Impl> owner_;
        Http1Pointer connection_;
        std::unique_ptr<Http1Parser> parser_;
    };

    Impl(AsioLoop& loop, Target target) : loop(loop), target(std::move(target)), only_http1(!this->target.tls) {}

    Task<std::unique_ptr<HttpBody>> open(std::shared_ptr<Impl> self, Outgoing outgoing) {
        for (bool again = false;; again = true) {
            CO_TRY(const Lease lease, co_await acquire(again));
            bool untouched = false;
            auto opened = co_await (lease.http2 ? open_http2(lease.http2, outgoing, untouched) : open_http1(self, lease.http1, outgoing));
            if (opened || opened.error().reason != Reason::Unavailable) co_return std::move(opened);
            const bool may_repeat = untouched || (lease.reused && is_without_effect(outgoing.method));
            if (again || closed || !may_repeat)
                co_return Error(Reason::Unavailable, opened.error().message + ": " + to_text(target.endpoint));
        }
    }

    /// `untouched` is set if the server did nothing with the request.
    Task<std::unique_ptr<HttpBody>> open_http2(std::shared_ptr<Http2Client> connection, const Outgoing& outgoing, bool& untouched) {
        Headers headers{{":method", outgoing.method},
                        {":scheme", target.tls ? "https" : "http"},
                        {":authority", std::string(outgoing.headers.get("host"))},
                        {":path", outgoing.target}};
        for (const auto& [name, value] : outgoing.headers.fields()) {
            if (name != "host") headers.add(name, value);
        }
        auto request = connection->open(headers, !outgoing.body->empty());
        if (!request) {
            untouched = true;
            co_return std::move(request).error();
        }
        if (!outgoing.body->empty()) {
            (*request)->queue(outgoing.body);
            (*request)->end_sending();
        }
        auto head = co_await (*request)->wait_for_head();
        if (!head) {
            untouched = (*request)->was_refused();
            co_return std::move(head).error();
        }
        co_return std::make_unique<Http2Body>(std::move(*request));
    }

    Task<std::unique_ptr<HttpBody>> open_http1(std::shared_ptr<Impl> self, Http1Pointer connection, const Outgoing& outgoing) {
        bool answered = false;
        auto parser = co_await connection->exchange(http1_request_head(outgoing.method, outgoing.target, outgoing.headers), outgoing.body,
                                                    outgoing.method == "HEAD", answered);
        if (!parser) {
            if (answered) co_return Error(Reason::Io, parser.error().message);
            co_return std::move(parser).error();
        }
        co_return std::make_unique<Http1Body>(std::move(self), std::move(connection), std::move(*parser));
    }

    Task<Lease> acquire(bool fresh) {
        if (closed) co_return Error(Reason::Unavailable, "the client was closed");
        if (!fresh) {
            if (auto http2 = find_http2()) co_return Lease{std::move(http2), nullptr, true};
            while (!idle.empty()) {
                Http1Pointer http1 = std::move(idle.back());
                idle.pop_back();
                CO_TRY(const bool usable, co_await http1->take());
                if (usable) co_return Lease{nullptr, std::move(http1), true};
            }
        }
        if (only_http1) co_return co_await dial_http1();

        // One task dials for all that wait: they share the connection it brings.
        CO_TRY(const auto permit, co_await dialing.acquire());
        if (auto http2 = fresh ? nullptr : find_http2()) co_return Lease{std::move(http2), nullptr, true};
        CO_TRY(auto dialed, co_await dial(loop, target, {"h2", "http/1.1"}));
        if (closed) co_return Error(Reason::Unavailable, "the client was closed");
        if (dialed.protocol == "h2") {
            auto http2 = Http2Client::start(loop, std::move(dialed.stream));
            std::erase_if(connections, [](const auto& connection) { return !connection->running(); });
            connections.push_back(http2);
            co_return Lease{std::move(http2), nullptr, false};
        }
        only_http1 = true;
        co_return Lease{nullptr, std::make_shared<Http1ClientConnection>(loop, std::move(dialed.stream)), false};
    }

    Task<Lease> dial_http1() {
        CO_TRY(auto dialed, co_await dial(loop, target, {"http/1.1"}));
        co_return Lease{nullptr, std::make_shared<Http1ClientConnection>(loop, std::move(dialed.stream)), false};
    }

    std::shared_ptr<Http2Client> find_http2() const {
        const auto found = std::ranges::find_if(connections, [](const auto& connection) { return connection->has_room(); });
        return found == connections.end() ? nullptr : *found;
    }

    void keep(Http1Pointer connection) {
        if (closed || idle.size() >= MostIdle) return;
        Http1ClientConnection* watched = connection.get();
        idle.push_back(connection);
        // The callback's own reference keeps the connection until its watch has ended, whoever drops it.
        watched->watch([this, self = shared_from_this(), connection] {
            std::erase(idle, connection);
            loop.post([connection] {});
        });
    }

    void drop_all() {
        closed = true;
        for (const auto& connection : connections) connection->shut_down();
        for (const auto& connection : idle) connection->close();
    }

    AsioLoop& loop;
    const Target target;
    bool only_http1;  ///< plain text, or a server that does not offer HTTP/2
    bool closed = false;
    std::vector<std::shared_ptr<Http2Client>> connections;
    std::vector<Http1Pointer> idle;
    Semaphore dialing{1};
};

namespace {

Outgoing to_outgoing(HttpRequest request, const Endpoint& endpoint) {
    Outgoing outgoing;
    if (!request.headers.has("host")) {
        request.headers.add("host", endpoint.unix_path.empty() ? host_and_port(endpoint.host, endpoint.port) : "localhost");
    }
    const bool has_body = !request.body.empty() || (!is_without_effect(request.method) && request.method != "DELETE");
    if (has_body && !request.headers.has("content-length")) {
        request.headers.add("content-length", std::to_string(request.body.size()));
    }
    outgoing.method = std::move(request.method);
    outgoing.target = std::move(request.path);
    if (!request.query.empty()) outgoing.target += "?" + request.query;
    outgoing.headers = std::move(request.headers);
    outgoing.body = std::make_shared<const std::string>(std::move(request.body));
    return outgoing;
}

}  // namespace

HttpClient::HttpClient(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls, std::optional<Proxy> proxy)
    : impl_(std::make_shared<Impl>(loop, Target{std::move(endpoint), std::move(tls), std::move(proxy)})) {}

HttpClient::~HttpClient() { impl_->drop_all(); }

Task<std::unique_ptr<HttpBody>> HttpClient::open(HttpRequest request) {
    return impl_->open(impl_, to_outgoing(std::move(request), impl_->target.endpoint));
}

namespace {

Task<HttpResponse> collect(Task<std::unique_ptr<HttpBody>> opening) {
    CO_TRY(const auto body, co_await std::move(opening));
    HttpResponse response;
    response.code = body->code();
    CO_TRY(response.body, co_await read_all(*body));
    response.headers = body->headers();
    co_return response;
}

/// What a refused upgrade says, as much of it as is of use.
Task<std::string> read_refusal(Http1ClientConnection& connection, Http1Parser& parser) {
    while (!parser.done() && parser.body.size() < RefusalLimit) CO_TRY_VOID(co_await connection.read_into(parser));
    parser.body.resize(std::min(parser.body.size(), RefusalLimit));
    co_return std::move(parser.body);
}

Task<Upgraded> upgrade_on_new_connection(AsioLoop& loop, Target target, Outgoing outgoing) {
    CO_TRY(auto dialed, co_await dial(loop, target, {"http/1.1"}));
    Http1ClientConnection connection(loop, std::move(dialed.stream));
    bool answered = false;
    auto parser = co_await with_timeout(
        connection.exchange(http1_request_head(outgoing.method, outgoing.target, outgoing.headers), outgoing.body, false, answered),
        UpgradeTime, "answer to an upgrade");
    if (!parser) {
        const Reason reason = parser.error().reason == Reason::Timeout ? Reason::Unavailable : parser.error().reason;
        co_return Error(reason, parser.error().message + ": " + to_text(target.endpoint));
    }
    Upgraded upgraded;
    upgraded.response.code = (*parser)->head.code;
    upgraded.response.headers = (*parser)->head.headers;
    if (upgraded.response.code == 101) {
        upgraded.stream = std::move(connection).into_stream();
        co_return upgraded;
    }
    CO_TRY(upgraded.response.body, co_await with_timeout(read_refusal(connection, **parser), UpgradeTime, "answer to an upgrade"));
    co_return upgraded;
}

}  // namespace

Task<HttpResponse> HttpClient::send(HttpRequest request) { return collect(open(std::move(request))); }

Task<Upgraded> HttpClient::upgrade(HttpRequest request) {
    return upgrade_on_new_connection(impl_->loop, impl_->target, to_outgoing(std::move(request), impl_->target.endpoint));
}

bool HttpClient::busy() const {
    // A request holds the implementation, or a stream; an idle HTTP/1.1 connection's watch holds the implementation, too.
    return static_cast<std::size_t>(impl_.use_count()) > 1 + impl_->idle.size() ||
           std::ranges::any_of(impl_->connections, [](const auto& connection) { return connection->open_streams() > 0; });
}

Task<> HttpClient::close() {
    impl_->drop_all();
    for (const auto& connection : impl_->connections) CO_TRY_VOID(co_await connection->wait_ended());
    // The watchers of idle connections end within a turn of the loop.
    while (!impl_->idle.empty()) CO_TRY_VOID(co_await impl_->loop.sleep(Duration::zero()));
    co_return {};
}

namespace {

Task<std::unique_ptr<ByteStream>> connect_stream(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls) {
    CO_TRY(auto dialed, co_await dial(loop, Target{std::move(endpoint), std::move(tls), std::nullopt}, {}));
    co_return std::move(dialed.stream);
}

}  // namespace

Task<std::unique_ptr<ByteStream>> connect(AsioLoop& loop, Endpoint endpoint, std::shared_ptr<const TlsClientContext> tls) {
    return connect_stream(loop, std::move(endpoint), std::move(tls));
}

}  // namespace porthole::net
