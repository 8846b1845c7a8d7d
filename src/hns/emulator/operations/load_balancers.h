#pragma once
#include <string>

#include "hns/emulator/operations/transaction.h"

namespace porthole::hns::emulator {

/// Load balancers and their limits in each release. Documents are already parsed; ids in any case.

/// Returns the new load balancer's id. Errors: Hresult::EndpointNotFound, NetworkNotFound, InvalidIp, InvalidInternalPort, InvalidPolicy
/// (protocol), RequestUnsupported (missing in the release), InvalidParameter (too many backends), PortAlreadyExists (the same address,
/// protocol and port; or no port is left for its SNAT), AlreadyExists (an identical one was restored when the service started).
Result<std::string> create_load_balancer(Transaction& transaction, hcn::HostComputeLoadBalancer document);
/// Replaces the document. Error: Hresult::NotImplemented where the release cannot, else as above.
Result<void> modify_load_balancer(Transaction& transaction, const std::string& id, hcn::HostComputeLoadBalancer document);
Result<void> remove_load_balancer(Transaction& transaction, const std::string& id);

}  // namespace porthole::hns::emulator
