#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/audit/audit_event.h"
#include "apiserver/flow_control/flow_control.h"
#include "apiserver/request/negotiation.h"
#include "apiserver/request/request_info.h"
#include "apiserver/request/user.h"
#include "net/http/http.h"
#include "runtime/event_loop.h"

namespace porthole::apiserver {

class LeaderFence;

/// What handlers leave for the audit log.
struct AuditTrail {
    AuditLevel level = AuditLevel::None;
    AuditObject object;    ///< that the body names
    schema::Value status;  ///< the Status that was answered; null where it was something else
    // The answer, at the level RequestResponse:
    std::string response_type;
    std::vector<net::Bytes> response;
};

/// One request on its way through the handlers. Lives in the server's task for it, which outlives every handler's.
struct RequestContext {
    net::HttpRequest& request;
    net::HttpResponder& responder;
    RequestInfo info;
    MonotonicTime begun{};
    User user;                                  ///< whose rights count
    std::optional<User> impersonator;           ///< who sent the request, where that is another user
    bool by_component = false;                  ///< of this process
    const LeaderFence* fence = nullptr;         ///< what keeps the component from writing once another server runs it; may be null
    std::shared_ptr<const FlowIds> flow_ids{};  ///< how the request was classified; null for components, and without priority and fairness
    FlowControl::Ticket* ticket = nullptr;      ///< whose seats are given back when the answer is made; may be null
    std::string audit_id;
    std::vector<std::string> warnings;  ///< become Warning headers
    std::map<std::string, std::string> audit_annotations;
    AuditTrail* audit = nullptr;  ///< null when nothing is recorded
    int code = 0;                 ///< what was answered, once it was

    /// The work for the request is over: what is left is to send, at the peer's pace.
    void give_back_seats() const {
        if (ticket) ticket->finish();
    }
};

}  // namespace porthole::apiserver
