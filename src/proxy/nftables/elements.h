#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "proxy/service_table.h"

// The text form of elements in sets and maps, for writing to the kernel and for comparison in listing.h.

namespace porthole::proxy::nftables {

// The names of the sets and maps; upstream's where it has the same one.
inline constexpr const char* PodCidrs = "pod-cidrs";
inline constexpr const char* ServiceCidrs = "service-cidrs";
inline constexpr const char* HostServedIps = "host-served-ips";
inline constexpr const char* LocalPodCidrs = "local-pod-cidrs";
inline constexpr const char* ClusterIps = "cluster-ips";
inline constexpr const char* HairpinConnections = "hairpin-connections";
inline constexpr const char* FirewallIps = "firewall-ips";
inline constexpr const char* FirewallAllowedSources = "firewall-allowed-sources";
inline constexpr const char* ServiceIps = "service-ips";
inline constexpr const char* InternalServiceIps = "internal-service-ips";
inline constexpr const char* NoEndpointServices = "no-endpoint-services";
inline constexpr const char* AffinityServices = "affinity-services";
inline constexpr const char* EndpointsTcp = "endpoints-tcp";
inline constexpr const char* EndpointsUdp = "endpoints-udp";
inline constexpr const char* EndpointsSctp = "endpoints-sctp";
inline constexpr const char* Affinity = "affinity";

inline constexpr const char* RejectChain = "reject-chain";

/// Between the parts of a key or of data, and between key and data.
inline constexpr std::string_view PartSeparator = " . ", DataSeparator = " : ";

/// An element of a map or set; `data` is empty for sets.
struct Element {
    const char* set;
    std::string key, data;
    bool operator==(const Element&) const = default;

    std::string text() const { return data.empty() ? key : key + " : " + data; }
};

// The elements of one service.
Element service_ip(const FrontendKey& service, const std::string& chain);
Element internal_service_ip(const FrontendKey& service, const std::string& chain);
/// Packets are dropped when `drop`, else rejected.
Element no_endpoint_service(const FrontendKey& service, bool drop);
Element affinity_service(const FrontendKey& service, const std::string& chain);
/// The backend at one slot, which a chain's random number selects.
Element endpoint(const FrontendKey& service, std::size_t slot, const Backend& backend);
Element firewall_ip(const FrontendKey& service);
Element firewall_allowed_source(const FrontendKey& service, const IpPrefix& source);
Element cluster_ip(const IpAddress& address);
Element hairpin_connection(const IpAddress& pod);
Element local_pod_cidr(const IpPrefix& prefix);

/// A client that the kernel has recorded for session affinity, from a listing: "10.244.0.9 . 10.96.0.20 . tcp . 80 : 10.244.0.2 . 8080".
struct AffinityEntry {
    std::string key;       ///< by which the element is deleted
    std::string endpoint;  ///< as affinity_endpoint()
};
/// Nullopt for a text of another form.
std::optional<AffinityEntry> read_affinity(std::string_view element);
/// A service and one of its backends, as in AffinityEntry.
std::string affinity_endpoint(const FrontendKey& service, const Backend& backend);

}  // namespace porthole::proxy::nftables
