#include "apiserver/outgoing/service_endpoint.h"

#include <algorithm>

#include "api/discovery_v1.h"
#include "base/strings.h"
#include "base/values/ip.h"

namespace porthole::apiserver {

using api::discovery::v1::EndpointSlice;

Result<void> check_reachable_by_all(const std::string& host) {
    const auto address = IpAddress::parse(host);
    if (!address || !address->is_global_unicast()) return Error(Reason::BadRequest, "address not allowed");
    return {};
}

Result<ServiceEndpoint> find_service_endpoint(const ObjectReader& reader, const std::string& namespace_, const std::string& service,
                                              const api::core::v1::ServicePort& port) {
    TRY(const auto slices, reader.list<EndpointSlice>(namespace_));
    for (const auto& slice : slices) {
        const auto owner = slice->metadata.labels.find("kubernetes.io/service-name");
        if (owner == slice->metadata.labels.end() || owner->second != service) continue;
        const auto found =
            std::ranges::find_if(slice->ports, [&](const auto& one) { return one.name.value_or("") == port.name && one.port; });
        if (found == slice->ports.end()) continue;
        for (const auto& endpoint : slice->endpoints) {
            if (!endpoint.conditions.ready.value_or(true) || endpoint.addresses.empty()) continue;
            TRY_VOID(check_reachable_by_all(endpoint.addresses.front()));
            return ServiceEndpoint{.host = endpoint.addresses.front(), .port = static_cast<std::uint16_t>(*found->port)};
        }
    }
    return Error(Reason::ServiceUnavailable, "no endpoints available for service " + quote(service));
}

}  // namespace porthole::apiserver
