#include "apiserver/bootstrap/kubernetes_endpoints.h"

#include "api/core_v1.h"
#include "api/discovery_v1.h"
#include "apiserver/bootstrap/ensure.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Endpoints;
using api::core::v1::EndpointSubset;
using api::discovery::v1::EndpointSlice;

constexpr const char *Name = "kubernetes", *PortName = "https";

bool is_ipv6(const std::string& address) { return address.find(':') != address.npos; }

Endpoints endpoints_of(const std::set<std::string>& addresses, std::uint16_t port) {
    Endpoints endpoints;
    endpoints.metadata.name = Name;
    endpoints.metadata.namespace_ = "default";
    endpoints.metadata.labels = {{"endpointslice.kubernetes.io/skip-mirror", "true"}};
    EndpointSubset& subset = endpoints.subsets.emplace_back();
    for (const std::string& address : addresses) subset.addresses.emplace_back().ip = address;
    subset.ports.push_back({.name = PortName, .port = port, .protocol = "TCP"});
    return endpoints;
}

/// A slice has addresses of one family: that of the first.
EndpointSlice slice_of(const std::set<std::string>& addresses, std::uint16_t port) {
    const bool ipv6 = is_ipv6(*addresses.begin());
    EndpointSlice slice;
    slice.metadata.name = Name;
    slice.metadata.namespace_ = "default";
    slice.metadata.labels = {{"kubernetes.io/service-name", Name}};
    slice.address_type = ipv6 ? "IPv6" : "IPv4";
    for (const std::string& address : addresses) {
        if (is_ipv6(address) != ipv6) continue;
        auto& endpoint = slice.endpoints.emplace_back();
        endpoint.addresses = {address};
        endpoint.conditions.ready = true;
    }
    auto& said = slice.ports.emplace_back();
    said.name = PortName;
    said.port = port;
    said.protocol = "TCP";
    return slice;
}

}  // namespace

Task<> publish_kubernetes_endpoints(client::Client& client, std::set<std::string> addresses, std::uint16_t port) {
    CO_TRY_VOID(co_await ensure_like(client, endpoints_of(addresses, port),
                                     [](Endpoints& stored, const Endpoints& wanted) { return assign(stored.subsets, wanted.subsets); }));
    co_return co_await ensure_like(client, slice_of(addresses, port), [](EndpointSlice& stored, const EndpointSlice& wanted) {
        const bool moved = assign(stored.endpoints, wanted.endpoints);
        return assign(stored.ports, wanted.ports) || moved;
    });
}

}  // namespace porthole::apiserver
