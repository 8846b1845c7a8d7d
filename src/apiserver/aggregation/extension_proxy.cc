#include "apiserver/aggregation/extension_proxy.h"

#include <algorithm>

#include "apiserver/aggregation/remote_discovery.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/request/status.h"
#include "apiserver/subresources/relay.h"
#include "base/result.h"
#include "base/strings.h"
#include "objects/conditions.h"

namespace porthole::apiserver {
namespace {

using namespace api::apiregistration::v1;

/// As Go's servers answer an error.
Task<> refuse(RequestContext& context, int code, std::string text) { return reply_text(context, code, std::move(text) + "\n"); }

bool leads_elsewhere(std::string_view part) { return part == "." || part == ".."; }

/// The path that was authorized. Nothing where another server could read something else in it: a segment with a slash, or one that leads
/// upwards. What comes after the subresource is the other server's own.
std::optional<std::string> authorized_path(const RequestContext& context) {
    const std::vector<std::string> segments = net::split_path(context.request.path);
    const std::size_t named = segments.size() - std::min(segments.size(), context.info.rest.size());
    std::string path;
    for (std::size_t i = 0; i < segments.size(); ++i) {
        const std::string& segment = segments[i];
        const auto parts = split_views(segment, '/');
        if ((i < named && parts.size() > 1) || std::ranges::any_of(parts, leads_elsewhere)) return std::nullopt;
        path += "/" + net::percent_encode(segment);
    }
    if (context.request.path.ends_with('/')) path += '/';
    return path;
}

/// The query that was authorized. Servers differ in which texts of `watch` mean yes, so it says what was understood.
std::string authorized_query(const RequestInfo& info) {
    const bool may_watch = info.is_resource && info.subresource.empty();
    std::string query = may_watch && info.verb == "watch" ? "watch=true" : "";
    for (const auto& [key, value] : info.query) {
        if (may_watch && key == "watch") continue;
        query += (query.empty() ? "" : "&") + net::percent_encode(key) + "=" + net::percent_encode(value);
    }
    return query;
}

bool has_come_back(const net::Headers& headers, const std::string& pseudonym) {
    return std::ranges::any_of(headers.all("via"), [&](std::string_view value) { return value.contains(pseudonym); });
}

Result<net::HttpRequest> request_for(const RequestContext& context, std::string path, std::string query, const ExtensionServers::Way& way,
                                     const std::string& pseudonym) {
    net::HttpRequest request = request_to_pass_on(context.request, std::move(path), std::move(query));
    net::Headers headers{{"host", way.host}, {"audit-id", context.audit_id}};
    for (const auto& [name, value] : request.headers.fields())
        if (name != "audit-id" && name != "x-forwarded-for") headers.add(name, value);
    if (const std::string& from = context.request.peer.address; !from.empty()) {
        const std::string before(context.request.headers.get("x-forwarded-for"));
        headers.add("x-forwarded-for", before.empty() ? from : before + ", " + from);
    }
    headers.add("via", "1.1 " + pseudonym);
    TRY_VOID(add_identity(headers, context.user));
    request.headers = std::move(headers);
    return request;
}

bool is_redirect(int code, const net::Headers& headers) { return code >= 300 && code <= 399 && !headers.get("location").empty(); }

Task<> refuse_redirect(RequestContext& context) {
    return reply_text(context, 502, "the backend attempted to redirect this request, which is not permitted");
}

Task<> not_reached(RequestContext& context, Error error) {
    if (is_cancelled(error)) co_return error;
    co_return co_await refuse(context, 503, "error trying to reach service: " + error.message);
}

Task<> pass_on(RequestContext& context, ExtensionServers& servers, std::shared_ptr<const APIService> service, std::string path,
               std::string query, std::string pseudonym, EventLoop* loop) {
    if (!objects::is_condition_true(service->status.conditions, APIServiceConditionType::Available))
        co_return co_await refuse(context, 503, "service unavailable");
    if (has_come_back(context.request.headers, pseudonym))
        co_return co_await refuse(context, 503, "error trying to reach service: the service refers back to this server");
    auto way = servers.way_to(*service);
    if (!way && way.error().reason == Reason::BadRequest) co_return co_await refuse(context, 500, way.error().message);
    if (!way) co_return co_await refuse(context, 503, "service unavailable");
    auto request = request_for(context, std::move(path), std::move(query), *way, pseudonym);
    if (!request) co_return co_await not_reached(context, std::move(request).error());
    if (loop && wants_upgrade(context.request)) {
        auto answered = co_await way->client->upgrade(*std::move(request));
        if (!answered) co_return co_await not_reached(context, std::move(answered).error());
        if (is_redirect(answered->response.code, answered->response.headers)) co_return co_await refuse_redirect(context);
        co_return co_await pass_back_upgrade(context, *std::move(answered), *loop);
    }
    auto body = co_await way->client->open(*std::move(request));
    if (!body) co_return co_await not_reached(context, std::move(body).error());
    if ((*body)->code() < 200) co_return co_await not_reached(context, Error(Reason::Unavailable, "the answer has no final status"));
    if (is_redirect((*body)->code(), (*body)->headers())) co_return co_await refuse_redirect(context);
    co_return co_await pass_back(context, **body);
}

}  // namespace

Task<> pass_to_extension_server(RequestContext& context, ExtensionServers& servers, std::shared_ptr<const APIService> service,
                                std::string pseudonym, EventLoop& loop) {
    std::optional<std::string> path = authorized_path(context);
    if (!path) co_return Error(Reason::BadRequest, "a path segment of an aggregated API contains a slash or \"..\"");
    co_return co_await pass_on(context, servers, std::move(service), *std::move(path), authorized_query(context.info), std::move(pseudonym),
                               &loop);
}

Task<> pass_document(RequestContext& context, ExtensionServers& servers, std::shared_ptr<const APIService> service, std::string pseudonym) {
    if (context.request.method != "GET" && context.request.method != "HEAD") co_return method_not_allowed();
    std::string path = "/openapi/v3/" + openapi_path(*service);
    co_return co_await pass_on(context, servers, std::move(service), std::move(path), "", std::move(pseudonym), nullptr);
}

}  // namespace porthole::apiserver
