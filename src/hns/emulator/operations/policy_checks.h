#pragma once
#include <string>

#include "hns/emulator/operations/transaction.h"

namespace porthole::hns::emulator {

/// Hresult::InvalidPolicy: "The policy OutBoundNAT is invalid: ...".
Error invalid_policy(const hcn::Policy& policy, const std::string& why);
/// "10.0.0.1,10.1.0.0/16" or ids of sets; empty means any. Blanks are ignored.
Result<void> check_address_list(const hcn::Policy& policy, const std::string& list, bool sets_too = false);
/// "80,8000-8010"; empty means any.
Result<void> check_port_list(const hcn::Policy& policy, const std::string& list);
/// ACL and NetworkACL.
Result<void> check_acl(const hcn::Policy& policy);

/// An endpoint's policy in its stored form. Errors: Hresult::InvalidPolicyType, InvalidPolicy, InvalidInternalPort.
Result<hcn::Policy> check_endpoint_policy(const Host& host, hcn::Policy policy);

}  // namespace porthole::hns::emulator
