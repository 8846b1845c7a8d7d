#include "apiserver/outgoing/service_endpoint.h"

#include <algorithm>
#include <vector>

#include "api/discovery_v1.h"
#include "base/strings.h"
#include "base/values/ip.h"

namespace porthole::apiserver {

using api::core::v1::Service;
using api::core::v1::ServicePort;
using api::discovery::v1::EndpointSlice;

Result<void> check_reachable_by_all(const std::string& host) {
    const auto address = IpAddress::parse(host);
    if (!address || !address->is_global_unicast()) return Error(Reason::BadRequest, "address not allowed");
    return {};
}

Result<ServiceEndpoint> find_service_endpoint(const ObjectReader& reader, const std::string& namespace_, const std::string& service,
                                              const api::core::v1::ServicePort& port, Random& random) {
    std::vector<ServiceEndpoint> reachable;
    Result<void> refused;
    TRY(const auto slices, reader.list<EndpointSlice>(namespace_));
    for (const auto& slice : slices) {
        const auto owner = slice->metadata.labels.find("kubernetes.io/service-name");
        if (owner == slice->metadata.labels.end() || owner->second != service) continue;
        const auto found =
            std::ranges::find_if(slice->ports, [&](const auto& one) { return one.name.value_or("") == port.name && one.port; });
        if (found == slice->ports.end()) continue;
        for (const auto& endpoint : slice->endpoints) {
            if (!endpoint.conditions.ready.value_or(true) || endpoint.addresses.empty()) continue;
            if (auto allowed = check_reachable_by_all(endpoint.addresses.front()); !allowed)
                refused = std::move(allowed);
            else
                reachable.push_back({.host = endpoint.addresses.front(), .port = static_cast<std::uint16_t>(*found->port)});
        }
    }
    if (!reachable.empty()) return reachable[reachable.size() == 1 ? 0 : random.below(reachable.size())];
    TRY_VOID(refused);
    return Error(Reason::ServiceUnavailable, "no endpoints available for service " + quote(service));
}

Result<ServiceEndpoint> resolve_service(const ObjectReader& reader, const std::string& namespace_, const std::string& service,
                                        std::int32_t port, Random& random) {
    TRY(const auto found, reader.find<Service>(namespace_, service));
    if (!found) return Error(Reason::NotFound, "service " + quote(service) + " not found");
    if (found->spec.type == "ExternalName") {
        const std::string& name = found->spec.external_name;
        if (IpAddress::parse(name)) TRY_VOID(check_reachable_by_all(name));
        return ServiceEndpoint{.host = name, .port = static_cast<std::uint16_t>(port)};
    }
    const auto wanted = std::ranges::find(found->spec.ports, port, &ServicePort::port);
    if (wanted == found->spec.ports.end())
        return Error(Reason::ServiceUnavailable, "no service port " + std::to_string(port) + " found for service " + quote(service));
    return find_service_endpoint(reader, namespace_, service, *wanted, random);
}

std::string https_url(const std::string& host, std::int32_t port) {
    return "https://" + (host.contains(':') ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace porthole::apiserver
