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
#include "runtime/turns.h"

namespace porthole::apiserver {

class LeaderFence;

/// Facts from handlers for the audit log.
struct AuditTrail {
    AuditLevel level = AuditLevel::None;
    AuditObject object;    ///< that the body names
    schema::Value status;  ///< the Status that was answered; null if it was something else
    // The answer, at the level RequestResponse:
    std::string response_type;
    std::vector<net::Bytes> response;
};

/// One request during its processing. Lives in the server's task for it, which outlives every handler.
struct RequestContext {
    net::HttpRequest& request;
    net::HttpResponder& responder;
    RequestInfo info;
    MonotonicTime begun{};
    User user;                                  ///< the user whose rights apply
    std::optional<User> impersonator;           ///< the sender, if it impersonates another user
    bool by_component = false;                  ///< of this process
    const LeaderFence* fence = nullptr;         ///< prevents the component from writing once another server runs it; may be null
    std::shared_ptr<const FlowIds> flow_ids{};  ///< how the request was classified; null for components, and without priority and fairness
    FlowControl::Ticket* ticket = nullptr;      ///< returns its seats when the answer is ready; may be null
    LongWork work;                              ///< for handlers with much work, such as lists and watches
    std::string audit_id;
    std::vector<std::string> warnings;  ///< become Warning headers
    std::map<std::string, std::string> audit_annotations;
    AuditTrail* audit = nullptr;  ///< null if nothing is recorded
    int code = 0;                 ///< of the answer, once there is one

    /// What is left of a list is made in pieces.
    void go_on_in_pieces() const {
        if (ticket) ticket->go_on_in_pieces();
    }
    /// The work for the request is done; only sending remains, as fast as the peer reads.
    void give_back_seats() const {
        if (ticket) ticket->finish();
    }
};

}  // namespace porthole::apiserver
