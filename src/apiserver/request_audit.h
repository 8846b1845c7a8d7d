#pragma once
#include <memory>

#include "apiserver/audit/auditor.h"
#include "apiserver/handlers/request_context.h"
#include "schema/registry.h"

namespace porthole::apiserver {

/// The audit events of one request: which are written, when, and with what content. Lives as long as the request; collaborators outlive it.
///
/// The policy decides once the sender is known (or cannot be authenticated), before impersonation, as upstream does. Events are then
/// written at up to three stages: RequestReceived immediately, ResponseStarted when a watch or stream begins to answer, ResponseComplete at
/// the end. As upstream, a request whose sender could not be authenticated has one event, of the stage ResponseStarted.
///
/// Whether a request is refused is known only at the end. A request that no rule records and that is answered with 401 or 403 is recorded
/// then, at the policy's level for refusals.
class RequestAudit {
public:
    struct Seams {
        Auditor& auditor;
        const Clock& clock;
        const schema::Registry& registry;
    };
    RequestAudit(Seams seams, SystemTime received);
    ~RequestAudit();

    /// Wraps the responder of a watch or stream, to detect its beginning.
    net::HttpResponder& observe(net::HttpResponder& responder);
    AuditTrail& trail() { return trail_; }

    /// Called when the sender is known. `context` outlives this.
    void authenticated(const RequestContext& context);
    /// The answer is complete.
    void answered(const RequestContext& context);

private:
    class Observer;
    void response_started(int code);
    void refused_unauthenticated(const RequestContext& context);
    void record(const RequestContext& context, AuditStage stage, AuditLevel level, int code, const schema::Value* status);

    const Seams seams_;
    const SystemTime received_;
    const RequestContext* context_ = nullptr;  ///< once it is authenticated
    AuditDecision decision_;
    AuditTrail trail_;
    std::unique_ptr<Observer> observer_;
};

}  // namespace porthole::apiserver
