#include <algorithm>

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
    for (std::size_t i = 1; i < tolerations.size(); ++i) {
        if (std::find(tolerations.begin(), tolerations.begin() + static_cast<std::ptrdiff_t>(i), tolerations[i]) - tolerations.begin() !=
            static_cast<std::ptrdiff_t>(i))
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
