#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/type.h"
#include "schema/value.h"

/// Errors with Kubernetes' messages, and the `Status` objects that carry them.
namespace porthole::apiserver {

/// `{"kind":"Status", ...}` for a failure; its `code` is the HTTP code to send.
schema::Value status_of(const Error& error);
std::string status_json(const Error& error);
/// The answer to a delete that has removed the object.
schema::Value success_status(const schema::Kind& kind, std::string_view name, std::string_view uid);

/// "pods" or "deployments.apps".
std::string qualified_resource(const schema::Kind& kind);

Error not_found(const schema::Kind& kind, std::string_view name);
Error already_exists(const schema::Kind& kind, std::string_view name);
/// "Operation cannot be fulfilled on <resource> "<name>": <why>"
Error conflict(const schema::Kind& kind, std::string_view name, const std::string& why);
/// Conflict: the object has been modified.
Error modified_meanwhile(const schema::Kind& kind, std::string_view name);
Error bad_request(std::string message);
/// A path that names no resource served here.
Error no_such_resource();
Error method_not_allowed();
/// `what` completes "<verb> is not supported on resources of kind".
Error verb_not_supported(const schema::Kind& kind, std::string_view verb);
/// Forbidden: "object is being deleted: ..." and other refusals because of the object's present state.
Error forbidden_object(const schema::Kind& kind, std::string_view name, const std::string& why);
/// 429 with Retry-After: 1.
Error too_many_requests();

}  // namespace porthole::apiserver
