#pragma once
#include "apiserver/handlers/resource_handler.h"

namespace porthole::apiserver {

/// GET, PUT and PATCH of the Scale of a workload: its number of replicas, in autoscaling/v1's form.
Task<> handle_scale(ResourceHandler& handler, RequestContext& context, const Resource& resource);

}  // namespace porthole::apiserver
