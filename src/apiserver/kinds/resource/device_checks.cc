#include "apiserver/kinds/resource/device_checks.h"

#include <algorithm>
#include <set>

#include "apiserver/kinds/core/pod_spec.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

constexpr std::size_t LongestPoolName = 253, MostBindingConditions = 4;

void check_condition_names(const std::vector<std::string>& names, const FieldPath& path, FieldErrors& errors) {
    check_count(names, MostBindingConditions, path, errors);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < std::min(names.size(), MostBindingConditions); ++i) {
        invalid_all(errors, path.index(i), names[i], names::check_qualified_name(names[i]));
        if (!seen.insert(names[i]).second) errors.duplicate(path.index(i), names[i]);
    }
}

}  // namespace

void check_identifier(const std::string& name, const FieldPath& path, FieldErrors& errors) {
    constexpr std::size_t Longest = 32;
    if (name.empty()) return errors.required(path, "the name must not be empty");
    if (name.size() > Longest) return errors.too_long(path, Longest);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto fits = [&](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c); };
    check(std::ranges::all_of(name, fits) && !is_digit(name.front()), name,
          "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' "
          "(e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')",
          path, errors);
}

void check_full_name(const std::string& name, const FieldPath& path, FieldErrors& errors) {
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos)
        return errors.invalid(path, name, "a fully qualified name must be a domain and a name separated by a slash");
    check_driver_name(name.substr(0, slash), path, errors);
    check_identifier(name.substr(slash + 1), path, errors);
}

void check_pool_name(const std::string& name, const FieldPath& path, FieldErrors& errors) {
    if (!check_required(name, path, errors)) return;
    if (name.size() > LongestPoolName) return errors.too_long(path, LongestPoolName);
    for (const std::string& part : split(name, '/')) invalid_all(errors, path, part, names::check_dns1123_subdomain(part));
}

void check_binding_conditions(const std::vector<std::string>& conditions, const std::vector<std::string>& failures, const FieldPath& path,
                              FieldErrors& errors) {
    const FieldPath good = path / "bindingConditions", bad = path / "bindingFailureConditions";
    check_condition_names(conditions, good, errors);
    check_condition_names(failures, bad, errors);
    if (conditions.empty() && !failures.empty())
        errors.invalid(good, list_of(conditions), "bindingConditions are required to use bindingFailureConditions");
    if (failures.empty() && !conditions.empty())
        errors.invalid(bad, list_of(failures), "bindingFailureConditions are required to use bindingConditions");
    if (conditions.size() > MostBindingConditions) return;
    for (std::size_t i = 0; i < std::min(failures.size(), MostBindingConditions); ++i)
        check(std::ranges::find(conditions, failures[i]) == conditions.end(), failures[i],
              "bindingFailureConditions must not overlap with bindingConditions", bad.index(i), errors);
}

void check_one_term(const schema::Box<api::core::v1::NodeSelector>& selector, const FieldPath& path, FieldErrors& errors) {
    if (!selector) return;
    validate_node_selector(*selector, path, errors);
    if (selector->node_selector_terms.size() != 1)
        errors.invalid_as_a_whole(path / "nodeSelectorTerms", "must have exactly one node selector term");
}

}  // namespace porthole::apiserver
