#pragma once
#include <string>

#include "hns/emulator/operations/transaction.h"

namespace porthole::hns::emulator {

/// SDN routes: created and removed, never changed. Documents are already parsed; ids in any case.

/// Errors: Hresult::EndpointNotFound, NetworkNotFound, InvalidPrefix, InvalidIp, InvalidParameter.
Result<std::string> create_route(Transaction& transaction, hcn::HostComputeRoute document);
Result<void> remove_route(Transaction& transaction, const std::string& id);

}  // namespace porthole::hns::emulator
