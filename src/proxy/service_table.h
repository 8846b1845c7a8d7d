#pragma once
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/values/ip.h"

namespace porthole::proxy {

enum class Protocol : std::uint8_t { Tcp, Udp, Sctp };
/// "tcp", "udp", "sctp"
const char* to_string(Protocol protocol);
/// As the API writes it; TCP when empty or unknown.
Protocol protocol_of(const std::string& name);

/// The properties of a Service that matter to traffic. Only addresses of the proxy's family are kept.
struct ServiceInfo {
    struct Port {
        std::string name;
        Protocol protocol = Protocol::Tcp;
        std::uint16_t port = 0, node_port = 0;
    };
    std::string key;  ///< "namespace/name"
    std::vector<IpAddress> cluster_ips, external_ips, load_balancer_ips;
    std::vector<Port> ports;
    std::vector<IpPrefix> source_ranges;           ///< of load balancer addresses; empty: everyone
    std::optional<std::chrono::seconds> affinity;  ///< ClientIP
    bool external_local = false, internal_local = false;
    bool ignore_hints = false;                 ///< neither topology-mode nor trafficDistribution is set
    bool preserve_destination = false;         ///< Windows: backends get packets with the service's address
    std::uint16_t health_check_node_port = 0;  ///< only with externalTrafficPolicy Local
};

/// One endpoint of a slice, as in the API.
struct EndpointInfo {
    IpAddress address;
    bool ready = true, serving = true, terminating = false;
    std::string node_name;
    std::set<std::string> zone_hints, node_hints;
};

/// An EndpointSlice; one of another address family has no endpoints.
struct SliceInfo {
    struct Port {
        std::string name;
        Protocol protocol = Protocol::Tcp;
        std::uint16_t port = 0;
    };
    std::string key, service;  ///< "namespace/name" of the slice and of its service
    std::vector<Port> ports;
    std::vector<EndpointInfo> endpoints;
};

/// The node for which the table is computed.
struct NodeView {
    std::string name, zone;
    std::vector<IpAddress> node_port_addresses;
    std::vector<IpPrefix> pod_prefixes;  ///< of this node's pods
    bool operator==(const NodeView&) const = default;
};

/// A destination of a frontend's traffic.
struct Backend {
    IpAddress address;
    std::uint16_t port = 0;
    auto operator<=>(const Backend&) const = default;
};

/// Address, protocol and port at which a service receives traffic.
struct FrontendKey {
    IpAddress address;
    Protocol protocol = Protocol::Tcp;
    std::uint16_t port = 0;
    auto operator<=>(const FrontendKey&) const = default;
};

/// The destinations of a frontend.
struct Frontend {
    enum class Kind : std::uint8_t {
        ClusterIp,
        External,       ///< node port, external or load-balancer address: the client's address is replaced by the node's
        ExternalLocal,  ///< the same with externalTrafficPolicy Local: keeps the client's address
    };
    Kind kind = Kind::ClusterIp;
    std::vector<Backend> backends;         ///< sorted, without duplicates
    std::vector<Backend> inside_backends;  ///< ExternalLocal: for pods and processes of this node; elsewhere empty
    bool drop_unanswered = false;          ///< without backends: drop, since other nodes have some; false: reject
    std::optional<std::chrono::seconds> affinity;
    std::vector<IpPrefix> source_ranges;  ///< empty: everyone
    bool operator==(const Frontend&) const = default;
};

/// Services and endpoints as one node must forward them. update() computes changes service by service. Pure logic, not thread-safe;
/// pointers and references are valid until the next change.
class ServiceTable {
public:
    explicit ServiceTable(NodeView node) : node_(std::move(node)) {}

    void set_node(NodeView node);
    void set_service(ServiceInfo service);
    void remove_service(const std::string& key);
    void set_slice(SliceInfo slice);
    void remove_slice(const std::string& key);

    bool changed() const { return !dirty_.empty(); }
    /// Processes pending changes. Returns the frontends that differ from before.
    std::set<FrontendKey> update();

    /// As of the last update().
    const std::map<FrontendKey, Frontend>& frontends() const { return frontends_; }
    /// Services ("namespace/name") of which only some frontends are served, because all frontends, with their backends and source ranges,
    /// would use too much memory on every node: nothing limits ports × addresses × endpoints.
    const std::set<std::string>& cut() const { return cut_; }
    /// The service that owns a frontend; nullptr if none does.
    const ServiceInfo* service_of(const FrontendKey& frontend) const;
    const NodeView& node() const { return node_; }
    /// Addresses of endpoints on this node.
    const std::set<IpAddress>& local_addresses() const { return local_addresses_; }
    struct Health {
        std::string service;
        std::size_t local_endpoints = 0;
        bool operator==(const Health&) const = default;
    };
    /// Health-check node ports and their answers.
    const std::map<std::uint16_t, Health>& health() const { return health_; }

private:
    struct Service {
        std::optional<ServiceInfo> info;
        std::map<std::string, SliceInfo> slices;
        std::set<FrontendKey> frontends;  // that it owns
        std::set<FrontendKey> contested;  // that it wants, and that another one owns
        std::set<IpAddress> local_addresses;
        std::uint16_t health_port = 0;  // entered in health_, unless another service has it
    };
    struct Chosen {
        std::vector<Backend> cluster, local;  // for all nodes' and for this node's endpoints
        bool any_elsewhere = false;
    };
    /// Where slices offer a port of that name and protocol, with its number.
    using Offers = std::map<std::pair<std::string_view, Protocol>, std::vector<std::pair<const SliceInfo*, std::uint16_t>>>;
    static Offers offers_of(const Service& service);
    Chosen choose(const ServiceInfo& info, const Offers& offers, const ServiceInfo::Port& port) const;
    std::vector<const EndpointInfo*> near(const ServiceInfo& info, std::vector<const EndpointInfo*> ready) const;
    struct Wanted {
        std::map<FrontendKey, Frontend> frontends;
        std::set<FrontendKey> chosen;  // of these, those at addresses that the service's author has chosen: its external ones
        bool is_cut = false;
        std::size_t used = 0;  // places
        /// The frontend at each of the addresses; what is there already stays as it is.
        void add(const std::vector<IpAddress>& addresses, Protocol protocol, std::uint16_t port, const Frontend& frontend, bool is_chosen);
    };
    Wanted frontends_of(const Service& service) const;
    /// Who owns a frontend. An address that the cluster has assigned, such as a cluster IP, goes before one that an author has chosen:
    /// otherwise the service whose name comes first would take another namespace's traffic on every node that starts.
    struct Owner {
        std::string service;
        bool is_assigned = false;
    };
    void take_over(const std::string& key, Service& service, std::set<FrontendKey>& changed);
    void let_go(const std::string& key, Service& service, const FrontendKey& frontend);
    bool acquire(const std::string& key, Service& service, const FrontendKey& frontend, bool is_assigned);
    void update_local(const Service* service, const std::string& key);
    void update_health(const std::string& key, Service& service);

    NodeView node_;
    std::map<std::string, Service> services_;
    std::map<std::string, std::string> service_of_slice_;
    std::set<std::string> dirty_, cut_;
    std::map<FrontendKey, Frontend> frontends_;
    std::map<FrontendKey, Owner> owners_;
    std::map<FrontendKey, std::set<std::string>> contested_;  // also wanted by these services
    std::map<IpAddress, int> local_references_;
    std::set<IpAddress> local_addresses_;
    std::map<std::uint16_t, Health> health_;
};

}  // namespace porthole::proxy
