#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "apiserver/audit/audit_policy.h"
#include "net/http/http.h"
#include "runtime/event_loop.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// The object of a request, as far as its body identifies it; the path takes precedence.
struct AuditObject {
    std::string namespace_, name, uid, resource_version;
};

/// One audit.k8s.io/v1 Event, before it is text. Borrows everything.
struct AuditEvent {
    AuditLevel level;
    AuditStage stage;
    std::string_view audit_id;
    const net::HttpRequest& request;
    const RequestInfo& info;
    const User* user = nullptr;          ///< the sender; null if unknown
    const User* impersonated = nullptr;  ///< the user that the sender acted as
    const AuditObject* object = nullptr;
    int code = 0;                           ///< 0: no answer yet
    const schema::Value* status = nullptr;  ///< of a failure or a deletion: the Status that was answered
    const schema::Value* request_object = nullptr;
    const schema::Value* response_object = nullptr;
    SystemTime received, stage_time;
    const std::map<std::string, std::string>* annotations = nullptr;
};

/// One line of JSON without a line break, in upstream's order of fields.
std::string to_line(const AuditEvent& event);

/// Without managedFields: of an object, or of the items of a list.
void remove_managed_fields(schema::Value& object);

/// "Authentication failed, attempted: bearer": the credentials of a request that failed authentication.
std::string attempted_authentication(const net::HttpRequest& request);

}  // namespace porthole::apiserver
