#include <set>
#include <tuple>

#include "api/node_v1.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/core/pod_spec.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/strategy/object_meta.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::node::v1::RuntimeClass;

void validate(const RuntimeClass& object, FieldErrors& errors) {
    if (check_required(object.handler, "handler", errors))
        invalid_all(errors, "handler", object.handler, names::check_dns1123_label(object.handler));
    if (object.overhead) {
        ResourceRequirements fixed;
        fixed.requests = object.overhead->pod_fixed;
        validate_resources(fixed, "overhead.podFixed", errors);
    }
    if (!object.scheduling) return;
    validate_labels(object.scheduling->node_selector, "scheduling.nodeSelector", errors);
    const auto& tolerations = object.scheduling->tolerations;
    validate_tolerations(tolerations, "scheduling.tolerations", errors);
    const auto members = [](const api::core::v1::Toleration& one) {
        return std::tie(one.key, one.operator_, one.value, one.effect, one.toleration_seconds);
    };
    std::set<decltype(members(api::core::v1::Toleration()))> seen;
    for (std::size_t i = 0; i < tolerations.size(); ++i) {
        if (!seen.insert(members(tolerations[i])).second)
            errors.duplicate(FieldPath("scheduling.tolerations").index(i), schema::to_value(tolerations[i]));
    }
}

void validate_update(const RuntimeClass& object, const RuntimeClass& old, FieldErrors& errors) {
    validate(object, errors);
    check(object.handler == old.handler, object.handler, FieldIsImmutable, "handler", errors);
}

}  // namespace

Strategy runtime_class_strategy() {
    Strategy strategy = strategy_for<RuntimeClass>({.validate = validate, .validate_update = validate_update});
    strategy.create_on_update = true;
    strategy.unconditional_update = false;
    return strategy;
}

}  // namespace porthole::apiserver
