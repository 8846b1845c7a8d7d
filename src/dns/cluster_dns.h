#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/core_v1.h"
#include "api/discovery_v1.h"
#include "base/log.h"
#include "client/informers/informer.h"
#include "dns/resolver.h"
#include "runtime/files/file_system.h"

namespace porthole::dns {

/// The collaborators of cluster DNS. All outlive it and live on `loop`.
struct ClusterDnsContext {
    EventLoop& loop;
    client::Informers& informers;  ///< of all Services, EndpointSlices, Namespaces and Nodes
    Upstream& upstream;
    FileSystem& files;
    Random& random;
    Logger log;
};

/// Options of cluster DNS.
struct ClusterDnsOptions {
    ZoneOptions zone;
    std::string resolv_conf = "/etc/resolv.conf";  ///< names the servers for all other domains; read again every 30 s
};

/// Cluster DNS as a component: keeps the zone up to date with the API and answers through resolver(). Owns zone, forwarder and resolver;
/// the informers must have stopped before it is destroyed.
class ClusterDns {
public:
    ClusterDns(ClusterDnsContext context, ClusterDnsOptions options);
    ClusterDns(const ClusterDns&) = delete;

    Resolver& resolver() { return resolver_; }
    /// Whether `client` belongs to this cluster: a pod, a service, a node, this machine itself. Other clients that can reach a node's port
    /// get neither cluster names nor recursion. Differs from Kubernetes: CoreDNS answers every client that reaches its service.
    bool knows(const IpAddress& client) const;
    /// The first lists of services, slices and namespaces are in the zone.
    bool complete() const;
    /// Reads resolv.conf periodically until cancelled; then ends the forwarder's tasks.
    Task<> run();

private:
    void follow();
    void read_servers();
    void set_node_addresses(const std::string& node, std::set<IpAddress> addresses);

    ClusterDnsContext context_;
    ClusterDnsOptions options_;
    client::Informer<api::core::v1::Service>& services_;
    client::Informer<api::discovery::v1::EndpointSlice>& slices_;
    client::Informer<api::core::v1::Namespace>& namespaces_;
    client::Informer<api::core::v1::Node>& nodes_;
    std::map<std::string, std::set<IpAddress>> addresses_of_node_;  ///< by name; a node says what it likes
    std::multiset<IpAddress> node_addresses_;                       ///< of all nodes; looked up for each query
    Zone zone_;
    Forwarder forwarder_;
    Resolver resolver_;
};

ServiceNames service_names(const api::core::v1::Service& service);
/// Nullopt for a slice without a service.
std::optional<SliceNames> slice_names(const api::discovery::v1::EndpointSlice& slice);

/// Creates the Service kube-system/kube-dns, which publishes the address. The nodes themselves serve it, so it has no selector and no
/// endpoints. Called by the server. Success if it exists.
Task<> ensure_dns_service(client::Client& client, std::string cluster_ip);

}  // namespace porthole::dns
