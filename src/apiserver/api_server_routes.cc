// What is served where.
#include "apiserver/api_server_parts.h"
#include "apiserver/authorization/impersonation.h"
#include "apiserver/handlers/flagz.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/request/status.h"
#include "apiserver/review_routes.h"
#include "apiserver/store_metrics.h"
#include "apiserver/subresource_routes.h"
#include "apiserver/subresources/scale.h"
#include "base/metrics_text.h"

namespace porthole::apiserver {
namespace {

/// Rights in a namespace must not reach what is in none: a path that names one asks for nothing there is. A namespace is in itself.
bool fits_scope(const schema::Kind& kind, const RequestInfo& info) {
    if (kind.namespaced() || info.namespace_.empty()) return true;
    return kind.plural == "namespaces" && info.name == info.namespace_;
}

}  // namespace

void ApiServerParts::add_checks() {
    health.add({.name = "ping", .passes = [] { return true; }});
    health.add({.name = "store", .passes = [this] { return store->revision() >= store->compacted(); }});
    // By itself, as a server that refuses to grow still has to be reached for deletions.
    health.add({.name = "store-quota", .by_name_only = true, .passes = [this] { return !store->usage().exceeded; }});
    health.add({.name = "etcd-readiness", .readiness_only = true, .passes = [this] { return store->why_behind().empty(); }});
    health.add({.name = "poststarthook/bootstrap", .readiness_only = true, .passes = [this] { return bootstrapped; }});
}

void ApiServerParts::add_routes() {
    for (const char* path : {"/", "/version", "/version/", "/api", "/api/", "/apis", "/apis/"}) {
        server.add_path(path, [this](RequestContext& context) { return documents.handle(context); });
    }
    documents.set_others([this] { return aggregator.documents(); });
    server.add_path("/openapi/", [this](RequestContext& context) {
        return aggregator.is_remote_document(context.info.path) ? aggregator.handle_document(context) : documents.handle(context);
    });
    for (const char* path : {"/livez", "/livez/", "/readyz", "/readyz/", "/healthz", "/healthz/"}) {
        server.add_path(path, [this](RequestContext& context) { return health.handle(context); });
    }
    flags["service-account-extend-token-expiration"] = options.extend_service_account_tokens ? "true" : "false";
    server.add_path("/flagz", [this](RequestContext& context) { return serve_flagz(context, flags); });
    server.add_path("/metrics", [this](RequestContext& context) { return serve_metrics(context); });
    server.add_resource("", "componentstatuses", [this](RequestContext& context) { return components.handle(context); });
    server.add_resource("metrics.k8s.io", "nodes", [this](RequestContext& context) { return resource_metrics.nodes(context); });
    server.add_resource("metrics.k8s.io", "pods", [this](RequestContext& context) { return resource_metrics.pods(context); });
    server.set_user_headers(options.authentication.request_header);
    server.set_impersonation(
        [this](const net::HttpRequest& request, User user) { return impersonated(authorizer, request, std::move(user)); });
    add_review_routes(
        server, registry,
        reviews(
            {.authorizer = authorizer, .rbac = rbac, .authenticators = authenticators, .tokens = tokens, .has_webhook_authorizer = [this] {
                 return has_webhook_authorizer;
             }}));
    add_subresource_routes(server, handler, streams);
    add_token_routes(server, registry, tokens, admission);
    server.set_future_reads(future_reads);
    server.set_resources([this](RequestContext& context) { return serve_resource(context); });
    server.set_served([this](const RequestInfo& info) {
        const schema::Kind* kind = registry.find_resource(info.group, info.version, info.resource);
        return kind && fits_scope(*kind, info) && (info.subresource.empty() || kind->find_subresource(info.subresource));
    });
    server.set_delegate([this](const RequestInfo& info) { return aggregator.is_remote(info); },
                        [this](RequestContext& context) { return aggregator.handle(context); });
    if (options.audit) server.set_audit(*options.audit, registry);
    if (flow_control) add_flow_control_routes();
}

void ApiServerParts::add_flow_control_routes() {
    const auto add = [this](const std::string& page, auto text) {
        server.add_path("/debug/api_priority_and_fairness/" + page,
                        [text](RequestContext& context) { return reply_text(context, 200, text(context.info)); });
    };
    add("dump_priority_levels", [this](const RequestInfo&) { return flow_control->dump_priority_levels(); });
    add("dump_queues", [this](const RequestInfo&) { return flow_control->dump_queues(); });
    add("dump_requests",
        [this](const RequestInfo& info) { return flow_control->dump_requests(!info.parameter("includeRequestDetails").empty()); });
}

Task<> ApiServerParts::serve_metrics(RequestContext& context) {
    std::string text;
    server.metrics().append(text);
    if (flow_control) flow_control->append_metrics(text);
    append_store_metrics(*store, tables->resources, text);
    MetricFamily(text, "kubernetes_build_info", "gauge", "The version of this server.")
        .add(metric_label("git_version", options.git_version), 1);
    webhook_metrics.append(text);
    policy_metrics.append(text);
    condition_metrics.append(text);
    access_condition_metrics.append(text);
    custom_resources.append_metrics(text);
    aggregator.append_metrics(text);
    if (options.audit) options.audit->append_metrics(text);
    if (options.more_metrics) {
        CO_TRY(const std::string more, co_await options.more_metrics());
        text += more;
    }
    co_return co_await reply_text(context, 200, std::move(text));
}

Task<> ApiServerParts::serve_resource(RequestContext& context) {
    // Held until the request ends: a definition may change meanwhile.
    const ResourcePtr resource = tables->resources.find(context.info.group, context.info.version, context.info.resource);
    if (!resource) co_return no_such_resource();
    if (context.info.subresource == "scale") co_return co_await handle_scale(handler, context, *resource);
    co_return co_await handler.handle(context, *resource);
}

}  // namespace porthole::apiserver
