#pragma once
#include <string>

#include "cmd/windows/service_order.h"
#include "hns/hns.h"
#include "runtime/task.h"

namespace porthole::cmd {

/// Removes the HNS network of this name with all that stands on it: load balancers of its endpoints, then the endpoints. Fine where
/// there is none.
Task<> remove_pod_network(hns::Hns& hns, std::string name, Report report);

}  // namespace porthole::cmd
