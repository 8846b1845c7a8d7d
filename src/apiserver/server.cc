#include "apiserver/server.h"

#include <algorithm>

#include "apiserver/authorization/node_authorizer.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/request/status.h"
#include "base/error_reasons.h"
#include "schema/json.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr std::string_view DecisionAnnotation = "authorization.k8s.io/decision";

std::string resource_key(std::string_view group, std::string_view resource) { return std::string(group) + '/' + std::string(resource); }

bool names_another_user(const net::HttpRequest& request) {
    return std::ranges::any_of(request.headers.fields(), [](const auto& field) { return field.first.starts_with("impersonate-"); });
}

Value audit_user(const User& user) {
    Value value = Value::object({{"username", user.name}});
    if (!user.uid.empty()) value["uid"] = user.uid;
    Value groups = Value::array();
    for (const std::string& group : user.groups) groups.as_array().emplace_back(group);
    value["groups"] = std::move(groups);
    return value;
}

Value audit_object(const RequestInfo& info) {
    Value object = Value::object({{"resource", info.resource}});
    const auto set = [&](const char* key, const std::string& text) {
        if (!text.empty()) object[key] = text;
    };
    set("namespace", info.namespace_);
    set("name", info.name);
    set("apiGroup", info.group);
    set("apiVersion", info.version);
    set("subresource", info.subresource);
    return object;
}

/// One of the places that a limit allows, until the request has its answer.
class Place {
public:
    explicit Place(std::size_t& taken) : taken_(taken) { ++taken_; }
    ~Place() { --taken_; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

private:
    std::size_t& taken_;
};

}  // namespace

Server::Server(Seams seams, Limits limits) : seams_(std::move(seams)), limits_(limits) {}

void Server::add_resource(std::string_view group, std::string_view resource, Handler handler) {
    by_resource_[resource_key(group, resource)] = std::move(handler);
}

Task<> Server::handle(net::HttpRequest request, net::HttpResponder& responder) {
    co_return co_await serve(request, responder, std::nullopt);
}

Task<> Server::handle_as(User user, net::HttpRequest request, net::HttpResponder& responder) {
    co_return co_await serve(request, responder, std::move(user));
}

Task<> Server::serve(net::HttpRequest& request, net::HttpResponder& responder, std::optional<User> known) {
    const MonotonicTime begun = seams_.loop.now();
    const SystemTime received = seams_.loop.wall_now();
    RequestContext context{.request = request, .responder = responder, .info = parse_request_info(request), .begun = begun};
    context.audit_id = request.headers.get("audit-id").empty() ? seams_.random.uuid() : std::string(request.headers.get("audit-id"));
    const bool is_known = known.has_value();
    if (known) context.user = std::move(*known);

    const bool served = is_served(context.info);
    metrics_.begin(context.info, served);
    auto answered = co_await authenticate_and_dispatch(context, is_known);
    if (!answered && !is_cancelled(answered) && answered.error().reason != Reason::Unavailable) {
        if (http_code(answered.error().reason) >= 500 && answered.error().reason != Reason::ServiceUnavailable)
            seams_.log.warn("request failed",
                            {{"verb", context.info.verb}, {"path", context.info.path}, {"error", answered.error().message}});
        answered = co_await reply_error(context, std::move(answered).error());
    }
    metrics_.end(context.info, served, context.info.has_parameter("dryRun"), context.code, seams_.loop.now() - begun);
    if (audit_) audit(context, received);
    co_return std::move(answered);
}

Task<> Server::authenticate_and_dispatch(RequestContext& context, bool known) {
    if (!known) {
        CO_TRY(context.user, co_await seams_.authenticators.authenticate(context.request));
    }
    if (impersonation_ && names_another_user(context.request)) {
        CO_TRY(User acted_as, co_await impersonation_(context.request, context.user));
        context.impersonator = std::exchange(context.user, std::move(acted_as));
    }
    std::optional<Place> place;
    if (!context.info.long_running() && !context.user.in_group(GroupMasters)) {
        const bool mutating = is_mutating(context.info);
        Places& places = node_of(context.user) ? nodes_ : others_;
        std::size_t& taken = mutating ? places.mutating : places.reading;
        if (taken >= (mutating ? limits_.mutating : limits_.reading)) {
            Error error(Reason::TooManyRequests, "Too many requests, please try again later.");
            error.details->retry_after_seconds = 1;
            co_return error;
        }
        place.emplace(taken);
    }
    if (context.info.long_running()) co_return co_await answer(context);
    auto answered = co_await with_timeout(answer(context), limits_.request_time, "request");
    if (!answered && answered.error().reason == Reason::Timeout && !context.responder.started() &&
        seams_.loop.now() - context.begun >= limits_.request_time)
        co_return Error(Reason::Timeout, "Timeout: request did not complete within the allotted timeout");
    co_return std::move(answered);
}

Task<> Server::answer(RequestContext& context) {
    CO_TRY_VOID(co_await authorize(context));
    co_return co_await dispatch(context);
}

Task<> Server::authorize(RequestContext& context) {
    const AuthorizationAttributes attributes = authorization_attributes(context.user, context.info);
    CO_TRY(const Decision decision, co_await seams_.authorizer.authorize(attributes));
    context.audit_annotations[std::string(DecisionAnnotation)] = decision.allowed() ? "allow" : "forbid";
    if (!decision.reason.empty()) context.audit_annotations["authorization.k8s.io/reason"] = decision.reason;
    if (!decision.allowed()) co_return forbidden(attributes, decision.reason);
    co_return {};
}

Task<> Server::dispatch(RequestContext& context) {
    const RequestInfo& info = context.info;
    if (info.is_resource) {
        if (!is_served(info) || (info.verb == "watch" && !info.subresource.empty())) co_return no_such_resource();
        const auto route = by_resource_.find(resource_key(info.group, info.resource_and_subresource()));
        if (route != by_resource_.end()) co_return co_await route->second(context);
        if (!resources_) co_return no_such_resource();
        co_return co_await resources_(context);
    }
    std::string_view path = info.path;
    if (const auto exact = paths_.find(path); exact != paths_.end()) co_return co_await exact->second(context);
    for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos && slash > 0; slash = path.substr(0, slash).rfind('/')) {
        if (const auto below = paths_.find(path.substr(0, slash + 1)); below != paths_.end()) co_return co_await below->second(context);
    }
    co_return co_await reply_text(context, 404, "404 page not found\n");
}

void Server::audit(const RequestContext& context, SystemTime received) const {
    Value event = Value::object({{"kind", "Event"}, {"apiVersion", "audit.k8s.io/v1"}, {"level", "Metadata"}});
    event["auditID"] = context.audit_id;
    event["stage"] = "ResponseComplete";
    event["requestURI"] = context.request.path + (context.request.query.empty() ? "" : "?" + context.request.query);
    event["verb"] = context.info.verb;
    // Who did it comes first; whom they acted as says why they could.
    event["user"] = audit_user(context.impersonator ? *context.impersonator : context.user);
    if (context.impersonator) event["impersonatedUser"] = audit_user(context.user);
    if (!context.request.peer.address.empty()) event["sourceIPs"] = Value::array({context.request.peer.address});
    if (const auto agent = context.request.headers.get("user-agent"); !agent.empty()) event["userAgent"] = agent;
    if (context.info.is_resource) event["objectRef"] = audit_object(context.info);
    event["responseStatus"] = Value::object({{"metadata", Value::object()}, {"code", context.code}});
    event["requestReceivedTimestamp"] = MicroTimestamp(received).to_string();
    event["stageTimestamp"] = MicroTimestamp(seams_.loop.wall_now()).to_string();
    Value annotations = Value::object();
    for (const auto& [key, value] : context.audit_annotations) annotations[key] = value;
    event["annotations"] = std::move(annotations);
    audit_(schema::to_json(event));
}

}  // namespace porthole::apiserver
