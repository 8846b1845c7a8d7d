#pragma once
#include "apiserver/handlers/request_context.h"

namespace porthole::apiserver {

/// Whether the answer's JSON is indented without the client's media type saying so: by the parameter `pretty`, or without it for browsers,
/// curl and wget, as upstream does by their User-Agent.
bool wants_indentation(const RequestContext& context);

}  // namespace porthole::apiserver
