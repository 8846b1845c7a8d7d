#include <set>

#include "api/discovery_v1.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/strategy/addresses.h"

namespace porthole::apiserver {
namespace {

using api::discovery::v1::Endpoint;
using api::discovery::v1::EndpointSlice;

constexpr std::size_t EndpointLimit = 1000, AddressLimit = 100, PortLimit = 20000, ZoneLimit = 8;

void set_defaults(EndpointSlice& object) {
    for (api::discovery::v1::EndpointPort& port : object.ports) {
        if (!port.name) port.name = "";
        if (!port.protocol) port.protocol = "TCP";
    }
}

void validate_address(const std::string& address, const std::string& type, const FieldPath& path, FieldErrors& errors) {
    if (type == "FQDN") return invalid_all(errors, path, address, names::check_dns1123_subdomain(address));
    const bool v6 = address.contains(':');
    if (type == "IPv4" && v6) return errors.invalid(path, address, "must be a valid IPv4 address");
    if (type == "IPv6" && !v6) return errors.invalid(path, address, "must be a valid IPv6 address");
    check_endpoint_address(address, path, errors);
}

void validate_endpoint(const Endpoint& endpoint, const std::string& type, const FieldPath& path, FieldErrors& errors) {
    if (endpoint.addresses.empty()) errors.required(path / "addresses", "must contain at least 1 address");
    if (endpoint.addresses.size() > AddressLimit) errors.too_many(path / "addresses", endpoint.addresses.size(), AddressLimit);
    for (std::size_t i = 0; i < endpoint.addresses.size(); ++i)
        validate_address(endpoint.addresses[i], type, (path / "addresses").index(i), errors);
    if (endpoint.node_name)
        invalid_all(errors, path / "nodeName", *endpoint.node_name, names::check_dns1123_subdomain(*endpoint.node_name));
    if (endpoint.hostname) invalid_all(errors, path / "hostname", *endpoint.hostname, names::check_dns1123_label(*endpoint.hostname));
    if (endpoint.hints && endpoint.hints->for_zones.size() > ZoneLimit)
        errors.too_many(path / "hints" / "forZones", endpoint.hints->for_zones.size(), ZoneLimit);
}

void validate_port(const api::discovery::v1::EndpointPort& port, std::set<std::string>& seen, const FieldPath& path, FieldErrors& errors) {
    const std::string name = port.name.value_or("");
    if (!name.empty()) invalid_all(errors, path / "name", name, names::check_dns1123_label(name));
    if (!seen.insert(name).second) errors.duplicate(path / "name", name);
    if (!port.protocol)
        errors.required(path / "protocol");
    else if (*port.protocol != "TCP" && *port.protocol != "UDP" && *port.protocol != "SCTP")
        errors.not_supported(path / "protocol", *port.protocol, {"SCTP", "TCP", "UDP"});
    if (port.app_protocol) invalid_all(errors, path / "appProtocol", *port.app_protocol, names::check_qualified_name(*port.app_protocol));
}

void validate(const EndpointSlice& object, FieldErrors& errors) {
    const std::string& type = object.address_type;
    if (type.empty())
        errors.required("addressType");
    else if (type != "IPv4" && type != "IPv6" && type != "FQDN")
        errors.not_supported("addressType", type, {"FQDN", "IPv4", "IPv6"});
    if (object.endpoints.size() > EndpointLimit)
        errors.too_many("endpoints", object.endpoints.size(), EndpointLimit);
    else
        for (std::size_t i = 0; i < object.endpoints.size(); ++i)
            validate_endpoint(object.endpoints[i], type, FieldPath("endpoints").index(i), errors);
    if (object.ports.size() > PortLimit) return errors.too_many("ports", object.ports.size(), PortLimit);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < object.ports.size(); ++i) validate_port(object.ports[i], seen, FieldPath("ports").index(i), errors);
}

void validate_update(const EndpointSlice& object, const EndpointSlice& old, FieldErrors& errors) {
    validate(object, errors);
    if (object.address_type != old.address_type) errors.invalid("addressType", object.address_type, "field is immutable");
}

}  // namespace

Strategy endpoint_slice_strategy() {
    Strategy strategy =
        strategy_for<EndpointSlice>({.set_defaults = set_defaults, .validate = validate, .validate_update = validate_update});
    strategy.generation = Generation::OnChangeOutsideMetadata;
    return strategy;
}

}  // namespace porthole::apiserver
