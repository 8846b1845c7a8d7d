#include "api/networking_v1.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/strategy/object_meta.h"
#include "base/values/ip.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::networking::v1::IPBlock;
using api::networking::v1::NetworkPolicy;
using api::networking::v1::NetworkPolicyPeer;
using api::networking::v1::NetworkPolicyPort;

void default_ports(std::vector<NetworkPolicyPort>& ports) {
    for (NetworkPolicyPort& port : ports)
        if (!port.protocol) port.protocol = "TCP";
}

void set_defaults(NetworkPolicy& object) {
    for (auto& rule : object.spec.ingress) default_ports(rule.ports);
    for (auto& rule : object.spec.egress) default_ports(rule.ports);
    if (!object.spec.policy_types.empty()) return;
    object.spec.policy_types = {"Ingress"};
    if (!object.spec.egress.empty()) object.spec.policy_types.emplace_back("Egress");
}

void validate_port(const NetworkPolicyPort& port, const FieldPath& path, FieldErrors& errors) {
    if (port.protocol && *port.protocol != "TCP" && *port.protocol != "UDP" && *port.protocol != "SCTP")
        errors.not_supported(path / "protocol", *port.protocol, {"SCTP", "TCP", "UDP"});
    if (!port.port) {
        if (port.end_port) errors.invalid(path / "endPort", *port.end_port, "may not be specified when `port` is not specified");
        return;
    }
    if (port.port->is_string()) {
        if (port.end_port) errors.invalid(path / "endPort", *port.end_port, "may not be specified when `port` is non-numeric");
        return invalid_all(errors, path / "port", port.port->as_string(), names::check_port_name(port.port->as_string()));
    }
    invalid_all(errors, path / "port", port.port->as_int(), names::check_port_number(port.port->as_int()));
    if (port.end_port && *port.end_port < port.port->as_int())
        errors.invalid(path / "endPort", *port.end_port, "must be greater than or equal to `port`");
}

void validate_block(const IPBlock& block, const FieldPath& path, FieldErrors& errors) {
    if (block.cidr.empty()) return errors.required(path / "cidr");
    const auto problems = names::check_cidr(block.cidr);
    invalid_all(errors, path / "cidr", block.cidr, problems);
    const auto whole = IpPrefix::parse(block.cidr);
    for (std::size_t i = 0; i < block.except.size(); ++i) {
        const FieldPath at = (path / "except").index(i);
        const auto bad = names::check_cidr(block.except[i]);
        invalid_all(errors, at, block.except[i], bad);
        const auto part = IpPrefix::parse(block.except[i]);
        if (!bad.empty() || !problems.empty() || !whole || !part) continue;
        if (part->length() <= whole->length() || !whole->contains(part->base()))
            errors.invalid(at, block.except[i], "must be a strict subset of `cidr`");
    }
}

void validate_peer(const NetworkPolicyPeer& peer, const FieldPath& path, FieldErrors& errors) {
    if (peer.pod_selector) validate_label_selector(*peer.pod_selector, path / "podSelector", errors);
    if (peer.namespace_selector) validate_label_selector(*peer.namespace_selector, path / "namespaceSelector", errors);
    if (!peer.ip_block && !peer.pod_selector && !peer.namespace_selector) return errors.required(path, "must specify a peer");
    if (!peer.ip_block) return;
    if (peer.pod_selector || peer.namespace_selector) return errors.forbidden(path, "may not specify both ipBlock and another peer");
    validate_block(*peer.ip_block, path / "ipBlock", errors);
}

void validate(const NetworkPolicy& object, FieldErrors& errors) {
    validate_label_selector(object.spec.pod_selector, "spec.podSelector", errors);
    const auto validate_rule = [&](const auto& ports, const auto& peers, const FieldPath& path, const char* member) {
        for (std::size_t i = 0; i < ports.size(); ++i) validate_port(ports[i], (path / "ports").index(i), errors);
        for (std::size_t i = 0; i < peers.size(); ++i) validate_peer(peers[i], (path / member).index(i), errors);
    };
    for (std::size_t i = 0; i < object.spec.ingress.size(); ++i)
        validate_rule(object.spec.ingress[i].ports, object.spec.ingress[i].from, FieldPath("spec.ingress").index(i), "from");
    for (std::size_t i = 0; i < object.spec.egress.size(); ++i)
        validate_rule(object.spec.egress[i].ports, object.spec.egress[i].to, FieldPath("spec.egress").index(i), "to");
    const auto& types = object.spec.policy_types;
    if (types.size() > 2)
        errors.invalid("spec.policyTypes", schema::to_value(object.spec)["policyTypes"], "may not specify more than two policyTypes");
    for (std::size_t i = 0; i < types.size(); ++i)
        if (types[i] != "Ingress" && types[i] != "Egress")
            errors.not_supported(FieldPath("spec.policyTypes").index(i), types[i], {"Egress", "Ingress"});
}

}  // namespace

Strategy network_policy_strategy() {
    Strategy strategy = strategy_for<NetworkPolicy>({.set_defaults = set_defaults, .validate = validate});
    strategy.generation = Generation::OnSpecChange;
    return strategy;
}

}  // namespace porthole::apiserver
