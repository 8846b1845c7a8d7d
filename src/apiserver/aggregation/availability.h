#pragma once
#include <memory>

#include "apiserver/aggregation/extension_servers.h"
#include "runtime/task.h"

namespace porthole::apiserver {

using api::apiregistration::v1::APIServiceCondition;

/// The condition Available of an APIService, from a check now: whether its service has the port and endpoints, and one of these answers
/// discovery of the group version. Without the transition time. Requires: it names a service. Error: Cancelled.
Task<APIServiceCondition> check_availability(ExtensionServers& servers, const ObjectReader& reader,
                                             std::shared_ptr<const APIService> service);

}  // namespace porthole::apiserver
