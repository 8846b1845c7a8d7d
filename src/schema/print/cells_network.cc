#include <algorithm>
#include <set>

#include "base/strings.h"
#include "schema/print/cells.h"

namespace porthole::schema {
namespace {

/// Addresses or names of `status.loadBalancer.ingress`, sorted.
std::vector<std::string> load_balancer_addresses(const Value& object) {
    std::set<std::string> addresses;
    for (const Value& ingress : items_of(at(at(at(object, "status"), "loadBalancer"), "ingress"))) {
        const std::string_view ip = ingress.string_at({"ip"}), name = ingress.string_at({"hostname"});
        if (!ip.empty() || !name.empty()) addresses.emplace(ip.empty() ? name : ip);
    }
    return {addresses.begin(), addresses.end()};
}

Value service_external_ip(const Cell& cell) {
    const Value& spec = at(cell.object, "spec");
    const std::string_view type = spec.string_at({"type"});
    if (type == "ExternalName") return spec.string_at({"externalName"});
    std::vector<std::string> addresses;
    if (type == "LoadBalancer") addresses = load_balancer_addresses(cell.object);
    for (const Value& address : items_of(at(spec, "externalIPs"))) addresses.push_back(text_of(address));
    if (addresses.empty()) return type == "LoadBalancer" ? "<pending>" : "<none>";
    return join(addresses, ",");
}

Value service_ports(const Cell& cell) {
    std::vector<std::string> texts;
    for (const Value& port : items_of(at(at(cell.object, "spec"), "ports"))) {
        std::string text = text_of(at(port, "port"));
        if (const std::int64_t node_port = at(port, "nodePort").int_or(0); node_port > 0) text += ":" + std::to_string(node_port);
        texts.push_back(text + "/" + std::string(at(port, "protocol").string_or("TCP")));
    }
    return texts.empty() ? "<none>" : join(texts, ",");
}

Value ingress_hosts(const Cell& cell) {
    std::vector<std::string> hosts;
    for (const Value& rule : items_of(at(at(cell.object, "spec"), "rules"))) {
        if (const std::string_view host = rule.string_at({"host"}); !host.empty()) hosts.emplace_back(host);
    }
    return hosts.empty() ? "*" : join_some(hosts, 3, " + # more...");
}

Value ingress_address(const Cell& cell) { return join(load_balancer_addresses(cell.object), ","); }

Value ingress_ports(const Cell& cell) { return items_of(at(at(cell.object, "spec"), "tls")).empty() ? "80" : "80, 443"; }

Value ingress_class_parameters(const Cell& cell) {
    const Value* parameters = cell.object.at_path({"spec", "parameters"});
    if (!parameters || parameters->is_null()) return "<none>";
    std::string text(parameters->string_at({"kind"}));
    if (const std::string_view group = parameters->string_at({"apiGroup"}); !group.empty()) text.append(".").append(group);
    return text.append("/").append(parameters->string_at({"name"}));
}

std::string bracketed(std::string_view ip) { return ip.find(':') == ip.npos ? std::string(ip) : "[" + std::string(ip) + "]"; }

Value endpoints_endpoints(const Cell& cell) {
    std::vector<std::string> texts;
    for (const Value& subset : items_of(at(cell.object, "subsets"))) {
        const Array& ports = items_of(at(subset, "ports"));
        const Array& addresses = items_of(at(subset, "addresses"));
        if (ports.empty()) {
            for (const Value& address : addresses) texts.emplace_back(address.string_at({"ip"}));
        }
        for (const Value& port : ports) {
            for (const Value& address : addresses) {
                texts.push_back(bracketed(address.string_at({"ip"})) + ":" + text_of(at(port, "port")));
            }
        }
    }
    return texts.empty() ? "<none>" : join_some(texts, 3, " + # more...");
}

Value endpoint_slice_ports(const Cell& cell) {
    std::vector<std::string> texts;
    for (const Value& port : items_of(at(cell.object, "ports"))) {
        const std::string name(port.string_at({"name"})), number = text_of(at(port, "port"));
        texts.push_back(!number.empty() ? number : name.empty() ? "*" : name);
    }
    return texts.empty() ? "<unset>" : join_some(texts, 3, " + # more...");
}

Value endpoint_slice_addresses(const Cell& cell) {
    std::vector<std::string> texts;
    for (const Value& endpoint : items_of(at(cell.object, "endpoints"))) {
        for (const Value& address : items_of(at(endpoint, "addresses"))) texts.push_back(text_of(address));
    }
    return texts.empty() ? "<unset>" : join_some(texts, 3, " + # more...");
}

Value ip_address_parent_ref(const Cell& cell) {
    const Value* parent = cell.object.at_path({"spec", "parentRef"});
    if (!parent || parent->is_null()) return "<none>";
    std::string text(parent->string_at({"resource"}));
    if (const std::string_view group = parent->string_at({"group"}); !group.empty()) text.append(".").append(group);
    if (const std::string_view space = parent->string_at({"namespace"}); !space.empty()) text.append("/").append(space);
    text.append("/").append(parent->string_at({"name"}));
    return to_lower(text);
}

constexpr CellFunction network_functions[] = {
    {"service_external_ip", service_external_ip},
    {"service_port_s", service_ports},
    {"ingress_hosts", ingress_hosts},
    {"ingress_address", ingress_address},
    {"ingress_ports", ingress_ports},
    {"ingress_class_parameters", ingress_class_parameters},
    {"endpoints_endpoints", endpoints_endpoints},
    {"endpoint_slice_ports", endpoint_slice_ports},
    {"endpoint_slice_addresses", endpoint_slice_addresses},
    {"ip_address_parent_ref", ip_address_parent_ref},
};

}  // namespace

const std::span<const CellFunction> network_cells = network_functions;

}  // namespace porthole::schema
