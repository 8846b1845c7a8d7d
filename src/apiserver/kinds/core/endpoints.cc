#include <set>

#include "api/core_v1.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/strategy/addresses.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::EndpointAddress;
using api::core::v1::Endpoints;
using api::core::v1::EndpointSubset;

void set_defaults(Endpoints& object) {
    for (EndpointSubset& subset : object.subsets)
        for (api::core::v1::EndpointPort& port : subset.ports)
            if (port.protocol.empty()) port.protocol = "TCP";
}

void validate_address(const EndpointAddress& address, const FieldPath& path, FieldErrors& errors) {
    check_endpoint_address(address.ip, path / "ip", errors);
    if (!address.hostname.empty()) invalid_all(errors, path / "hostname", address.hostname, names::check_dns1123_label(address.hostname));
    if (address.node_name) invalid_all(errors, path / "nodeName", *address.node_name, names::check_dns1123_subdomain(*address.node_name));
}

void validate_port(const api::core::v1::EndpointPort& port, bool named, const FieldPath& path, FieldErrors& errors) {
    if (port.name.empty() && named) errors.required(path / "name");
    if (!port.name.empty()) invalid_all(errors, path / "name", port.name, names::check_dns1123_label(port.name));
    invalid_all(errors, path / "port", port.port, names::check_port_number(port.port));
    if (port.protocol.empty())
        errors.required(path / "protocol");
    else if (port.protocol != "TCP" && port.protocol != "UDP" && port.protocol != "SCTP")
        errors.not_supported(path / "protocol", port.protocol, {"SCTP", "TCP", "UDP"});
    if (port.app_protocol) invalid_all(errors, path / "appProtocol", *port.app_protocol, names::check_qualified_name(*port.app_protocol));
}

void validate(const Endpoints& object, FieldErrors& errors) {
    for (std::size_t i = 0; i < object.subsets.size(); ++i) {
        const EndpointSubset& subset = object.subsets[i];
        const FieldPath path = FieldPath("subsets").index(i);
        if (subset.addresses.empty() && subset.not_ready_addresses.empty())
            errors.required(path, "must specify `addresses` or `notReadyAddresses`");
        for (std::size_t a = 0; a < subset.addresses.size(); ++a)
            validate_address(subset.addresses[a], (path / "addresses").index(a), errors);
        for (std::size_t a = 0; a < subset.not_ready_addresses.size(); ++a)
            validate_address(subset.not_ready_addresses[a], (path / "notReadyAddresses").index(a), errors);
        for (std::size_t p = 0; p < subset.ports.size(); ++p)
            validate_port(subset.ports[p], subset.ports.size() > 1, (path / "ports").index(p), errors);
    }
}

}  // namespace

Strategy endpoints_strategy() {
    Strategy strategy = strategy_for<Endpoints>({.set_defaults = set_defaults, .validate = validate});
    strategy.create_on_update = true;
    strategy.deprecation = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
    return strategy;
}

}  // namespace porthole::apiserver
