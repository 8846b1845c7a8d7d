#include "api/networking_v1.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "base/values/ip.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using namespace api::networking::v1;

// --- IPAddress ---

void validate_address(const IPAddress& object, FieldErrors& errors) {
    const std::string& name = object.metadata.name;
    const auto address = IpAddress::parse(name);
    if (!address)
        errors.invalid("metadata.name", name, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    else if (address->to_string() != name)
        errors.invalid("metadata.name", name, "must be in canonical form (\"" + address->to_string() + "\")");
    const FieldPath path = "spec.parentRef";
    if (!object.spec.parent_ref) return errors.required(path);
    const ParentReference& parent = *object.spec.parent_ref;
    check_format(parent.group, names::check_dns1123_subdomain, path / "group", errors);
    check_required_format(parent.resource, names::check_path_segment, path / "resource", errors);
    check_required_format(parent.name, names::check_path_segment, path / "name", errors);
    check_format(parent.namespace_, names::check_path_segment, path / "namespace", errors);
}

void validate_address_update(const IPAddress& object, const IPAddress& old, FieldErrors& errors) {
    const auto& now = object.spec.parent_ref;
    if (now != old.spec.parent_ref) errors.invalid("spec.parentRef", now ? schema::to_value(*now) : schema::Value(), FieldIsImmutable);
}

// --- ServiceCIDR ---

void validate_cidr(const std::string& text, const FieldPath& path, FieldErrors& errors) {
    const auto prefix = IpPrefix::parse(text);
    const auto problems = names::check_cidr(text);
    if (!prefix || !problems.empty()) return invalid_all(errors, path, text, problems);
    if (const std::string canonical = prefix->to_string(); canonical != text)
        errors.invalid(path, text, "must be in canonical form (\"" + canonical + "\")");
}

void validate_range(const ServiceCIDR& object, FieldErrors& errors) {
    const FieldPath path = "spec.cidrs";
    const auto& cidrs = object.spec.cidrs;
    if (cidrs.empty()) return errors.required(path, "at least one CIDR required");
    if (cidrs.size() > 2) return errors.invalid(path, list_of(cidrs), "may only hold up to 2 values");
    for (std::size_t i = 0; i < cidrs.size(); ++i) validate_cidr(cidrs[i], path.index(i), errors);
    if (cidrs.size() == 2 && cidrs[0].contains(':') == cidrs[1].contains(':'))
        errors.invalid(path, list_of(cidrs), "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64");
}

/// A range may gain a second family; nothing else changes.
void validate_range_update(const ServiceCIDR& object, const ServiceCIDR& old, FieldErrors& errors) {
    const auto &now = object.spec.cidrs, &before = old.spec.cidrs;
    if (now == before) return;
    if (before.size() == 1 && now.size() == 2) {
        for (const std::string& text : now) validate_cidr(text, FieldPath("spec.cidrs").index(&text - now.data()), errors);
        check(now[0] == before[0], now[0], FieldIsImmutable, FieldPath("spec.cidrs").index(0), errors);
        if (errors.empty()) validate_range(object, errors);
        return;
    }
    errors.invalid("spec.cidrs", list_of(now), FieldIsImmutable);
}

}  // namespace

Strategy ip_address_strategy() {
    Strategy strategy = strategy_for<IPAddress>({.validate = validate_address, .validate_update = validate_address_update});
    strategy.name_rule = names::NameRule::PathSegment;
    strategy.generation = Generation::OnSpecChange;
    strategy.selectable_fields = {
        {"spec.parentRef.group"}, {"spec.parentRef.resource"}, {"spec.parentRef.namespace"}, {"spec.parentRef.name"}};
    return strategy;
}

Strategy service_cidr_strategy() {
    Strategy strategy = strategy_for<ServiceCIDR>({.validate = validate_range, .validate_update = validate_range_update});
    strategy.generation = Generation::OnSpecChange;
    return strategy;
}

}  // namespace porthole::apiserver
