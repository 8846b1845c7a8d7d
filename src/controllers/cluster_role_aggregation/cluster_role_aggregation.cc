#include "controllers/cluster_role_aggregation/cluster_role_aggregation.h"

#include <algorithm>
#include <set>

#include "objects/selectors.h"
#include "schema/json/json.h"

namespace porthole::controllers {

using api::rbac::v1::AggregationRule;
using api::rbac::v1::PolicyRule;

namespace {

bool selects(const AggregationRule& aggregation, const objects::Labels& labels) {
    return std::ranges::any_of(aggregation.cluster_role_selectors,
                               [&](const auto& selector) { return objects::matches(selector, labels); });
}

}  // namespace

ClusterRoleAggregationController::ClusterRoleAggregationController(Context& context)
    : Controller(context.loop, context.log, {.name = "clusterrole-aggregation-controller"}),
      client_(context.client),
      roles_(context.informers.get<ClusterRole>()) {
    // Any role may be part of any union: its labels, or its rules, may just have come or gone.
    depends_on(roles_).on_change([this](const ClusterRole&) {
        for (const auto& role : roles_.list())
            if (role->aggregation_rule) queue().add(client::key_of(*role));
    });
}

std::vector<PolicyRule> ClusterRoleAggregationController::union_for(const ClusterRole& role) const {
    std::vector<PolicyRule> rules;
    std::set<std::string> known;  // by their text: roles may have thousands
    for (const auto& part : roles_.list()) {
        if (part->metadata.name == role.metadata.name || !selects(*role.aggregation_rule, part->metadata.labels)) continue;
        for (const PolicyRule& rule : part->rules)
            if (known.insert(schema::encode_json(rule)).second) rules.push_back(rule);
    }
    return rules;
}

Task<client::Requeue> ClusterRoleAggregationController::reconcile(client::NamespacedName key) {
    const auto role = roles_.find(key);
    if (!role || !role->aggregation_rule || role->metadata.deletion_timestamp) co_return client::Requeue::never();
    std::vector<PolicyRule> rules = union_for(*role);
    if (rules == role->rules) co_return client::Requeue::never();
    ClusterRole changed = *role;
    changed.rules = std::move(rules);
    CO_TRY_VOID(co_await client_.update(std::move(changed)));
    co_return client::Requeue::never();
}

Result<ControllerPtr> make_cluster_role_aggregation(Context& context) { return make_controller<ClusterRoleAggregationController>(context); }

}  // namespace porthole::controllers
