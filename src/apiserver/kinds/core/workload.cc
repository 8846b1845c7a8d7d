#include "apiserver/kinds/core/workload.h"

#include <charconv>

#include "apiserver/strategy/object_meta.h"
#include "apiserver/validation/label_selector.h"
#include "apiserver/validation/names.h"
#include "schema/convert.h"

namespace porthole::apiserver {

void validate_selector_and_template(const schema::Box<api::meta::v1::LabelSelector>& selector, const PodTemplateSpec& pod_template,
                                    const FieldPath& path, std::string_view word, FieldErrors& errors) {
    const std::size_t before = errors.size();
    if (!selector) {
        errors.required(path / "selector");
    } else {
        validate_label_selector(*selector, path / "selector", errors);
        if (errors.size() > before) return validate_pod_template(pod_template, path / "template", errors);
        if (selector->match_labels.empty() && selector->match_expressions.empty())
            errors.invalid(path / "selector", schema::to_value(*selector), "empty selector is invalid for " + std::string(word));
    }
    // No selector selects nothing, not even these.
    if (!selector || !LabelSelector::from(*selector).matches(pod_template.metadata.labels)) {
        errors.invalid(path / "template" / "metadata" / "labels", schema::at(schema::to_value(pod_template.metadata), "labels"),
                       "`selector` does not match template `labels`");
    }
    validate_pod_template(pod_template, path / "template", errors);
}

void validate_lasting_template(const PodTemplateSpec& pod_template, const FieldPath& path, std::string_view kind, FieldErrors& errors) {
    const PodSpec& spec = pod_template.spec;
    if (spec.restart_policy != "Always") errors.not_supported(path / "spec" / "restartPolicy", spec.restart_policy, {"Always"});
    if (spec.active_deadline_seconds)
        errors.forbidden(path / "spec" / "activeDeadlineSeconds", "activeDeadlineSeconds in " + std::string(kind) + " is not Supported");
}

void check_selector_unchanged(const schema::Box<api::meta::v1::LabelSelector>& now, const schema::Box<api::meta::v1::LabelSelector>& before,
                              FieldErrors& errors) {
    if (!(now == before)) errors.invalid("spec.selector", now ? schema::to_value(*now) : schema::Value(), "field is immutable");
}

void check_amount(const IntOrString& amount, const FieldPath& path, FieldErrors& errors) {
    if (amount.is_int())
        check_not_negative(amount.as_int(), path, errors);
    else
        invalid_all(errors, path, amount.as_string(), names::check_percent(amount.as_string()));
}

std::int32_t number_in(const IntOrString& amount) {
    if (amount.is_int()) return amount.as_int();
    std::int32_t number = 0;
    std::from_chars(amount.as_string().data(), amount.as_string().data() + amount.as_string().size(), number);
    return number;
}

void check_at_most_whole(const IntOrString& amount, const FieldPath& path, FieldErrors& errors) {
    if (amount.is_string() && number_in(amount) > 100) errors.invalid(path, amount.as_string(), "must not be greater than 100%");
}

schema::Value value_of(const IntOrString& amount) {
    return amount.is_string() ? schema::Value(amount.as_string()) : schema::Value(amount.as_int());
}

void check_collision_count(const std::optional<std::int32_t>& now, const std::optional<std::int32_t>& before, FieldErrors& errors) {
    const FieldPath path = "status.collisionCount";
    if (now) check_not_negative(*now, path, errors);
    if (now.value_or(0) < before.value_or(0)) errors.invalid(path, now.value_or(0), "cannot be decremented");
}

void check_within_replicas(std::int32_t count, std::int32_t replicas, const FieldPath& path, FieldErrors& errors) {
    check_not_negative(count, path, errors);
    if (count > replicas) errors.invalid(path, count, "cannot be greater than status.replicas");
}

}  // namespace porthole::apiserver
