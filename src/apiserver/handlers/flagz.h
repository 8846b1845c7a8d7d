#pragma once
#include <map>
#include <string>

#include "apiserver/handlers/request_context.h"
#include "runtime/task.h"

namespace porthole::apiserver {

/// /flagz: the server's settings by the names of Kubernetes' flags (KEP-4828), as text or, if the Accept header has `as=Flagz` of
/// config.k8s.io, as JSON. `flags` has no secrets and outlives the task. Error: NotAcceptable.
Task<> serve_flagz(RequestContext& context, const std::map<std::string, std::string>& flags);

}  // namespace porthole::apiserver
