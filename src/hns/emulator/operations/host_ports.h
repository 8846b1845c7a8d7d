#pragma once
#include "hns/emulator/operations/transaction.h"

namespace porthole::hns::emulator {

/// The host's ports that endpoints (PortMapping) and load balancers reserve. A reservation is of an address, or of all of the
/// host's when it names none; one protocol and port is reserved once. Error: Hresult::PortAlreadyExists.

/// For an endpoint that is created or changed: its own previous reservations do not count.
Result<void> check_host_ports(const Transaction& transaction, const hcn::HostComputeEndpoint& endpoint);
/// The same for a load balancer.
Result<void> check_host_ports(const Transaction& transaction, const hcn::HostComputeLoadBalancer& balancer);
/// The load balancer that uses one of its ports; nullptr if there is none.
const LoadBalancer* find_holder(const Transaction& transaction, const hcn::HostComputeLoadBalancer& balancer);

}  // namespace porthole::hns::emulator
