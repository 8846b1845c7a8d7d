#include "api/scheduling_v1.h"
#include "apiserver/kinds/kinds.h"

namespace porthole::apiserver {
namespace {

using api::scheduling::v1::PriorityClass;

constexpr std::int32_t MaxUserPriority = 1'000'000'000;
constexpr std::string_view SystemPrefix = "system-";

bool is_system(const PriorityClass& object) {
    return (object.metadata.name == "system-node-critical" && object.value == 2'000'001'000) ||
           (object.metadata.name == "system-cluster-critical" && object.value == 2'000'000'000);
}

void validate(const PriorityClass& object, FieldErrors& errors) {
    if (object.metadata.name.starts_with(SystemPrefix)) {
        if (!is_system(object))
            errors.forbidden("metadata.name", "priority class names with 'system-' prefix are reserved for system use only");
    } else if (object.value > MaxUserPriority) {
        errors.forbidden("value", "maximum allowed value of a user defined priority is " + std::to_string(MaxUserPriority));
    }
    if (object.preemption_policy && *object.preemption_policy != "PreemptLowerPriority" && *object.preemption_policy != "Never")
        errors.not_supported("preemptionPolicy", *object.preemption_policy, {"Never", "PreemptLowerPriority"});
}

void validate_update(const PriorityClass& object, const PriorityClass& old, FieldErrors& errors) {
    if (object.value != old.value) errors.forbidden("Value", "may not be changed in an update.");
    if (object.preemption_policy != old.preemption_policy)
        errors.invalid("preemptionPolicy", object.preemption_policy.value_or(""), "field is immutable");
}

}  // namespace

Strategy priority_class_strategy() {
    Strategy strategy = strategy_for<PriorityClass>({.validate = validate, .validate_update = validate_update});
    strategy.generation = Generation::Constant;
    return strategy;
}

}  // namespace porthole::apiserver
