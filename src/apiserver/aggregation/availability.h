#pragma once
#include <memory>

#include "apiserver/aggregation/extension_servers.h"
#include "runtime/task.h"

namespace porthole::apiserver {

using api::apiregistration::v1::APIServiceCondition;

/// The condition Available of an APIService, as it has to be now: its service has the port and endpoints, and someone there answers the
/// discovery of the group version. Without the time of its transition. Requires: it names a service. Error: Cancelled.
Task<APIServiceCondition> check_availability(ExtensionServers& servers, const ObjectReader& reader,
                                             std::shared_ptr<const APIService> service);

}  // namespace porthole::apiserver
