#pragma once
#include <map>
#include <string>

#include "apiserver/handlers/request_context.h"
#include "runtime/task.h"

namespace porthole::apiserver {

/// /flagz: the settings that the server runs with, by the names of Kubernetes' flags (KEP-4828), as text or, where the Accept header asks
/// for `as=Flagz` of config.k8s.io, as JSON. `flags` holds nothing secret and outlives the task. Error: NotAcceptable.
Task<> serve_flagz(RequestContext& context, const std::map<std::string, std::string>& flags);

}  // namespace porthole::apiserver
