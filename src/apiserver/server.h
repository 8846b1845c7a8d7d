#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/authentication/authenticator.h"
#include "apiserver/authentication/request_header.h"
#include "apiserver/authorization/authorizer.h"
#include "apiserver/flow_control/arrivals.h"
#include "apiserver/flow_control/flow_control.h"
#include "apiserver/handlers/metrics.h"
#include "apiserver/handlers/request_context.h"
#include "apiserver/held_bodies.h"
#include "apiserver/request_audit.h"
#include "base/log.h"
#include "net/http/http.h"
#include "runtime/random.h"
#include "store/record.h"

namespace porthole::apiserver {

class FutureReads;

/// The path of every request: its turn among those that have arrived, authentication, impersonation, authorization, the body, flow control,
/// the handler; and its audit events (request_audit.h). The body is read once the sender is authorized by the head. Refusals also pass flow
/// control, so that a flood of them is limited like other requests.
///
/// The handler is found among routes: for a path, for a subresource, and one for all other resources. Add all routes before the first
/// request. Lives on one loop; what handlers and seams refer to must outlive it and every request.
class Server final : public net::HttpHandler {
public:
    using Handler = std::function<Task<>(RequestContext&)>;
    /// Replaces the authenticated user by the one that the request impersonates.
    using Impersonation = std::function<Task<User>(const net::HttpRequest&, User)>;

    struct Seams {
        EventLoop& loop;
        Random& random;
        Logger log;
        const AuthenticatorChain& authenticators;
        Authorizer& authorizer;
        FlowControl* flow_control = nullptr;  ///< null: requests in flight are counted instead
    };
    struct Limits {
        /// Requests in flight; flow control divides their sum among priority levels. Without flow control, further requests are answered
        /// with 429. Exempt then are watches, streams and requests of system:masters and of this process's own components, since a burst of
        /// them would block all other users. Nodes have separate limits of the same size, so that other users' requests cannot make their
        /// leases expire.
        std::size_t mutating = 200, reading = 400;
        Duration request_time = std::chrono::seconds(60);  ///< for a request that is not long_running(); then it is answered 504
        /// Bytes of the bodies of requests that wait or are handled: one limit for nodes and one for other users; more are answered with
        /// 429. system:masters are exempt.
        std::size_t held_bodies = 256 << 20;
        std::size_t waiting_reads = 400;  ///< FutureReads
    };
    Server(Seams seams, Limits limits);

    /// Of all work for requests on the loop; null without flow control.
    Turns* turns() { return turns_ ? &*turns_ : nullptr; }

    /// `path` exactly, or everything below it when it ends with "/".
    void add_path(std::string path, Handler handler) { paths_[std::move(path)] = std::move(handler); }
    /// `resource` is "pods/log"; it may be in any version of its group.
    void add_resource(std::string_view group, std::string_view resource, Handler handler);
    void set_resources(Handler handler) { resources_ = std::move(handler); }
    /// Whether the API has the group, version, resource and subresource. Requests for others are answered 404, and counted together.
    using IsServed = std::function<bool(const RequestInfo&)>;
    void set_served(IsServed served) { served_ = std::move(served); }
    /// Requests that another server answers. `is_delegated` decides by the head, before all routes.
    void set_delegate(IsServed is_delegated, Handler handler) {
        is_delegated_ = std::move(is_delegated);
        delegate_ = std::move(handler);
    }
    void set_impersonation(Impersonation impersonation) { impersonation_ = std::move(impersonation); }
    /// Outlives the server.
    void set_future_reads(FutureReads& reads) { future_reads_ = &reads; }
    /// The headers in which proxies name users. No request is passed on with them.
    void set_user_headers(RequestHeaderOptions headers);
    /// Records requests from now on. Both outlive the server.
    void set_audit(Auditor& auditor, const schema::Registry& registry) {
        auditor_ = &auditor;
        registry_ = &registry;
    }

    Task<> handle(net::HttpRequest request, net::HttpResponder& responder) override;
    /// For components of this process, whose requests include their bodies: without the limits, and a denied request is logged as a
    /// warning, because it is a defect of ours. `fence` may be null, and outlives the request.
    Task<> handle_component(User user, net::HttpRequest request, net::HttpResponder& responder, const LeaderFence* fence = nullptr);
    /// For a user who is already known, also with the body.
    Task<> handle_as(User user, net::HttpRequest request, net::HttpResponder& responder);

    const RequestMetrics& metrics() const { return metrics_; }

private:
    Task<> serve(net::HttpRequest& request, net::HttpResponder& responder, std::optional<User> known, bool component = false,
                 const LeaderFence* fence = nullptr);
    Task<> authenticate_and_answer(RequestContext& context, bool known, RequestAudit* audit);
    Task<> answer(RequestContext& context, bool known);
    /// Removes the sender's credentials from a request that may be forwarded.
    void forget_credentials(net::HttpRequest& request) const;
    Result<std::unique_ptr<HeldBodies::Share>> hold_body(const RequestContext& context);
    /// dispatch(); if it fails with Unavailable and the peer is still connected, that is answered.
    Task<> dispatch_and_report(RequestContext& context);
    Task<> authorize(RequestContext& context);
    /// The version for which a request waits before it takes a seat.
    std::optional<store::Revision> awaited(const RequestContext& context) const;
    /// The counter for the request; null if it is exempt. Error: TooManyRequests.
    Result<std::size_t*> find_place(const RequestContext& context);
    Task<> dispatch(RequestContext& context);
    bool is_delegated(const RequestInfo& info) const { return is_delegated_ && is_delegated_(info); }
    /// Whether the answer has no time limit.
    bool long_running(const RequestContext& context) const;
    bool is_served(const RequestInfo& info) const { return info.is_resource && (!served_ || served_(info)); }

    Seams seams_;
    Limits limits_;
    // With flow control:
    std::optional<Turns> turns_;
    std::optional<Arrivals> arrivals_;
    struct Places {
        std::size_t mutating = 0, reading = 0;  // in flight
    };
    Places nodes_, others_;
    HeldBodies bodies_of_nodes_, bodies_of_others_;
    std::vector<std::string> user_headers_, user_header_prefixes_;  ///< in lower case
    std::map<std::string, Handler, std::less<>> paths_;
    std::map<std::string, Handler, std::less<>> by_resource_;  // "group/pods/log"
    Handler resources_;
    IsServed served_, is_delegated_;
    FutureReads* future_reads_ = nullptr;
    Handler delegate_;
    Impersonation impersonation_;
    Auditor* auditor_ = nullptr;
    const schema::Registry* registry_ = nullptr;  ///< for audited bodies
    RequestMetrics metrics_;
};

}  // namespace porthole::apiserver
