#include "api/policy_v1.h"
#include "apiserver/kinds/core/workload.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/strategy/object_meta.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::policy::v1::PodDisruptionBudget;

void validate(const PodDisruptionBudget& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    const auto& spec = object.spec;
    if (spec.min_available && spec.max_unavailable)
        errors.invalid(path, schema::to_value(spec), "minAvailable and maxUnavailable cannot be both set");
    const auto check = [&](const std::optional<IntOrString>& amount, const char* member) {
        if (!amount) return;
        check_amount(*amount, path / member, errors);
        check_at_most_whole(*amount, path / member, errors);
    };
    check(spec.min_available, "minAvailable");
    check(spec.max_unavailable, "maxUnavailable");
    if (spec.selector) validate_label_selector(*spec.selector, path / "selector", errors);
    if (spec.unhealthy_pod_eviction_policy && !is_one_of(*spec.unhealthy_pod_eviction_policy, {"AlwaysAllow", "IfHealthyBudget"}))
        errors.not_supported(path / "unhealthyPodEvictionPolicy", *spec.unhealthy_pod_eviction_policy, {"AlwaysAllow", "IfHealthyBudget"});
}

}  // namespace

Strategy pod_disruption_budget_strategy() {
    Strategy strategy = strategy_for<PodDisruptionBudget>({.validate = validate});
    strategy.generation = Generation::OnSpecChange;
    strategy.unconditional_update = false;
    return strategy;
}

}  // namespace porthole::apiserver
