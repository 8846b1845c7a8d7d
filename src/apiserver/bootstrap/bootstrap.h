#pragma once
#include <cstdint>
#include <string>

#include "client/client.h"
#include "runtime/event_loop.h"

namespace porthole::apiserver {

/// What every cluster has from its first moment: system namespaces, the service "kubernetes" and where it leads, the service
/// of cluster DNS, priority classes, cluster-info for those who join, and the bootstrap roles.
struct BootstrapOptions {
    std::string advertise_address;  ///< of this server, as nodes and pods reach it
    std::uint16_t port = 6443;
    std::string kubernetes_service_ip;  ///< the first of the services' range
    std::string cluster_dns, cluster_domain, service_cidr, cluster_cidr;
    std::string backend;        ///< of the pod network between nodes: "host-gw" or "vxlan"; "" is not told
    std::string ca_pem;         ///< who certifies the server
    std::string client_ca_pem;  ///< who certifies its clients
};

/// Makes what is missing and corrects what must be as it says here. Safe to repeat.
Task<> bootstrap_cluster(client::Client& client, BootstrapOptions options);

}  // namespace porthole::apiserver
