#include <map>
#include <set>

#include "api/core_v1.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/strategy/object_meta.h"
#include "base/strings.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Node;
using api::core::v1::Taint;

void set_defaults(Node& object) {
    if (object.status.allocatable.empty()) object.status.allocatable = object.status.capacity;
}

/// podCIDR and podCIDRs[0] are one thing in two forms.
void settle_pod_cidrs(Node& object) {
    auto& spec = object.spec;
    if (spec.pod_cidrs.empty() && !spec.pod_cidr.empty()) spec.pod_cidrs = {spec.pod_cidr};
    if (spec.pod_cidr.empty() && !spec.pod_cidrs.empty()) spec.pod_cidr = spec.pod_cidrs.front();
}

void prepare_for_create(Node& object, const WriteContext&) { settle_pod_cidrs(object); }
void prepare_for_update(Node& object, const Node&, const WriteContext&) { settle_pod_cidrs(object); }

void validate_taints(const std::vector<Taint>& taints, FieldErrors& errors) {
    std::set<std::pair<std::string, std::string>> seen;
    for (std::size_t i = 0; i < taints.size(); ++i) {
        const Taint& taint = taints[i];
        const FieldPath path = FieldPath("metadata.taints").index(i);
        invalid_all(errors, path / "key", taint.key, names::check_qualified_name(taint.key));
        invalid_all(errors, path / "value", taint.value, names::check_label_value(taint.value));
        if (taint.effect.empty()) {
            errors.required(path / "effect");
        } else if (taint.effect != "NoSchedule" && taint.effect != "PreferNoSchedule" && taint.effect != "NoExecute") {
            errors.not_supported(path / "effect", taint.effect, {"NoExecute", "NoSchedule", "PreferNoSchedule"});
        }
        if (!seen.emplace(taint.key, taint.effect).second) errors.duplicate(path, schema::to_value(taint));
    }
}

void validate_node_resources(const std::map<std::string, Quantity>& resources, const FieldPath& path, FieldErrors& errors) {
    for (const auto& [name, amount] : resources) {
        invalid_all(errors, path, name, names::check_qualified_name(name));
        if (amount.is_negative()) errors.invalid(path.key(name), amount.to_string(), "must be greater than or equal to 0");
    }
}

/// UpperCamelCase, and segments after slashes.
bool is_feature_name(std::string_view name) {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    if (name.empty() || name.front() < 'A' || name.front() > 'Z') return false;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const bool begins = i > 0 && name[i - 1] == '/';
        const bool allowed = is_letter(name[i]) || (!begins && ((name[i] >= '0' && name[i] <= '9') || name[i] == '/'));
        if (!allowed) return false;
    }
    return name.back() != '/';
}

void validate_declared_features(const std::vector<std::string>& declared, FieldErrors& errors) {
    constexpr std::size_t Longest = 253;
    for (std::size_t i = 0; i < declared.size(); ++i) {
        const FieldPath path = FieldPath("status.declaredFeatures").index(i);
        const std::string invalid = "invalid feature name " + quote(declared[i]) + ": must ";
        if (declared[i].size() > Longest) {
            errors.invalid(path, declared[i], invalid + "be no more than 253 characters");
        } else if (!is_feature_name(declared[i])) {
            errors.invalid(path, declared[i],
                           invalid +
                               "start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
                               "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes");
        }
        if (i == 0 || declared[i - 1] < declared[i]) continue;
        if (declared[i - 1] == declared[i])
            errors.duplicate(path, declared[i]);
        else
            errors.invalid(path, declared[i], "list must be sorted alphabetically");
    }
}

void validate(const Node& object, FieldErrors& errors) {
    validate_taints(object.spec.taints, errors);
    validate_node_resources(object.status.capacity, "status.capacity", errors);
    validate_node_resources(object.status.allocatable, "status.allocatable", errors);
    validate_declared_features(object.status.declared_features, errors);
    const auto& cidrs = object.spec.pod_cidrs;
    for (std::size_t i = 0; i < cidrs.size(); ++i)
        invalid_all(errors, FieldPath("spec.podCIDRs").index(i), cidrs[i], names::check_cidr(cidrs[i]));
    if (cidrs.size() > 2) errors.invalid("spec.podCIDRs", cidrs.size(), "may specify no more than one CIDR for each IP family");
    if (cidrs.size() == 2 && cidrs[0].contains(':') == cidrs[1].contains(':'))
        errors.invalid("spec.podCIDRs", schema::to_value(object.spec)["podCIDRs"], "may specify no more than one CIDR for each IP family");
}

void validate_update(const Node& object, const Node& old, FieldErrors& errors) {
    validate(object, errors);
    if (!old.spec.pod_cidrs.empty() && object.spec.pod_cidrs != old.spec.pod_cidrs)
        errors.forbidden("spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid");
    if (!old.spec.provider_id.empty() && object.spec.provider_id != old.spec.provider_id)
        errors.forbidden("spec.providerID", "node updates may not change providerID except from \"\" to valid");
}

void validate_status_update(const Node& object, const Node&, FieldErrors& errors) {
    std::set<std::pair<std::string, std::string>> seen;
    for (std::size_t i = 0; i < object.status.addresses.size(); ++i) {
        const auto& address = object.status.addresses[i];
        if (!seen.emplace(address.type, address.address).second)
            errors.duplicate(FieldPath("status.addresses").index(i), schema::to_value(address));
    }
    validate_node_resources(object.status.capacity, "status.capacity", errors);
    validate_node_resources(object.status.allocatable, "status.allocatable", errors);
    validate_declared_features(object.status.declared_features, errors);
}

}  // namespace

Strategy node_strategy() {
    Strategy strategy = strategy_for<Node>({.set_defaults = set_defaults,
                                            .prepare_for_create = prepare_for_create,
                                            .prepare_for_update = prepare_for_update,
                                            .validate = validate,
                                            .validate_update = validate_update,
                                            .validate_status_update = validate_status_update});
    strategy.keeps_created_status = true;
    strategy.selectable_fields = {{"spec.unschedulable", "false"}};
    return strategy;
}

}  // namespace porthole::apiserver
