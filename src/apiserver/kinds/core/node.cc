#include <map>
#include <set>

#include "api/core_v1.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/strategy/object_meta.h"
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

void validate(const Node& object, FieldErrors& errors) {
    validate_taints(object.spec.taints, errors);
    validate_node_resources(object.status.capacity, "status.capacity", errors);
    validate_node_resources(object.status.allocatable, "status.allocatable", errors);
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
