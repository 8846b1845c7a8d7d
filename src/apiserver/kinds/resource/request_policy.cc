#include "apiserver/kinds/resource/request_policy.h"

#include <algorithm>
#include <set>

#include "apiserver/kinds/resource/device_checks.h"

namespace porthole::apiserver {
namespace {

using namespace api::resource::v1;

constexpr std::size_t MostValues = 10;

void validate_values(const Quantity& preset, const Quantity& whole, const std::vector<Quantity>& values, const FieldPath& path,
                     FieldErrors& errors) {
    for (std::size_t i = 1; i < values.size(); ++i)
        check(values[i - 1] <= values[i], values[i].to_string(), "values must be sorted in ascending order", path.index(i), errors);
    check_count(values, MostValues, path, errors);
    std::set<Quantity> seen;
    for (std::size_t i = 0; i < values.size(); ++i) {
        check(values[i] <= whole, values[i].to_string(), "option is larger than capacity value: " + whole.to_string(), path.index(i),
              errors);
        if (!seen.insert(values[i]).second) errors.duplicate(path.index(i), values[i].to_string());
    }
    check(seen.contains(preset), preset.to_string(), "default value is not valid according to the requestPolicy", path, errors);
}

void validate_step(const Quantity& preset, const Quantity& whole, const CapacityRequestPolicyRange& range, const FieldPath& path,
                   FieldErrors& errors) {
    const Quantity &step = *range.step, &min = *range.min;
    if (step.value() <= 0) return errors.invalid(path, step.to_string(), "must be greater than zero");
    const Quantity one_step = min + step;
    check(one_step <= whole, step.to_string(), "one step " + one_step.to_string() + " is larger than capacity value: " + whole.to_string(),
          path, errors);
    for (const Quantity* value : {&preset, range.max ? &*range.max : nullptr})
        if (value)
            check((*value - min).value() % step.value() == 0, value->to_string(),
                  "value is not a multiple of a given step (" + step.to_string() + ") from (" + min.to_string() + ")", path, errors);
}

void validate_range(const Quantity& preset, const Quantity& whole, const CapacityRequestPolicyRange& range, const FieldPath& path,
                    FieldErrors& errors) {
    if (!range.min) return errors.required(path / "min", "required when validRange is defined");
    const Quantity& min = *range.min;
    check(min <= whole, min.to_string(), "min is larger than capacity value: " + whole.to_string(), path / "min", errors);
    check(preset >= min, preset.to_string(), "default is less than min: " + min.to_string(), path / "min", errors);
    if (range.max) {
        const Quantity& max = *range.max;
        check(min <= max, min.to_string(), "min is larger than max: " + max.to_string(), path / "max", errors);
        check(max <= whole, max.to_string(), "max is larger than capacity value: " + whole.to_string(), path / "max", errors);
        check(preset <= max, preset.to_string(), "default is more than max: " + max.to_string(), path / "max", errors);
    }
    if (range.step) validate_step(preset, whole, range, path / "step", errors);
}

}  // namespace

void validate_request_policy(const DeviceCapacity& capacity, bool allows_multiple, const FieldPath& path, FieldErrors& errors) {
    if (!capacity.request_policy) return;
    const CapacityRequestPolicy& policy = *capacity.request_policy;
    const FieldPath at = path / "requestPolicy";
    if (!allows_multiple) return errors.forbidden(at, "allowMultipleAllocations must be true");
    const bool has_values = !policy.valid_values.empty(), has_range = policy.valid_range.has_value();
    if (has_values && has_range)
        return errors.forbidden(at,
                                R"(exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time)");
    if (!has_values && !has_range) return;
    if (!policy.default_)
        return errors.required(at / "default", has_values ? "required when validValues is defined" : "required when validRange is defined");
    if (has_values)
        validate_values(*policy.default_, capacity.value, policy.valid_values, at / "validValues", errors);
    else
        validate_range(*policy.default_, capacity.value, *policy.valid_range, at / "validRange", errors);
}

}  // namespace porthole::apiserver
