#pragma once
#include "api/rbac_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Gives a ClusterRole with an aggregationRule the rules of all ClusterRoles that its selectors match.
class ClusterRoleAggregationController final : public client::Controller {
public:
    static constexpr const char* Account = "clusterrole-aggregation-controller";
    explicit ClusterRoleAggregationController(Context& context);

private:
    using ClusterRole = api::rbac::v1::ClusterRole;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// In order of the roles' names, each rule once.
    std::vector<api::rbac::v1::PolicyRule> union_for(const ClusterRole& role) const;

    client::Client& client_;
    client::Informer<ClusterRole>& roles_;
};

}  // namespace porthole::controllers
