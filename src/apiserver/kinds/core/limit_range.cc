#include <set>

#include "api/core_v1.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/resource_names.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using Amounts = std::map<std::string, Quantity>;

const Quantity* find(const Amounts& amounts, const std::string& name) {
    const auto found = amounts.find(name);
    return found == amounts.end() ? nullptr : &found->second;
}

void fill(Amounts& amounts, const Amounts& from) {
    for (const auto& [name, amount] : from) amounts.try_emplace(name, amount);
}

void set_defaults(LimitRange& object) {
    for (LimitRangeItem& item : object.spec.limits) {
        if (item.type != LimitType::Container) continue;
        fill(item.default_, item.max);
        fill(item.default_request, item.default_);
        fill(item.default_request, item.min);
    }
}

void check_type(const std::string& type, const FieldPath& path, FieldErrors& errors) {
    const auto problems = names::check_qualified_name(type);
    invalid_all(errors, path, type, problems);
    const bool standard = type == LimitType::Pod || type == LimitType::Container || type == LimitType::PersistentVolumeClaim;
    if (problems.empty() && !type.contains('/')) check(standard, type, "must be a standard limit type or fully qualified", path, errors);
}

/// "min value 2 is greater than max value 1" when the first is more than the second.
void check_order(const char* less, const Quantity* low, const char* more, const Quantity* high, const FieldPath& path,
                 FieldErrors& errors) {
    if (!low || !high || *low <= *high) return;
    errors.invalid(path, low->to_string(),
                   std::string(less) + " value " + low->to_string() + " is greater than " + more + " value " + high->to_string());
}

void check_ratio(const LimitRangeItem& item, const std::string& name, const FieldPath& path, FieldErrors& errors) {
    const Quantity* ratio = find(item.max_limit_request_ratio, name);
    if (!ratio) return;
    const FieldPath at = (path / "maxLimitRequestRatio").key(name);
    if (*ratio < Quantity::from_value(1)) errors.invalid(at, ratio->to_string(), "ratio " + ratio->to_string() + " is less than 1");
    const Quantity *low = find(item.min, name), *high = find(item.max, name);
    if (!low || !high || low->is_zero()) return;
    const double bound = high->as_double() / low->as_double();
    if (ratio->as_double() > bound) {
        std::string text = std::to_string(bound);
        errors.invalid(at, ratio->to_string(), "ratio " + ratio->to_string() + " is greater than max/min = " + text);
    }
}

void check_resource(const LimitRangeItem& item, const std::string& name, const FieldPath& path, FieldErrors& errors) {
    const Quantity *min = find(item.min, name), *max = find(item.max, name), *usual = find(item.default_, name),
                   *request = find(item.default_request, name);
    check_order("min", min, "max", max, (path / "min").key(name), errors);
    check_order("min", min, "default request", request, (path / "defaultRequest").key(name), errors);
    check_order("default request", request, "max", max, (path / "defaultRequest").key(name), errors);
    check_order("default request", request, "default limit", usual, (path / "defaultRequest").key(name), errors);
    check_order("min", min, "default", usual, (path / "default").key(name), errors);
    check_order("default", usual, "max", max, (path / "default").key(name), errors);
    check_ratio(item, name, path, errors);
    if (usual && request && *usual != *request && !may_be_overcommitted(name)) {
        errors.invalid(
            (path / "defaultRequest").key(name), request->to_string(),
            "default value " + usual->to_string() + " must equal to defaultRequest value " + request->to_string() + " in " + name);
    }
}

void validate_item(const LimitRangeItem& item, const FieldPath& path, FieldErrors& errors) {
    check_type(item.type, path / "type", errors);
    if (item.type == LimitType::Pod) {
        constexpr std::string_view NotForPods = "may not be specified when `type` is 'Pod'";
        if (!item.default_.empty()) errors.forbidden(path / "default", NotForPods);
        if (!item.default_request.empty()) errors.forbidden(path / "defaultRequest", NotForPods);
    }
    if (item.type == LimitType::PersistentVolumeClaim && !find(item.min, "storage") && !find(item.max, "storage"))
        errors.required(FieldPath("spec.limits"), "either minimum or maximum storage value is required, but neither was provided");
    std::set<std::string> names;
    const std::pair<const Amounts*, const char*> lists[] = {{&item.max, "max"},
                                                            {&item.min, "min"},
                                                            {&item.default_, "default"},
                                                            {&item.default_request, "defaultRequest"},
                                                            {&item.max_limit_request_ratio, "maxLimitRequestRatio"}};
    for (const auto& [amounts, field] : lists) {
        for (const auto& [name, amount] : *amounts) {
            names.insert(name);
            check_limit_resource_name(item.type, name, (path / field).key(name), errors);
            check_resource_amount(name, amount, (path / field).key(name), errors);
        }
    }
    for (const std::string& name : names) check_resource(item, name, path, errors);
}

void validate(const LimitRange& object, FieldErrors& errors) {
    std::set<std::string> types;
    for (std::size_t i = 0; i < object.spec.limits.size(); ++i) {
        const FieldPath path = FieldPath("spec.limits").index(i);
        if (!types.insert(object.spec.limits[i].type).second) errors.duplicate(path / "type", object.spec.limits[i].type);
        validate_item(object.spec.limits[i], path, errors);
    }
}

}  // namespace

Strategy limit_range_strategy() {
    Strategy strategy = strategy_for<LimitRange>({.set_defaults = set_defaults, .validate = validate});
    strategy.create_on_update = true;
    return strategy;
}

}  // namespace porthole::apiserver
