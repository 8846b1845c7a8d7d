#pragma once
#include <string_view>

#include "hns/documents.h"

namespace porthole::hns {

/// The object that a policy is part of.
enum class PolicyOwner { Network, Subnet, Endpoint };

/// A policy type of the service: its name in the service's spelling, and the struct of its settings.
struct PolicyKind {
    std::string_view name;
    PolicyOwner owner;
    const schema::Type* settings;  ///< nullptr if it has none
};

/// By name in any case; nullptr for unknown ones.
const PolicyKind* find_policy_kind(PolicyOwner owner, std::string_view name);

/// The policy as the service would show it: its type in the service's spelling, its settings without empty or unknown members.
/// Errors: Hresult::InvalidPolicyType for a type that this owner cannot have, InvalidPolicy for settings of the wrong form.
Result<hcn::Policy> canonical_policy(PolicyOwner owner, hcn::Policy policy);

/// Both in canonical form, and equal.
bool same_policy(const hcn::Policy& left, const hcn::Policy& right);

}  // namespace porthole::hns
