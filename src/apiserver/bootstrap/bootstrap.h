#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "client/client.h"
#include "runtime/event_loop.h"

namespace porthole::apiserver {

/// How extension API servers verify that a request comes from this server, and which user it is for.
struct FrontProxyOptions {
    std::string ca_pem;  ///< the authority of this server's certificate; "": not published
    std::vector<std::string> allowed_names{"front-proxy-client"};
    std::vector<std::string> username_headers{"X-Remote-User"}, uid_headers{"X-Remote-Uid"}, group_headers{"X-Remote-Group"},
        extra_prefixes{"X-Remote-Extra-"};
};

/// The objects of every new cluster: system namespaces, the range of service addresses, the service "kubernetes" with its endpoints, the
/// service of cluster DNS, priority classes, a storage class, cluster-info for joining nodes, and the bootstrap roles.
struct BootstrapOptions {
    std::string advertise_address;  ///< of this server, as nodes and pods reach it
    std::uint16_t port = 6443;
    std::string kubernetes_service_ip;  ///< the first of the services' range
    std::string cluster_dns, cluster_domain, service_cidr, cluster_cidr;
    std::string backend;        ///< of the pod network between nodes: "host-gw" or "vxlan"; "" leaves it out of the configuration
    std::string ca_pem;         ///< the authority of the server's certificate
    std::string client_ca_pem;  ///< the authority of clients' certificates
    FrontProxyOptions front_proxy{};
    bool only_server = true;  ///< the service "kubernetes" leads to this server only; false: its endpoints are maintained elsewhere
};

/// Whether only this machine can reach the address, so that pods cannot use it as an endpoint.
bool is_loopback(const std::string& address);

/// Creates missing objects and corrects those that must be as `options` require. Safe to repeat.
Task<> bootstrap_cluster(client::Client& client, BootstrapOptions options);
/// Only publishes the authorities: cluster-info, and the ConfigMap by which extension API servers verify clients. Safe to repeat.
Task<> publish_authorities(client::Client& client, BootstrapOptions options);

}  // namespace porthole::apiserver
