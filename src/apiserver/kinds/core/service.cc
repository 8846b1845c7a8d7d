#include <algorithm>
#include <set>

#include "api/core_v1.h"
#include "apiserver/allocation/service_allocator.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/strategy/addresses.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Service;
using api::core::v1::ServicePort;
using api::core::v1::ServiceSpec;
using schema::Value;

constexpr const char* None = "None";
constexpr std::int32_t AffinityTimeout = 10800;
const FieldPath Spec = "spec";

bool is_headless(const ServiceSpec& spec) { return spec.cluster_ip == None; }
bool is_external_name(const ServiceSpec& spec) { return spec.type == "ExternalName"; }
bool is_reachable_from_outside(const ServiceSpec& spec) {
    return spec.type == "NodePort" || spec.type == "LoadBalancer" || (spec.type == "ClusterIP" && !spec.external_ips.empty());
}
bool needs_health_port(const ServiceSpec& spec) { return spec.type == "LoadBalancer" && spec.external_traffic_policy == "Local"; }

void set_defaults(Service& object) {
    ServiceSpec& spec = object.spec;
    if (spec.session_affinity.empty()) spec.session_affinity = "None";
    if (spec.session_affinity == "None") spec.session_affinity_config.reset();
    if (spec.session_affinity == "ClientIP") {
        auto& config = spec.session_affinity_config;
        if (!config || !config->client_ip || !config->client_ip->timeout_seconds)
            config = api::core::v1::SessionAffinityConfig{.client_ip = api::core::v1::ClientIPConfig{.timeout_seconds = AffinityTimeout}};
    }
    if (spec.type.empty()) spec.type = "ClusterIP";
    for (ServicePort& port : spec.ports) {
        if (port.protocol.empty()) port.protocol = "TCP";
        const bool unset = port.target_port.is_zero() || (port.target_port.is_string() && port.target_port.as_string().empty());
        if (unset) port.target_port = IntOrString(port.port);
    }
    if (is_reachable_from_outside(spec) && spec.external_traffic_policy.empty()) spec.external_traffic_policy = "Cluster";
    if (!is_external_name(spec) && !spec.internal_traffic_policy) spec.internal_traffic_policy = "Cluster";
    if (spec.type == "LoadBalancer" && !spec.allocate_load_balancer_node_ports) spec.allocate_load_balancer_node_ports = true;
}

void prepare_for_create(Service& object, const WriteContext&) {
    if (object.spec.cluster_ips.empty() && !object.spec.cluster_ip.empty()) object.spec.cluster_ips = {object.spec.cluster_ip};
}

/// Fields that a client left as they were although the new type cannot have them.
void drop_fields_of_old_type(ServiceSpec& spec, const ServiceSpec& old) {
    if (spec.type == old.type) return;
    if (is_external_name(spec)) {
        if (spec.cluster_ip == old.cluster_ip) spec.cluster_ip.clear();
        if (spec.cluster_ips == old.cluster_ips) spec.cluster_ips.clear();
        if (spec.ip_families == old.ip_families) spec.ip_families.clear();
        if (spec.ip_family_policy == old.ip_family_policy) spec.ip_family_policy.reset();
        if (spec.internal_traffic_policy == old.internal_traffic_policy) spec.internal_traffic_policy.reset();
    }
    const bool loses_node_ports = spec.type == "ClusterIP" || is_external_name(spec);
    if (loses_node_ports) {
        std::set<std::int32_t> known = {0};
        for (const ServicePort& before : old.ports) known.insert(before.node_port);
        if (std::ranges::all_of(spec.ports, [&](const ServicePort& port) { return known.contains(port.node_port); }))
            for (ServicePort& port : spec.ports) port.node_port = 0;
    }
    if (spec.type != "LoadBalancer") {
        if (spec.allocate_load_balancer_node_ports == old.allocate_load_balancer_node_ports) spec.allocate_load_balancer_node_ports.reset();
        if (spec.load_balancer_class == old.load_balancer_class) spec.load_balancer_class.reset();
    }
    if (!is_reachable_from_outside(spec) && spec.external_traffic_policy == old.external_traffic_policy)
        spec.external_traffic_policy.clear();
}

void prepare_for_update(Service& object, const Service& old, const WriteContext&) {
    ServiceSpec& spec = object.spec;
    const ServiceSpec& before = old.spec;
    const bool had_address = !is_external_name(before);
    if (had_address && !is_external_name(spec)) {
        if (spec.cluster_ip.empty() && spec.cluster_ips.empty()) {
            spec.cluster_ip = before.cluster_ip;
            spec.cluster_ips = before.cluster_ips;
        } else if (spec.cluster_ip == before.cluster_ip && spec.cluster_ips.empty()) {
            spec.cluster_ips = before.cluster_ips;
        } else if (spec.cluster_ip != before.cluster_ip && spec.cluster_ips == before.cluster_ips) {
            spec.cluster_ips = spec.cluster_ip.empty() ? std::vector<std::string>() : std::vector{spec.cluster_ip};
        }
        if (spec.ip_families.empty()) spec.ip_families = before.ip_families;
        if (!spec.ip_family_policy) spec.ip_family_policy = before.ip_family_policy;
    } else if (spec.cluster_ips.empty() && !spec.cluster_ip.empty()) {
        spec.cluster_ips = {spec.cluster_ip};
    }
    drop_fields_of_old_type(spec, before);
    if (needs_health_port(spec) && needs_health_port(before) && spec.health_check_node_port == 0)
        spec.health_check_node_port = before.health_check_node_port;
    if (!needs_health_port(spec) && spec.health_check_node_port == before.health_check_node_port) spec.health_check_node_port = 0;
    if (spec.type != "LoadBalancer") object.status.load_balancer = {};
}

void validate_ports(const ServiceSpec& spec, FieldErrors& errors) {
    const FieldPath path = Spec / "ports";
    if (spec.ports.empty() && !is_headless(spec) && !is_external_name(spec)) errors.required(path);
    std::set<std::string> names_seen;
    std::set<std::pair<std::string, std::int32_t>> ports_seen, node_ports_seen;
    for (std::size_t i = 0; i < spec.ports.size(); ++i) {
        const ServicePort& port = spec.ports[i];
        const FieldPath at = path.index(i);
        if (port.name.empty()) {
            if (spec.ports.size() > 1) errors.required(at / "name");
        } else {
            invalid_all(errors, at / "name", port.name, names::check_dns1123_label(port.name));
            if (!names_seen.insert(port.name).second) errors.duplicate(at / "name", port.name);
        }
        invalid_all(errors, at / "port", port.port, names::check_port_number(port.port));
        if (port.protocol.empty())
            errors.required(at / "protocol");
        else if (port.protocol != "TCP" && port.protocol != "UDP" && port.protocol != "SCTP")
            errors.not_supported(at / "protocol", port.protocol, {"SCTP", "TCP", "UDP"});
        if (port.target_port.is_int())
            invalid_all(errors, at / "targetPort", port.target_port.as_int(), names::check_port_number(port.target_port.as_int()));
        else
            invalid_all(errors, at / "targetPort", port.target_port.as_string(), names::check_port_name(port.target_port.as_string()));
        if (port.app_protocol) invalid_all(errors, at / "appProtocol", *port.app_protocol, names::check_qualified_name(*port.app_protocol));
        if (spec.type == "ClusterIP" && port.node_port != 0)
            errors.forbidden(at / "nodePort", "may not be used when `type` is 'ClusterIP'");
        if (port.node_port != 0 && !node_ports_seen.emplace(port.protocol, port.node_port).second)
            errors.duplicate(at / "nodePort", port.node_port);
        if (!ports_seen.emplace(port.protocol, port.port).second) errors.duplicate(at, schema::to_value(port));
    }
}

void validate_addresses(const ServiceSpec& spec, FieldErrors& errors) {
    const FieldPath path = Spec / "clusterIPs";
    const auto& ips = spec.cluster_ips;
    if (is_external_name(spec)) {
        if (!ips.empty() || !spec.cluster_ip.empty()) errors.forbidden(path, "may not be set for ExternalName services");
        if (!spec.ip_families.empty()) errors.forbidden(Spec / "ipFamilies", "may not be set for ExternalName services");
        if (spec.ip_family_policy) errors.forbidden(Spec / "ipFamilyPolicy", "may not be set for ExternalName services");
        return;
    }
    if (ips.empty()) {
        if (!spec.cluster_ip.empty()) errors.required(path);
    } else if (spec.cluster_ip.empty()) {
        errors.invalid(path, list_of(ips), "must be empty when `clusterIP` is not specified");
    } else if (ips.front() != spec.cluster_ip) {
        errors.invalid(path, list_of(ips), "first value must match `clusterIP`");
    }
    if (ips.size() > 1 && std::ranges::find(ips, None) != ips.end())
        errors.invalid(path, list_of(ips), "'None' must be the first and only value");
    if (ips.size() > 2) errors.invalid(path, list_of(ips), "may only hold up to 2 values");
    for (std::size_t i = 0; i < ips.size(); ++i)
        if (ips[i] != None && !ips[i].empty()) invalid_all(errors, path.index(i), ips[i], names::check_ip(ips[i]));
    if (ips.size() == 2 && ips[0].contains(':') == ips[1].contains(':'))
        errors.invalid(path, list_of(ips), "may specify no more than one IP for each IP family");

    std::set<std::string> families;
    for (std::size_t i = 0; i < spec.ip_families.size(); ++i) {
        const std::string& family = spec.ip_families[i];
        const FieldPath at = (Spec / "ipFamilies").index(i);
        if (family != "IPv4" && family != "IPv6")
            errors.not_supported(at, family, {"IPv4", "IPv6"});
        else if (!families.insert(family).second)
            errors.duplicate(at, family);
        if (i < ips.size() && ips[i] != None && !ips[i].empty() && (family == "IPv6") != ips[i].contains(':'))
            errors.invalid(path.index(i), ips[i],
                           "expected an " + family + " value as indicated by `ipFamilies[" + std::to_string(i) + "]`");
    }
    if (spec.ip_family_policy) {
        const std::string& policy = *spec.ip_family_policy;
        if (policy != "SingleStack" && policy != "PreferDualStack" && policy != "RequireDualStack")
            errors.not_supported(Spec / "ipFamilyPolicy", policy, {"SingleStack", "PreferDualStack", "RequireDualStack"});
    }
    const bool single = !spec.ip_family_policy || *spec.ip_family_policy == "SingleStack";
    if (single && (ips.size() > 1 || spec.ip_families.size() > 1)) {
        errors.invalid(Spec / "ipFamilyPolicy", spec.ip_family_policy ? Value(*spec.ip_family_policy) : Value(),
                       std::string("must be RequireDualStack or PreferDualStack when multiple '") +
                           (ips.size() > 1 ? "clusterIPs" : "ipFamilies") + "' are specified");
    }
}

void validate_affinity(const ServiceSpec& spec, FieldErrors& errors) {
    if (spec.session_affinity.empty()) return errors.required(Spec / "sessionAffinity");
    if (spec.session_affinity != "ClientIP" && spec.session_affinity != "None")
        return errors.not_supported(Spec / "sessionAffinity", spec.session_affinity, {"ClientIP", "None"});
    const FieldPath config = Spec / "sessionAffinityConfig";
    if (spec.session_affinity == "None") {
        if (spec.session_affinity_config) errors.forbidden(config, "must not be set when session affinity is None");
        return;
    }
    if (!spec.session_affinity_config || !spec.session_affinity_config->client_ip ||
        !spec.session_affinity_config->client_ip->timeout_seconds)
        return errors.required(config, "when session affinity type is ClientIP");
    const std::int32_t seconds = *spec.session_affinity_config->client_ip->timeout_seconds;
    if (seconds <= 0 || seconds > 86400)
        errors.invalid(config / "clientIP" / "timeoutSeconds", seconds, "must be greater than 0 and less than 86400");
}

void validate_outside(const ServiceSpec& spec, FieldErrors& errors) {
    for (std::size_t i = 0; i < spec.external_ips.size(); ++i)
        check_endpoint_address(spec.external_ips[i], (Spec / "externalIPs").index(i), errors);
    const bool balanced = spec.type == "LoadBalancer";
    if (!spec.load_balancer_source_ranges.empty() && !balanced)
        errors.forbidden(Spec / "LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'");
    for (std::size_t i = 0; balanced && i < spec.load_balancer_source_ranges.size(); ++i) {
        const std::string& range = spec.load_balancer_source_ranges[i];
        invalid_all(errors, (Spec / "LoadBalancerSourceRanges").index(i), range, names::check_cidr(range));
    }
    if (spec.allocate_load_balancer_node_ports && !balanced)
        errors.forbidden(Spec / "allocateLoadBalancerNodePorts", "may only be used when `type` is 'LoadBalancer'");
    if (spec.load_balancer_class) {
        if (!balanced)
            errors.forbidden(Spec / "loadBalancerClass", "may only be used when `type` is 'LoadBalancer'");
        else
            invalid_all(errors, Spec / "loadBalancerClass", *spec.load_balancer_class,
                        names::check_qualified_name(*spec.load_balancer_class));
    }
    const FieldPath policy = Spec / "externalTrafficPolicy";
    if (!is_reachable_from_outside(spec)) {
        if (!spec.external_traffic_policy.empty())
            errors.invalid(policy, spec.external_traffic_policy, "may only be set for externally-accessible services");
    } else if (spec.external_traffic_policy.empty()) {
        errors.required(policy);
    } else if (spec.external_traffic_policy != "Cluster" && spec.external_traffic_policy != "Local") {
        errors.not_supported(policy, spec.external_traffic_policy, {"Cluster", "Local"});
    }
    if (spec.health_check_node_port != 0 && !needs_health_port(spec)) {
        errors.invalid(Spec / "healthCheckNodePort", spec.health_check_node_port,
                       "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'");
    }
}

void validate(const Service& object, FieldErrors& errors) {
    const ServiceSpec& spec = object.spec;
    validate_ports(spec, errors);
    if (spec.type.empty())
        errors.required(Spec / "type");
    else if (spec.type != "ClusterIP" && spec.type != "NodePort" && spec.type != "LoadBalancer" && spec.type != "ExternalName")
        errors.not_supported(Spec / "type", spec.type, {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"});
    if (is_headless(spec) && (spec.type == "NodePort" || spec.type == "LoadBalancer"))
        errors.invalid((Spec / "clusterIPs").index(0), None, "may not be set to 'None' for " + spec.type + " services");
    if (is_external_name(spec)) {
        std::string name = spec.external_name;
        if (name.ends_with('.')) name.pop_back();
        if (name.empty())
            errors.required(Spec / "externalName");
        else
            invalid_all(errors, Spec / "externalName", spec.external_name, names::check_dns1123_subdomain(name));
    }
    for (const auto& [key, value] : spec.selector) {
        invalid_all(errors, Spec / "selector", key, names::check_qualified_name(key));
        invalid_all(errors, Spec / "selector", value, names::check_label_value(value));
    }
    validate_addresses(spec, errors);
    validate_affinity(spec, errors);
    validate_outside(spec, errors);
    if (!is_external_name(spec)) {
        if (!spec.internal_traffic_policy)
            errors.required(Spec / "internalTrafficPolicy");
        else if (*spec.internal_traffic_policy != "Cluster" && *spec.internal_traffic_policy != "Local")
            errors.not_supported(Spec / "internalTrafficPolicy", *spec.internal_traffic_policy, {"Cluster", "Local"});
    }
    if (spec.traffic_distribution) {
        const std::string& one = *spec.traffic_distribution;
        if (one != "PreferClose" && one != "PreferSameZone" && one != "PreferSameNode")
            errors.not_supported(Spec / "trafficDistribution", one, {"PreferClose", "PreferSameNode", "PreferSameZone"});
    }
}

void validate_update(const Service& object, const Service& old, FieldErrors& errors) {
    const ServiceSpec &now = object.spec, &before = old.spec;
    const FieldPath path = Spec / "clusterIPs";
    const bool kept = !is_external_name(now) && !is_external_name(before) && !(is_headless(now) && is_headless(before));
    if (kept && !before.cluster_ips.empty()) {
        if (now.cluster_ips.empty())
            errors.invalid(path.index(0), list_of(now.cluster_ips), "primary clusterIP can not be unset");
        else if (now.cluster_ips[0] != before.cluster_ips[0])
            errors.invalid(path.index(0), list_of(now.cluster_ips), "may not change once set");
        const bool second_changes =
            now.cluster_ips.size() > 1 && before.cluster_ips.size() > 1 && now.cluster_ips[1] != before.cluster_ips[1];
        if (second_changes) errors.invalid(path.index(1), list_of(now.cluster_ips), "may not change once set");
        const bool second_goes = now.cluster_ips.size() == 1 && before.cluster_ips.size() > 1;
        if (second_goes && now.ip_family_policy && *now.ip_family_policy != "SingleStack")
            errors.invalid(Spec / "ipFamilyPolicy", *now.ip_family_policy,
                           "must be set to 'SingleStack' when releasing the secondary clusterIP");
        if (!now.ip_families.empty() && !before.ip_families.empty() && now.ip_families[0] != before.ip_families[0])
            errors.invalid((Spec / "ipFamilies").index(0), list_of(now.ip_families), "may not change once set");
    }
    if (needs_health_port(now) && needs_health_port(before) && now.health_check_node_port != before.health_check_node_port)
        errors.forbidden(Spec / "healthCheckNodePort", "field is immutable");
    if (now.type == "LoadBalancer" && before.type == "LoadBalancer" && now.load_balancer_class != before.load_balancer_class)
        errors.invalid(Spec / "loadBalancerClass", now.load_balancer_class ? Value(*now.load_balancer_class) : Value(),
                       "may not change once set");
    validate(object, errors);
}

void validate_status_update(const Service& object, const Service&, FieldErrors& errors) {
    const auto& ingress = object.status.load_balancer.ingress;
    const FieldPath path = "status.loadBalancer.ingress";
    if (object.spec.type != "LoadBalancer" && !ingress.empty())
        errors.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'");
    for (std::size_t i = 0; i < ingress.size(); ++i) {
        if (!ingress[i].ip.empty()) invalid_all(errors, path.index(i) / "ip", ingress[i].ip, names::check_ip(ingress[i].ip));
        if (ingress[i].hostname.empty()) continue;
        invalid_all(errors, path.index(i) / "hostname", ingress[i].hostname, names::check_dns1123_subdomain(ingress[i].hostname));
        if (names::check_ip(ingress[i].hostname).empty())
            errors.invalid(path.index(i) / "hostname", ingress[i].hostname, "must be a DNS name, not an IP address");
    }
}

/// What is taken but does nothing. See kubernetes: pkg/api/service/warnings.go.
void warn(const Service& object, const Service*, std::vector<std::string>& warnings) {
    const ServiceSpec& spec = object.spec;
    if (spec.type == "ClusterIP" && is_headless(spec)) {
        if (!spec.load_balancer_ip.empty()) warnings.emplace_back("spec.loadBalancerIP is ignored for headless services");
        if (!spec.external_ips.empty()) warnings.emplace_back("spec.externalIPs is ignored for headless services");
        if (spec.session_affinity != "None") warnings.emplace_back("spec.SessionAffinity is ignored for headless services");
    }
    if (is_external_name(spec) && !spec.external_ips.empty())
        warnings.emplace_back(R"(spec.externalIPs is ignored when spec.type is "ExternalName")");
    if (!is_external_name(spec) && !spec.external_name.empty())
        warnings.emplace_back(R"(spec.externalName is ignored when spec.type is not "ExternalName")");
    if (spec.traffic_distribution == "PreferClose")
        warnings.emplace_back(R"(spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone")");
}

}  // namespace

Strategy service_strategy(ServiceAllocator& allocator) {
    Strategy strategy = strategy_for<Service>({.set_defaults = set_defaults,
                                               .prepare_for_create = prepare_for_create,
                                               .prepare_for_update = prepare_for_update,
                                               .validate = validate,
                                               .validate_update = validate_update,
                                               .validate_status_update = validate_status_update,
                                               .warn = warn});
    strategy.name_rule = names::NameRule::Dns1035Label;
    strategy.create_on_update = true;
    strategy.selectable_fields = {{"spec.clusterIP"}, {"spec.type"}};
    strategy.begin_write = [&allocator](ApiObject* object, const ApiObject* old, TransactionDraft& draft, FieldErrors& errors) {
        return allocator.begin_write(object ? &object->edit<Service>() : nullptr, old ? &old->view<Service>() : nullptr, draft, errors);
    };
    return strategy;
}

}  // namespace porthole::apiserver
