#include <algorithm>
#include <set>

#include "api/core_v1.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/resource_names.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using Scopes = std::set<std::string>;

constexpr Choices KnownScopes = {
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity", "VolumeAttributesClass"};
constexpr Choices ExistsOnly = {"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity"};

bool is_in(Choices choices, std::string_view value) { return std::ranges::find(choices, value) != choices.end(); }

/// Scopes narrow pods down (and claims, for the last of them), so other things cannot be counted under them.
bool scope_fits(const std::string& scope, const std::string& resource) {
    if (scope == "BestEffort") return resource == "pods";
    if (scope == "VolumeAttributesClass") return resource == "persistentvolumeclaims" || resource.contains("storage");
    return is_in({"cpu", "memory", "ephemeral-storage", "pods", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
                  "limits.cpu", "limits.memory", "limits.ephemeral-storage"},
                 resource);
}

void check_scopes(const Scopes& scopes, const ResourceQuotaSpec& spec, const FieldPath& path, FieldErrors& errors) {
    for (const std::string& scope : scopes) {
        if (!is_in(KnownScopes, scope)) {
            errors.invalid(path, list_of(scopes), "unsupported scope");
            continue;
        }
        for (const auto& [resource, amount] : spec.hard) {
            const bool counts_objects = resource.starts_with("count/") || resource.contains('/');
            if (!counts_objects && !scope_fits(scope, resource))
                errors.invalid(path, list_of(scopes), "unsupported scope applied to resource");
        }
    }
    for (const auto& [one, other] : {std::pair("BestEffort", "NotBestEffort"), std::pair("Terminating", "NotTerminating")})
        if (scopes.contains(one) && scopes.contains(other)) errors.invalid(path, list_of(scopes), "conflicting scopes");
}

void validate_scope_selector(const ResourceQuotaSpec& spec, const FieldPath& path, FieldErrors& errors) {
    Scopes scopes;
    for (std::size_t i = 0; i < spec.scope_selector->match_expressions.size(); ++i) {
        const auto& requirement = spec.scope_selector->match_expressions[i];
        const FieldPath at = (path / "matchExpressions").index(i);
        scopes.insert(requirement.scope_name);
        const std::string& operation = requirement.operator_;
        if (is_in(ExistsOnly, requirement.scope_name) && operation != "Exists")
            errors.invalid(at / "operator", operation,
                           "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
                           "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
                           "ResourceQuotaScopeCrossNamespacePodAffinity");
        if (operation == "In" || operation == "NotIn") {
            if (requirement.values.empty())
                errors.required(at / "values", "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector");
        } else if (operation == "Exists" || operation == "DoesNotExist") {
            if (!requirement.values.empty())
                errors.invalid(at / "values", schema::at(schema::to_value(requirement), "values"),
                               "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector");
        } else {
            errors.invalid(at / "operator", operation, "not a valid selector operator");
        }
    }
    check_scopes(scopes, spec, path / "matchExpressions", errors);
}

void check_amounts(const std::map<std::string, Quantity>& amounts, const FieldPath& path, FieldErrors& errors) {
    for (const auto& [name, amount] : amounts) {
        check_quota_resource_name(name, path.key(name), errors);
        check_resource_amount(name, amount, path.key(name), errors);
    }
}

void validate(const ResourceQuota& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    check_amounts(object.spec.hard, path / "hard", errors);
    if (!object.spec.scopes.empty())
        check_scopes(Scopes(object.spec.scopes.begin(), object.spec.scopes.end()), object.spec, path / "scopes", errors);
    if (object.spec.scope_selector) validate_scope_selector(object.spec, path / "scopeSelector", errors);
}

void validate_update(const ResourceQuota& object, const ResourceQuota& old, FieldErrors& errors) {
    validate(object, errors);
    const Scopes now(object.spec.scopes.begin(), object.spec.scopes.end()), before(old.spec.scopes.begin(), old.spec.scopes.end());
    if (now != before) errors.invalid("spec.scopes", list_of(now), FieldIsImmutable);
}

void validate_status_update(const ResourceQuota& object, const ResourceQuota&, FieldErrors& errors) {
    if (object.metadata.resource_version.empty()) errors.required("resourceVersion");
    check_amounts(object.status.hard, "status.hard", errors);
    check_amounts(object.status.used, "status.used", errors);
}

}  // namespace

Strategy resource_quota_strategy() {
    return strategy_for<ResourceQuota>(
        {.validate = validate, .validate_update = validate_update, .validate_status_update = validate_status_update});
}

}  // namespace porthole::apiserver
