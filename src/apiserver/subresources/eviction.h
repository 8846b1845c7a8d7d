#pragma once
#include "apiserver/handlers/resource_handler.h"

namespace porthole::apiserver {

/// POST of an Eviction to pods/x/eviction: a deletion that the pod's disruption budget must allow.
Task<> handle_eviction(ResourceHandler& handler, RequestContext& context);

}  // namespace porthole::apiserver
