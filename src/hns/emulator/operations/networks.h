#pragma once
#include <string>

#include "hns/emulator/operations/transaction.h"

namespace porthole::hns::emulator {

/// Networks: their types, subnets, switches and policies. Documents are already parsed; ids in any case.

/// The new network's id. One with an external switch is not ready yet: see network_became_ready.
/// Errors: Hresult::NetworkAlreadyExists (name or id), AdapterNotFound (none, or in use by a switch of another kind),
/// InvalidNetworkType, InvalidSubnet, InvalidPrefix, InvalidPolicy...
Result<std::string> create_network(Transaction& transaction, hcn::HostComputeNetwork document);
/// The switch is up and the management address is back: shows it, and the router's MAC of an overlay network.
Result<void> network_became_ready(Transaction& transaction, const std::string& id);
Result<void> modify_network(Transaction& transaction, const std::string& id, const hcn::ModifySettingRequest& request);
/// With its endpoints.
Result<void> remove_network(Transaction& transaction, const std::string& id);
/// The same network under a new id and without endpoints, as when an administrator recreates it.
Result<std::string> remake_network(Transaction& transaction, const std::string& id);

}  // namespace porthole::hns::emulator
