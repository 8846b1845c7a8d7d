#pragma once
#include <string>

#include "hns/emulator/operations/transaction.h"

namespace porthole::hns::emulator {

/// Endpoints: their addresses, policies and reserved host ports. Documents are parsed already; ids in any case.

/// The new endpoint's id. Errors: Hresult::NetworkNotFound, InvalidEndpoint, ObjectAlreadyExists (id, name or address),
/// InvalidIp, AddressInvalidOrReserved, PortAlreadyExists (a mapped host port), InvalidPolicy...
Result<std::string> create_endpoint(Transaction& transaction, const std::string& network_id, hcn::HostComputeEndpoint document);
Result<void> modify_endpoint(Transaction& transaction, const std::string& id, const hcn::ModifySettingRequest& request);
/// Detaches it first. Load balancers keep its id, without effect.
Result<void> remove_endpoint(Transaction& transaction, const std::string& id);
/// Version 1: into the host's own compartment. Error: Hresult::EndpointAlreadyAttached.
Result<void> attach_to_host(Transaction& transaction, const std::string& id);
Result<void> detach_from_host(Transaction& transaction, const std::string& id);

}  // namespace porthole::hns::emulator
