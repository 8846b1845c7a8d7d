#pragma once
#include <vector>

#include "api/rbac_v1.h"

namespace porthole::apiserver {

/// The roles and bindings that every cluster starts with (bootstrap_policy.txt), with Kubernetes' names and labels. At each
/// start of the server missing ones are created and missing rules and subjects added, unless an object's annotation
/// rbac.authorization.kubernetes.io/autoupdate is "false".
struct BootstrapPolicy {
    std::vector<api::rbac::v1::ClusterRole> cluster_roles;
    std::vector<api::rbac::v1::ClusterRoleBinding> cluster_role_bindings;
    std::vector<api::rbac::v1::Role> roles;
    std::vector<api::rbac::v1::RoleBinding> role_bindings;
};
BootstrapPolicy bootstrap_policy();

/// Adds the parts of `wanted` that `rules` does not cover. True if something was added.
bool add_missing_rules(std::vector<api::rbac::v1::PolicyRule>& rules, const std::vector<api::rbac::v1::PolicyRule>& wanted);

}  // namespace porthole::apiserver
