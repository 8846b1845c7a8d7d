#include "apiserver/server.h"

#include <algorithm>

#include "apiserver/authorization/node_authorizer.h"
#include "apiserver/future_reads.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/request/status.h"
#include "apiserver/subresources/relay.h"
#include "base/hash.h"
#include "base/result.h"
#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

constexpr std::string_view DecisionAnnotation = "authorization.k8s.io/decision";

std::string resource_key(std::string_view group, std::string_view resource) { return std::string(group) + '/' + std::string(resource); }

bool names_another_user(const net::HttpRequest& request) {
    return std::ranges::any_of(request.headers.fields(), [](const auto& field) { return field.first.starts_with("impersonate-"); });
}

/// One of the places that a limit allows, until the request has its answer.
class Place {
public:
    /// null: exempt
    explicit Place(std::size_t* taken) : taken_(taken) {
        if (taken_) ++*taken_;
    }
    ~Place() {
        if (taken_) --*taken_;
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

private:
    std::size_t* taken_;
};

/// Takes part in flow control while the request is at work.
class SeatedRequest {
public:
    SeatedRequest(RequestContext& context, FlowControl& flow_control)
        : context_(context), ticket_(flow_control, context.user, context.info) {
        context.ticket = &ticket_;
    }
    ~SeatedRequest() { context_.ticket = nullptr; }
    SeatedRequest(const SeatedRequest&) = delete;
    SeatedRequest& operator=(const SeatedRequest&) = delete;

private:
    RequestContext& context_;
    FlowControl::Ticket ticket_;
};

}  // namespace

Server::Server(Seams seams, Limits limits)
    : seams_(std::move(seams)), limits_(limits), bodies_of_nodes_(limits.held_bodies), bodies_of_others_(limits.held_bodies) {
    if (!seams_.flow_control) return;
    arrivals_.emplace(turns_.emplace(seams_.loop, seams_.loop, FlowControl::Options{}.turn));
}

void Server::set_user_headers(RequestHeaderOptions headers) {
    user_headers_.clear();
    for (const auto* names : {&headers.username_headers, &headers.uid_headers, &headers.group_headers})
        for (const std::string& name : *names) user_headers_.push_back(to_lower(name));
    user_header_prefixes_.clear();
    for (const std::string& prefix : headers.extra_prefixes)
        if (!prefix.empty()) user_header_prefixes_.push_back(to_lower(prefix));
}

void Server::add_resource(std::string_view group, std::string_view resource, Handler handler) {
    by_resource_[resource_key(group, resource)] = std::move(handler);
}

Task<> Server::handle(net::HttpRequest request, net::HttpResponder& responder) {
    co_return co_await serve(request, responder, std::nullopt);
}

Task<> Server::handle_as(User user, net::HttpRequest request, net::HttpResponder& responder) {
    co_return co_await serve(request, responder, std::move(user));
}

Task<> Server::handle_component(User user, net::HttpRequest request, net::HttpResponder& responder, const LeaderFence* fence) {
    co_return co_await serve(request, responder, std::move(user), true, fence);
}

Task<> Server::serve(net::HttpRequest& request, net::HttpResponder& responder, std::optional<User> known, bool component,
                     const LeaderFence* fence) {
    const MonotonicTime begun = seams_.loop.now();
    RequestInfo info = parse_request_info(request);
    std::unique_ptr<RequestAudit> audit;
    if (auditor_) audit = std::make_unique<RequestAudit>(RequestAudit::Seams{*auditor_, seams_.loop, *registry_}, seams_.loop.wall_now());
    const bool observed = audit && info.long_running();
    RequestContext context{
        .request = request, .responder = observed ? audit->observe(responder) : responder, .info = std::move(info), .begun = begun};
    context.audit_id = request.headers.get("audit-id").empty() ? seams_.random.uuid() : std::string(request.headers.get("audit-id"));
    context.by_component = component;
    context.fence = fence;
    if (audit) context.audit = &audit->trail();
    const bool is_known = known.has_value();
    if (known) context.user = std::move(*known);

    const bool served = is_served(context.info);
    metrics_.begin(context.info, served);
    auto answered = co_await authenticate_and_answer(context, is_known, audit.get());
    if (!answered && !is_cancelled(answered) && answered.error().reason != Reason::Unavailable) {
        // A timeout is what a client may ask for, with a resourceVersion of the future: no line in the log for each.
        const bool asked_for = answered.error().reason == Reason::ServiceUnavailable || answered.error().reason == Reason::Timeout;
        if (http_code(answered.error()) >= 500 && !asked_for)
            seams_.log.warn("request failed",
                            {{"verb", context.info.verb}, {"path", context.info.path}, {"error", answered.error().message}});
        answered = co_await reply_error(context, std::move(answered).error());
    }
    metrics_.end(context.info, served, context.info.has_parameter("dryRun"), context.code, seams_.loop.now() - begun);
    if (audit) audit->answered(context);
    co_return std::move(answered);
}

Task<> Server::authenticate_and_answer(RequestContext& context, bool known, RequestAudit* audit) {
    if (!known) {
        std::optional<Arrivals::Arrival> arrival;
        if (arrivals_) arrival.emplace(*arrivals_, context.request);
        if (arrival && !arrival->begin()) CO_TRY_VOID(co_await arrival->turn());
        CO_TRY(context.user, co_await seams_.authenticators.authenticate(context.request));
        if (arrival) arrival->authenticated(context.request, context.user.name);
        forget_credentials(context.request);
    }
    if (turns_) context.work = LongWork(*turns_, fnv1a_64(context.user.name));
    if (audit) audit->authenticated(context);
    if (impersonation_ && names_another_user(context.request)) {
        CO_TRY(User acted_as, co_await impersonation_(context.request, context.user));
        context.impersonator = std::exchange(context.user, std::move(acted_as));
    }
    if (long_running(context)) co_return co_await answer(context, known);
    auto answered = co_await with_timeout(answer(context, known), limits_.request_time, "request");
    if (!answered && answered.error().reason == Reason::Timeout && !context.responder.started() &&
        seams_.loop.now() - context.begun >= limits_.request_time)
        co_return Error(Reason::Timeout, "Timeout: request did not complete within the allotted timeout");
    co_return std::move(answered);
}

/// An extension server may stream by subresources of any name.
bool Server::long_running(const RequestContext& context) const {
    return context.info.long_running() || (wants_upgrade(context.request) && is_delegated(context.info));
}

void Server::forget_credentials(net::HttpRequest& request) const {
    const auto names_user = [this](const std::string& name) {
        return std::ranges::find(user_headers_, name) != user_headers_.end() ||
               std::ranges::any_of(user_header_prefixes_, [&](const std::string& prefix) { return name.starts_with(prefix); });
    };
    if (std::ranges::none_of(request.headers.fields(), [&](const auto& field) { return names_user(field.first); })) return;
    net::Headers kept;
    for (const auto& [name, value] : request.headers.fields())
        if (!names_user(name)) kept.add(name, value);
    request.headers = std::move(kept);
}

Result<std::unique_ptr<HeldBodies::Share>> Server::hold_body(const RequestContext& context) {
    if (context.user.in_group(GroupMasters)) return std::unique_ptr<HeldBodies::Share>();
    return (node_of(context.user) ? bodies_of_nodes_ : bodies_of_others_).hold(context.user.name, context.request.body.size());
}

Task<> Server::dispatch_and_report(RequestContext& context) {
    auto answered = co_await dispatch(context);
    // Nothing was said to the peer, so it is something else that cannot be reached.
    if (!answered && answered.error().reason == Reason::Unavailable && !context.responder.started())
        co_return Error(Reason::ServiceUnavailable, std::move(answered).error().message);
    co_return std::move(answered);
}

Task<> Server::answer(RequestContext& context, bool known) {
    auto allowed = co_await authorize(context);
    std::unique_ptr<HeldBodies::Share> body;
    if (allowed && !known) {
        CO_TRY(context.request.body, co_await context.responder.read_body());
        CO_TRY(body, hold_body(context));
    }
    if (const auto version = allowed ? awaited(context) : std::nullopt) {
        // Whether it came or not: hundreds of reads may end at the same moment, whose answers are limited like those of other requests.
        allowed = co_await future_reads_->wait(context.user.name, *version);
    }
    // Not before the body has come: a slow sender holds no place. A stream's work is done elsewhere.
    if (seams_.flow_control && (context.info.verb == "watch" || !context.info.long_running())) {
        const auto way = context.by_component ? FlowControl::Ticket::Way::Exempt : FlowControl::Ticket::Way::Matched;
        for (;;) {
            const SeatedRequest seated(context, *seams_.flow_control);
            const auto served = context.ticket->begin(way);
            if (!context.by_component) context.flow_ids = context.ticket->ids();
            if (!served) co_return served.error();
            if (!*served) CO_TRY_VOID(co_await *context.ticket);
            if (!allowed) co_return std::move(allowed);
            if (context.responder.has_room()) co_return co_await dispatch_and_report(context);
            // Many requests of a connection may have waited together, whose answers its peer does not read: not with a seat.
            context.give_back_seats();
            CO_TRY_VOID(co_await context.responder.room());
        }
    }
    CO_TRY_VOID(std::move(allowed));
    CO_TRY(std::size_t* const taken, find_place(context));
    const Place place(taken);
    co_return co_await dispatch_and_report(context);
}

std::optional<store::Revision> Server::awaited(const RequestContext& context) const {
    if (!future_reads_ || context.by_component || is_delegated(context.info) || !is_served(context.info)) return std::nullopt;
    return future_reads_->awaited(context.info);
}

Result<std::size_t*> Server::find_place(const RequestContext& context) {
    if (seams_.flow_control || context.info.long_running() || context.by_component || context.user.in_group(GroupMasters)) return nullptr;
    const bool mutating = is_mutating(context.info);
    Places& places = node_of(context.user) ? nodes_ : others_;
    std::size_t& taken = mutating ? places.mutating : places.reading;
    if (taken < (mutating ? limits_.mutating : limits_.reading)) return &taken;
    return too_many_requests();
}

Task<> Server::authorize(RequestContext& context) {
    const AuthorizationAttributes attributes = authorization_attributes(context.user, context.info);
    CO_TRY(const Decision decision, co_await seams_.authorizer.authorize(attributes));
    context.audit_annotations[std::string(DecisionAnnotation)] = decision.allowed() ? "allow" : "forbid";
    if (!decision.reason.empty()) context.audit_annotations["authorization.k8s.io/reason"] = decision.reason;
    if (decision.allowed()) co_return {};
    if (!decision.error.empty()) context.audit_annotations["authorization.k8s.io/reason"] = "internal error";
    if (context.by_component)
        seams_.log.warn("a component of the control plane was denied a request",
                        {{"user", context.user.name}, {"verb", context.info.verb}, {"path", context.info.path}});
    co_return refusal(attributes, decision);
}

Task<> Server::dispatch(RequestContext& context) {
    const RequestInfo& info = context.info;
    if (is_delegated(info)) co_return co_await delegate_(context);
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

}  // namespace porthole::apiserver
