#pragma once
#include <string>

#include "hns/emulator/operations/transaction.h"

namespace porthole::hns::emulator {

/// Namespaces, which are network compartments: endpoints and containers in them. Ids in any case.

/// The compartment of the host itself; namespaces of type HostDefault are this one.
inline constexpr std::uint32_t HostCompartment = 1;

/// The new namespace's id. Errors: Hresult::AlreadyExists, 0x803b0029 (a second default one), RequestUnsupported
/// (types of utility VMs).
Result<std::string> create_namespace(Transaction& transaction, hcn::HostComputeNamespace document);
/// Adds or removes an endpoint or a container.
Result<void> modify_namespace(Transaction& transaction, const std::string& id, const hcn::ModifySettingRequest& request);
/// Detaches its endpoints.
Result<void> remove_namespace(Transaction& transaction, const std::string& id);

/// Errors: Hresult::ElementNotFound (namespace), EndpointNotFound, InvalidRemoteEndpointOperation, EndpointAlreadyAttached (here
/// or to the host), EndpointNamespaceAlreadyExists (elsewhere).
Result<void> attach_endpoint(Transaction& transaction, const std::string& namespace_id, const std::string& endpoint_id);
/// Error: Hresult::ElementNotFound when the endpoint is unknown or not in it.
Result<void> detach_endpoint(Transaction& transaction, const std::string& namespace_id, const std::string& endpoint_id);
/// The namespace that a container is in; nullptr if none has it.
const Namespace* find_namespace_of_container(const Model& model, const std::string& container_id);

}  // namespace porthole::hns::emulator
