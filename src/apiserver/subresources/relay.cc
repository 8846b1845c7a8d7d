#include "apiserver/subresources/relay.h"

#include <algorithm>
#include <set>

#include "apiserver/handlers/reply.h"
#include "apiserver/subresources/proxied_links.h"
#include "base/base64.h"
#include "base/strings.h"
#include "net/child_task.h"
#include "net/http/relay.h"
#include "net/streams/websocket.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

constexpr std::size_t ErrorTextLimit = 64 << 10;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
}

/// What the header Connection names belongs to the connection, too (RFC 9110, section 7.6.1).
std::set<std::string> names_of_connection(const net::Headers& headers) {
    std::set<std::string> names;
    for (const std::string_view value : headers.all("connection"))
        for (const std::string& one : split_list(value)) names.insert(to_lower(one));
    return names;
}

/// Who the user is ends here, and connections are each hop's own.
bool is_passed_on(std::string_view name, bool upgrade) {
    if (is_one_of(name, {"host", "authorization", "content-length", "transfer-encoding", "keep-alive", "te", "trailer", "proxy-connection",
                         "accept-encoding", "x-forwarded-uri"}))
        return false;
    if (name.starts_with("impersonate-") || name.starts_with("x-remote-")) return false;
    return upgrade || !is_one_of(name, {"connection", "upgrade"});
}

/// The subprotocols without the one that carries the user's token: it is for this server only.
std::string without_bearer_protocol(std::string_view protocols) {
    constexpr std::string_view Bearer = "base64url.bearer.authorization.k8s.io.";
    std::string kept;
    for (std::size_t start = 0; start < protocols.size();) {
        const std::size_t end = std::min(protocols.find(',', start), protocols.size());
        std::string_view protocol = protocols.substr(start, end - start);
        while (protocol.starts_with(' ') || protocol.starts_with('\t')) protocol.remove_prefix(1);
        while (protocol.ends_with(' ') || protocol.ends_with('\t')) protocol.remove_suffix(1);
        if (!protocol.empty() && !protocol.starts_with(Bearer)) kept += (kept.empty() ? "" : ", ") + std::string(protocol);
        start = end + 1;
    }
    return kept;
}

net::Headers answer_headers(const RequestContext& context, const net::Headers& from) {
    net::Headers headers{{"audit-id", context.audit_id}};
    const auto of_connection = names_of_connection(from);
    for (const auto& [name, value] : from.fields())
        if (is_passed_on(name, false) && name != "audit-id" && !of_connection.contains(name)) headers.add(name, value);
    return headers;
}

Error no_connector() { return Error(Reason::ServiceUnavailable, "this server has no connection to nodes and pods"); }

Task<std::string> read_all(net::HttpBody& body) {
    std::string text;
    while (text.size() < ErrorTextLimit) {
        CO_TRY(std::optional<std::string> piece, co_await body.next());
        if (!piece) break;
        text += *piece;
    }
    co_return text;
}

Error unreachable(const ConnectTarget& target, Error error) {
    if (error.reason != Reason::Unavailable) return error;
    return Error(Reason::InternalError, "error dialing backend: " + target.host + ":" + std::to_string(target.port) + ": " + error.message);
}

Error kubelet_error(int code, std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    // A node that speaks Status says it best itself.
    if (const auto status = schema::parse_json(text); status && status->string_at({"kind"}) == "Status")
        text = status->string_at({"message"});
    return Error(code >= 500 ? Reason::InternalError : reason_of_http_code(code),
                 text.empty() ? "the node refused with code " + std::to_string(code) : text);
}

/// A refusal passes as the far end wrote it: kubectl itself puts "unable to upgrade connection: " before a plain text.
Task<> relay_upgrade(RequestContext& context, Connector& connector, ConnectTarget target, net::HttpRequest request, EventLoop& loop) {
    auto answered = co_await connector.upgrade(target, std::move(request));
    if (!answered) co_return unreachable(target, std::move(answered).error());
    co_return co_await pass_back_upgrade(context, *std::move(answered), loop);
}

/// The answer to a request that the kubelet did not refuse.
Task<std::unique_ptr<net::HttpBody>> open_at_kubelet(Connector& connector, ConnectTarget target, net::HttpRequest request) {
    auto body = co_await connector.open(target, std::move(request));
    if (!body) co_return unreachable(target, std::move(body).error());
    if ((*body)->code() < 400) co_return std::move(body);
    auto text = co_await read_all(**body);
    if (!text) co_return unreachable(target, std::move(text).error());
    co_return kubelet_error((*body)->code(), *std::move(text));
}

Task<> relay_any(RequestContext& context, Connector* connector, ConnectTarget target, std::string path, std::string query, EventLoop& loop,
                 std::optional<ProxiedPage> page = std::nullopt) {
    if (!connector) co_return no_connector();
    const bool upgrade = wants_upgrade(context.request);
    net::HttpRequest request = request_to_pass_on(context.request, std::move(path), std::move(query));
    if (page) request.headers.add("x-forwarded-uri", page->prefix + request.path);
    if (upgrade) co_return co_await relay_upgrade(context, *connector, std::move(target), std::move(request), loop);
    if (page) {
        auto body = co_await connector->open(target, std::move(request));
        if (!body) co_return unreachable(target, std::move(body).error());
        co_return co_await pass_back(context, *with_proxied_links(*std::move(body), *std::move(page)));
    }
    CO_TRY(const auto body, co_await open_at_kubelet(*connector, std::move(target), std::move(request)));
    co_return co_await pass_back(context, *body);
}

Task<> send_pieces(net::HttpBody& body, net::WebSocket& socket) {
    const bool is_text = socket.protocol().starts_with("base64.");
    for (;;) {
        CO_TRY(std::optional<std::string> piece, co_await body.next());
        if (!piece) co_return {};
        CO_TRY_VOID(co_await socket.send({is_text ? encode_base64(*piece) : *std::move(piece), !is_text}));
    }
}

/// What the client sends means nothing, but its end does.
Task<> receive_until_closed(net::WebSocket& socket) {
    for (;;) {
        CO_TRY(const auto message, co_await socket.receive());
        if (!message) co_return {};
    }
}

/// Until the body ends or the client closes.
Task<> pass_back_as_messages(net::HttpBody& body, net::WebSocket& socket, EventLoop& loop) {
    net::ChildTask sending(loop), receiving(loop);
    Event ended;
    sending.start(send_pieces(body, socket), [&] { ended.set(); });
    receiving.start(receive_until_closed(socket), [&] { ended.set(); });
    const auto waited = co_await ended.wait();
    sending.cancel();
    receiving.cancel();
    (void)co_await sending.join();
    (void)co_await receiving.join();
    socket.close(1000, "");
    co_return waited;
}

}  // namespace

bool wants_upgrade(const net::HttpRequest& request) {
    return to_lower(request.headers.get("connection")).contains("upgrade") && request.headers.has("upgrade");
}

net::HttpRequest request_to_pass_on(const net::HttpRequest& request, std::string path, std::string query) {
    const bool upgrade = wants_upgrade(request);
    net::HttpRequest out{.method = request.method, .path = std::move(path), .query = std::move(query), .body = request.body};
    const auto of_connection = names_of_connection(request.headers);
    for (const auto& [name, value] : request.headers.fields()) {
        if (!is_passed_on(name, upgrade) || (name != "upgrade" && of_connection.contains(name))) continue;
        if (name != "sec-websocket-protocol") {
            out.headers.add(name, name == "connection" ? "Upgrade" : value);
        } else if (std::string protocols = without_bearer_protocol(value); !protocols.empty()) {
            out.headers.add(name, std::move(protocols));
        }
    }
    return out;
}

Task<> pass_back(RequestContext& context, net::HttpBody& body) {
    context.code = body.code();
    CO_TRY_VOID(co_await context.responder.start(body.code(), answer_headers(context, body.headers())));
    context.give_back_seats();
    while (true) {
        CO_TRY(std::optional<std::string> piece, co_await body.next());
        if (!piece) co_return co_await context.responder.finish();
        CO_TRY_VOID(co_await context.responder.write(bytes_of(std::move(*piece))));
    }
}

Task<> pass_back_upgrade(RequestContext& context, net::Upgraded answered, EventLoop& loop) {
    context.give_back_seats();
    if (!answered.stream) {
        context.code = answered.response.code;
        std::vector<store::Bytes> body;
        body.push_back(bytes_of(std::move(answered.response.body)));
        co_return co_await context.responder.respond(context.code, answer_headers(context, answered.response.headers), std::move(body));
    }
    context.code = 101;
    net::Headers headers;
    for (const auto& [name, value] : answered.response.headers.fields())
        if (!is_one_of(name, {"content-length", "transfer-encoding", "date"})) headers.add(name, value);
    const std::unique_ptr<net::ByteStream> far = std::move(answered.stream);
    CO_TRY(const std::unique_ptr<net::ByteStream> near, co_await context.responder.upgrade(std::move(headers)));
    co_return co_await net::relay(loop, *near, *far);
}

Task<> relay_through_proxy(RequestContext& context, Connector* connector, ConnectTarget target, std::string prefix, std::string path,
                           EventLoop& loop) {
    ProxiedPage page{std::move(prefix), target.host + ":" + std::to_string(target.port), std::string(context.request.headers.get("host"))};
    return relay_any(context, connector, std::move(target), std::move(path), context.request.query, loop, std::move(page));
}

Task<> relay_to_kubelet(RequestContext& context, Connector* connector, ConnectTarget target, std::string path, std::string query,
                        EventLoop& loop) {
    return relay_any(context, connector, std::move(target), std::move(path), std::move(query), loop);
}

Task<> stream_from_kubelet(RequestContext& context, Connector* connector, ConnectTarget target, std::string path, std::string query,
                           EventLoop& loop) {
    if (!net::is_websocket_request(context.request))
        co_return co_await relay_to_kubelet(context, connector, std::move(target), std::move(path), std::move(query), loop);
    if (!connector) co_return no_connector();
    CO_TRY(const auto body,
           co_await open_at_kubelet(*connector, std::move(target), {.method = "GET", .path = std::move(path), .query = std::move(query)}));
    CO_TRY(const auto socket,
           co_await net::accept_websocket(loop, context.request, context.responder, {"binary.k8s.io", "base64.binary.k8s.io", ""}));
    context.code = 101;
    context.give_back_seats();
    co_return co_await pass_back_as_messages(*body, *socket, loop);
}

}  // namespace porthole::apiserver
