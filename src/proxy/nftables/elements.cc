#include "proxy/nftables/elements.h"

namespace porthole::proxy::nftables {
namespace {

std::string concatenated(std::initializer_list<std::string> parts) {
    std::string text;
    for (const std::string& part : parts) text.append(text.empty() ? "" : PartSeparator).append(part);
    return text;
}

std::string text_of(const FrontendKey& service) {
    return concatenated({service.address.to_string(), to_string(service.protocol), std::to_string(service.port)});
}

std::string text_of(const Backend& backend) { return concatenated({backend.address.to_string(), std::to_string(backend.port)}); }

std::string go_to(const std::string& chain) { return "goto " + chain; }

const char* endpoints_map(Protocol protocol) {
    switch (protocol) {
        case Protocol::Tcp:
            return EndpointsTcp;
        case Protocol::Udp:
            return EndpointsUdp;
        case Protocol::Sctp:
            return EndpointsSctp;
    }
    return "";
}

}  // namespace

Element service_ip(const FrontendKey& service, const std::string& chain) { return {ServiceIps, text_of(service), go_to(chain)}; }

Element internal_service_ip(const FrontendKey& service, const std::string& chain) {
    return {InternalServiceIps, text_of(service), go_to(chain)};
}

Element no_endpoint_service(const FrontendKey& service, bool drop) {
    return {NoEndpointServices, text_of(service), drop ? "drop" : go_to(RejectChain)};
}

Element affinity_service(const FrontendKey& service, const std::string& chain) {
    return {AffinityServices, text_of(service), go_to(chain)};
}

Element endpoint(const FrontendKey& service, std::size_t slot, const Backend& backend) {
    return {endpoints_map(service.protocol),
            concatenated({service.address.to_string(), std::to_string(service.port), std::to_string(slot)}), text_of(backend)};
}

Element firewall_ip(const FrontendKey& service) { return {FirewallIps, text_of(service), ""}; }

Element firewall_allowed_source(const FrontendKey& service, const IpPrefix& source) {
    // The kernel's listing has a single address without a length.
    const bool single = source.length() == source.base().bits();
    return {FirewallAllowedSources, concatenated({text_of(service), single ? source.base().to_string() : source.to_string()}), ""};
}

Element cluster_ip(const IpAddress& address) { return {ClusterIps, address.to_string(), ""}; }

Element hairpin_connection(const IpAddress& pod) { return {HairpinConnections, concatenated({pod.to_string(), pod.to_string()}), ""}; }

Element local_pod_cidr(const IpPrefix& prefix) { return {LocalPodCidrs, prefix.to_string(), ""}; }

std::optional<AffinityEntry> read_affinity(std::string_view element) {
    const std::size_t client_end = element.find(PartSeparator), key_end = element.find(DataSeparator);
    if (client_end == element.npos || key_end == element.npos) return std::nullopt;
    return AffinityEntry{std::string(element.substr(0, key_end)), std::string(element.substr(client_end + PartSeparator.size()))};
}

std::string affinity_endpoint(const FrontendKey& service, const Backend& backend) {
    return text_of(service).append(DataSeparator).append(text_of(backend));
}

}  // namespace porthole::proxy::nftables
