// When a job's pods count as failed, and when the job as done.
#include <algorithm>
#include <charconv>
#include <set>

#include "apiserver/kinds/batch/job.h"
#include "apiserver/kinds/checks.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::batch::v1;

constexpr std::size_t MaxRules = 20, MaxValues = 255, MaxIndexText = 64 * 1024;

bool has_container(const JobSpec& spec, const std::string& name) {
    const auto is_named = [&](const auto& container) { return container.name == name; };
    return std::ranges::any_of(spec.template_.spec.containers, is_named) ||
           std::ranges::any_of(spec.template_.spec.init_containers, is_named);
}

void validate_exit_codes(const PodFailurePolicyOnExitCodesRequirement& codes, const JobSpec& spec, const FieldPath& path,
                         FieldErrors& errors) {
    check_required_choice(codes.operator_, {"In", "NotIn"}, path / "operator", errors);
    if (codes.container_name && !has_container(spec, *codes.container_name))
        errors.invalid(path / "containerName", *codes.container_name,
                       "must be one of the container or initContainer names in the pod template");
    const FieldPath values = path / "values";
    if (codes.values.empty()) return errors.invalid(values, list_of(codes.values), "at least one value is required");
    if (codes.values.size() > MaxValues) return errors.too_many(values, codes.values.size(), MaxValues);
    std::set<std::int32_t> seen;
    bool ordered = true;
    for (std::size_t i = 0; i < codes.values.size(); ++i) {
        const std::int32_t value = codes.values[i];
        if (codes.operator_ == "In" && value == 0) errors.invalid(values.index(i), value, "must not be 0 for the In operator");
        if (!seen.insert(value).second) errors.duplicate(values.index(i), value);
        ordered = ordered && (i == 0 || codes.values[i - 1] <= value);
    }
    if (!ordered) errors.invalid(values, list_of(codes.values), "must be ordered");
}

void validate_failure_rule(const PodFailurePolicyRule& rule, const JobSpec& spec, const FieldPath& path, FieldErrors& errors) {
    if (check_required(rule.action, path / "action", errors)) {
        check_choice(rule.action, {"Count", "FailIndex", "FailJob", "Ignore"}, path / "action", errors);
        if (rule.action == "FailIndex" && !spec.backoff_limit_per_index)
            errors.invalid(path / "action", rule.action, "requires the backoffLimitPerIndex to be set");
    }
    if (rule.on_exit_codes) validate_exit_codes(*rule.on_exit_codes, spec, path / "onExitCodes", errors);
    const FieldPath conditions = path / "onPodConditions";
    if (rule.on_pod_conditions.size() > MaxRules) errors.too_many(conditions, rule.on_pod_conditions.size(), MaxRules);
    for (std::size_t i = 0; i < rule.on_pod_conditions.size(); ++i) {
        const auto& pattern = rule.on_pod_conditions[i];
        invalid_all(errors, conditions.index(i) / "type", pattern.type, names::check_qualified_name(pattern.type));
        check_required_choice(pattern.status, {"False", "True", "Unknown"}, conditions.index(i) / "status", errors);
    }
    const bool by_code = rule.on_exit_codes.has_value(), by_condition = !rule.on_pod_conditions.empty();
    if (by_code && by_condition)
        errors.invalid(path, schema::to_value(rule), "specifying both OnExitCodes and OnPodConditions is not supported");
    if (!by_code && !by_condition)
        errors.invalid(path, schema::to_value(rule), "specifying one of OnExitCodes and OnPodConditions is required");
}

/// How many indexes "1,3-5" names; Invalid unless they ascend below `completions`.
std::optional<std::int64_t> count_indexes(const std::string& text, std::int64_t completions, const FieldPath& path, FieldErrors& errors) {
    std::int64_t count = 0, last = -1;
    std::string_view rest = text;
    const auto read = [](std::string_view& from) -> std::optional<std::int64_t> {
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), number);
        if (error != std::errc() || number < 0) return std::nullopt;
        from.remove_prefix(static_cast<std::size_t>(end - from.data()));
        return number;
    };
    while (true) {
        const auto low = read(rest);
        auto high = low;
        if (low && rest.starts_with('-')) {
            rest.remove_prefix(1);
            high = read(rest);
        }
        const bool separated = rest.empty() || rest.starts_with(',');
        if (!low || !high || !separated) {
            errors.invalid(path, text, "error parsing succeededIndexes: cannot convert string to integer for index: " + std::string(rest));
            return std::nullopt;
        }
        if (*low <= last || *high < *low || *high >= completions) {
            errors.invalid(path, text, "error parsing succeededIndexes: indexes must ascend and be less than completions");
            return std::nullopt;
        }
        count += *high - *low + 1;
        last = *high;
        if (rest.empty()) return count;
        rest.remove_prefix(1);
    }
}

void validate_success_rule(const SuccessPolicyRule& rule, const JobSpec& spec, const FieldPath& path, FieldErrors& errors) {
    if (!rule.succeeded_count && !rule.succeeded_indexes)
        return errors.required(path, "at least one of succeededCount or succeededIndexes must be specified");
    const std::int64_t completions = spec.completions.value_or(0);
    std::optional<std::int64_t> named;
    if (rule.succeeded_indexes) {
        const FieldPath at = path / "succeededIndexes";
        if (rule.succeeded_indexes->size() > MaxIndexText)
            errors.too_long(at, MaxIndexText);
        else
            named = count_indexes(*rule.succeeded_indexes, completions, at, errors);
    }
    if (!rule.succeeded_count) return;
    const std::int32_t count = *rule.succeeded_count;
    check(count > 0, count, "must be greater than zero", path / "succeededCount", errors);
    if (count > completions)
        errors.invalid(path / "succeededCount", count,
                       "must be less than or equal to " + std::to_string(completions) + " (the number of specified completions)");
    if (named && count > *named)
        errors.invalid(
            path / "succeededCount", count,
            "must be less than or equal to " + std::to_string(*named) + " (the number of indexes in the specified succeededIndexes field)");
}

}  // namespace

void validate_job_policies(const JobSpec& spec, const FieldPath& path, FieldErrors& errors) {
    if (spec.pod_failure_policy) {
        const auto& rules = spec.pod_failure_policy->rules;
        const FieldPath list = path / "podFailurePolicy" / "rules";
        if (rules.size() > MaxRules) errors.too_many(list, rules.size(), MaxRules);
        for (std::size_t i = 0; i < rules.size(); ++i) validate_failure_rule(rules[i], spec, list.index(i), errors);
    }
    if (!spec.success_policy) return;
    const FieldPath policy = path / "successPolicy";
    if (spec.completion_mode.value_or("NonIndexed") != "Indexed")
        return errors.invalid(policy, schema::to_value(*spec.success_policy), "requires indexed completion mode");
    const auto& rules = spec.success_policy->rules;
    if (rules.empty()) errors.required(policy / "rules", "at least one rules must be specified when the successPolicy is specified");
    if (rules.size() > MaxRules) errors.too_many(policy / "rules", rules.size(), MaxRules);
    for (std::size_t i = 0; i < rules.size(); ++i) validate_success_rule(rules[i], spec, (policy / "rules").index(i), errors);
}

}  // namespace porthole::apiserver
