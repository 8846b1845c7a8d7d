#include "apiserver/kinds/resource_names.h"

#include <algorithm>
#include <array>

#include "apiserver/kinds/checks.h"

namespace porthole::apiserver {
namespace {

constexpr std::string_view HugePages = "hugepages-";

constexpr std::array<std::string_view, 10> ObjectCounts = {"configmaps",
                                                           "persistentvolumeclaims",
                                                           "pods",
                                                           "replicationcontrollers",
                                                           "resourcequotas",
                                                           "secrets",
                                                           "services",
                                                           "services.loadbalancers",
                                                           "services.nodeports",
                                                           "endpoints"};

constexpr std::array<std::string_view, 13> Amounts = {"cpu",
                                                      "memory",
                                                      "ephemeral-storage",
                                                      "storage",
                                                      "requests.cpu",
                                                      "requests.memory",
                                                      "requests.storage",
                                                      "requests.ephemeral-storage",
                                                      "limits.cpu",
                                                      "limits.memory",
                                                      "limits.ephemeral-storage",
                                                      "requests.hugepages",
                                                      "limits.hugepages"};

bool is_among(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

bool is_qualified(std::string_view name) { return names::check_qualified_name(name).empty(); }

}  // namespace

bool is_native_resource(std::string_view name) { return !name.contains('/') || name.contains("kubernetes.io/"); }

bool is_extended_resource(std::string_view name) {
    return !is_native_resource(name) && !name.starts_with("requests.") && is_qualified("requests." + std::string(name));
}

bool is_counted_resource(std::string_view name) {
    return is_among(ObjectCounts, name) || name.starts_with("count/") || is_extended_resource(name);
}

bool may_be_overcommitted(std::string_view name) { return is_native_resource(name) && !name.starts_with(HugePages); }

void check_quota_resource_name(const std::string& name, const FieldPath& path, FieldErrors& errors) {
    const auto problems = names::check_qualified_name(name);
    invalid_all(errors, path, name, problems);
    if (!problems.empty() || name.contains('/')) return;
    const bool known =
        is_among(ObjectCounts, name) || is_among(Amounts, name) || name.starts_with(HugePages) || name.starts_with("requests.hugepages-");
    check(known, name, "must be a standard resource for quota", path, errors);
}

void check_limit_resource_name(const std::string& type, const std::string& name, const FieldPath& path, FieldErrors& errors) {
    const auto problems = names::check_qualified_name(name);
    invalid_all(errors, path, name, problems);
    if (!problems.empty() || name.contains('/')) return;
    if (type == "Pod" || type == "Container") {
        const bool known = name == "cpu" || name == "memory" || name == "ephemeral-storage" || name.starts_with(HugePages);
        check(known, name, "must be a standard resource for containers", path, errors);
    } else {
        check(is_among(ObjectCounts, name) || is_among(Amounts, name) || name.starts_with(HugePages), name,
              "must be a standard resource type or fully qualified", path, errors);
    }
}

void check_resource_amount(const std::string& name, const Quantity& amount, const FieldPath& path, FieldErrors& errors) {
    check(!amount.is_negative(), amount.to_string(), NotNegative, path, errors);
    if (is_counted_resource(name)) check(amount.is_whole(), amount.to_string(), "must be an integer", path, errors);
}

}  // namespace porthole::apiserver
