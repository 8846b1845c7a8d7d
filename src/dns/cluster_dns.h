#pragma once
#include <string>

#include "api/core_v1.h"
#include "api/discovery_v1.h"
#include "base/log.h"
#include "client/informer.h"
#include "dns/resolver.h"
#include "runtime/file_system.h"

namespace porthole::dns {

/// What cluster DNS runs on. All outlive it and live on `loop`.
struct ClusterDnsContext {
    EventLoop& loop;
    client::Informers& informers;  ///< of all Services, EndpointSlices and Namespaces
    Upstream& upstream;
    FileSystem& files;
    Random& random;
    Logger log;
};

struct ClusterDnsOptions {
    ZoneOptions zone;
    std::string resolv_conf = "/etc/resolv.conf";  ///< names the servers for everything else; read again every 30 s
};

/// Cluster DNS as a component: keeps the zone in step with the API and answers through resolver().
class ClusterDns {
public:
    ClusterDns(ClusterDnsContext context, ClusterDnsOptions options);
    ClusterDns(const ClusterDns&) = delete;

    Resolver& resolver() { return resolver_; }
    /// Everything that the API knows has been seen once.
    bool complete() const;
    Task<> run();

private:
    void follow();
    void read_servers();

    ClusterDnsContext context_;
    ClusterDnsOptions options_;
    client::Informer<api::core::v1::Service>& services_;
    client::Informer<api::discovery::v1::EndpointSlice>& slices_;
    client::Informer<api::core::v1::Namespace>& namespaces_;
    Zone zone_;
    Forwarder forwarder_;
    Resolver resolver_;
};

ServiceNames service_names(const api::core::v1::Service& service);
/// Nothing for a slice that belongs to no service.
std::optional<SliceNames> slice_names(const api::discovery::v1::EndpointSlice& slice);

/// Makes the Service kube-system/kube-dns, by which clients find the address; the nodes themselves serve it, so it has no selector
/// and no endpoints. For the server's side. Success if it is there.
Task<> ensure_dns_service(client::Client& client, std::string cluster_ip);

}  // namespace porthole::dns
