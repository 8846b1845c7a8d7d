#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/authentication/authenticator.h"
#include "apiserver/authorization/authorizer.h"
#include "apiserver/handlers/metrics.h"
#include "apiserver/handlers/request_context.h"
#include "base/log.h"
#include "net/http.h"
#include "runtime/random.h"

namespace porthole::apiserver {

/// The way of every request: who is it, may they, what is asked, and a line in the audit log.
///
/// What is asked is found among routes: a handler for a path, for a subresource, and one for all other resources.
class Server final : public net::HttpHandler {
public:
    using Handler = std::function<Task<>(RequestContext&)>;
    /// Turns the authenticated user into the one that the request wants to act as.
    using Impersonation = std::function<Task<User>(const net::HttpRequest&, User)>;
    /// One finished request, as JSON of audit.k8s.io/v1 Event at the level Metadata, without a line break.
    using AuditSink = std::function<void(const std::string& line)>;

    struct Seams {
        EventLoop& loop;
        Random& random;
        Logger log;
        const AuthenticatorChain& authenticators;
        Authorizer& authorizer;
    };
    struct Limits {
        /// Requests in flight; more are answered with 429. Watches, streams and requests of system:masters, which include those of
        /// this process's own components, are exempt: a burst of them would lock out everyone else.
        std::size_t mutating = 200, reading = 400;
    };
    Server(Seams seams, Limits limits);

    /// `path` exactly, or everything below it when it ends with "/".
    void add_path(std::string path, Handler handler) { paths_[std::move(path)] = std::move(handler); }
    /// `resource` is "pods/log"; it may be in any version of its group.
    void add_resource(std::string_view group, std::string_view resource, Handler handler);
    void set_resources(Handler handler) { resources_ = std::move(handler); }
    void set_impersonation(Impersonation impersonation) { impersonation_ = std::move(impersonation); }
    void set_audit(AuditSink sink) { audit_ = std::move(sink); }

    Task<> handle(net::HttpRequest request, net::HttpResponder& responder) override;
    /// For callers in this process, who are known.
    Task<> handle_as(User user, net::HttpRequest request, net::HttpResponder& responder);

    const RequestMetrics& metrics() const { return metrics_; }

private:
    Task<> serve(net::HttpRequest& request, net::HttpResponder& responder, std::optional<User> known);
    Task<> authenticate_and_dispatch(RequestContext& context, bool known);
    Task<> authorize(RequestContext& context);
    Task<> dispatch(RequestContext& context);
    void audit(const RequestContext& context, SystemTime received) const;

    Seams seams_;
    Limits limits_;
    std::size_t mutating_ = 0, reading_ = 0;  // places that are taken
    std::map<std::string, Handler, std::less<>> paths_;
    std::map<std::string, Handler, std::less<>> by_resource_;  // "group/pods/log"
    Handler resources_;
    Impersonation impersonation_;
    AuditSink audit_;
    RequestMetrics metrics_;
};

}  // namespace porthole::apiserver
