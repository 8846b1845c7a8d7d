#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "client/client.h"
#include "runtime/event_loop.h"

namespace porthole::apiserver {

/// How extension API servers know that a request comes from this one, and whom it speaks for.
struct FrontProxyOptions {
    std::string ca_pem;  ///< who certifies it towards them; "": they are not told
    std::vector<std::string> allowed_names{"front-proxy-client"};
    std::vector<std::string> username_headers{"X-Remote-User"}, uid_headers{"X-Remote-Uid"}, group_headers{"X-Remote-Group"},
        extra_prefixes{"X-Remote-Extra-"};
};

/// What every cluster has from its first moment: system namespaces, the range of services' addresses, the service "kubernetes" and where
/// it leads, the service of cluster DNS, priority classes, a class of volumes, cluster-info for those who join, and the bootstrap roles.
struct BootstrapOptions {
    std::string advertise_address;  ///< of this server, as nodes and pods reach it
    std::uint16_t port = 6443;
    std::string kubernetes_service_ip;  ///< the first of the services' range
    std::string cluster_dns, cluster_domain, service_cidr, cluster_cidr;
    std::string backend;        ///< of the pod network between nodes: "host-gw" or "vxlan"; "" leaves it out of the configuration
    std::string ca_pem;         ///< who certifies the server
    std::string client_ca_pem;  ///< who certifies its clients
    FrontProxyOptions front_proxy{};
    bool only_server = true;  ///< the service "kubernetes" leads here; else others see to it
};

/// Whether only this machine reaches the address, so that no pod could use it as an endpoint.
bool is_loopback(const std::string& address);

/// Creates what is missing and corrects what must be as `options` say. Safe to repeat.
Task<> bootstrap_cluster(client::Client& client, BootstrapOptions options);
/// Only what tells others of the authorities: cluster-info, and what extension API servers verify clients by. Safe to repeat.
Task<> publish_authorities(client::Client& client, BootstrapOptions options);

}  // namespace porthole::apiserver
