#pragma once
#include <vector>

#include "hns/emulator/operations/transaction.h"

namespace porthole::hns::emulator {

/// A network's policy in its stored form. Errors: Hresult::InvalidPolicyType (unknown, or not in this release), InvalidPolicy.
Result<hcn::Policy> check_network_policy(const Host& host, const hcn::HostComputeNetwork& network, hcn::Policy policy);
Result<hcn::Policy> check_subnet_policy(const hcn::HostComputeNetwork& network, hcn::Policy policy);

/// Error: Hresult::PolicyAlreadyExists for an identical one, a second HostRoute, or a set with the same id. Another RemoteSubnetRoute for
/// the same prefix is accepted: the last one is used.
Result<void> add_network_policy(std::vector<hcn::Policy>& policies, hcn::Policy policy);
/// Error: Hresult::PolicyNotFound unless type and all settings match.
Result<void> remove_policy(std::vector<hcn::Policy>& policies, const hcn::Policy& policy);
/// Replaces all policies of the given types.
void replace_policies(std::vector<hcn::Policy>& policies, std::vector<hcn::Policy> replacements);

}  // namespace porthole::hns::emulator
