#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hns/documents.h"

namespace porthole::cmd::doctor {

/// HNS' objects of the pod network.
struct HnsFacts {
    std::vector<hns::hcn::HostComputeEndpoint> endpoints;  ///< of the pod network alone
    std::vector<hns::hcn::HostComputeNamespace> namespaces;
    std::vector<hns::hcn::HostComputeLoadBalancer> load_balancers;
    std::vector<std::string> endpoint_ids;  ///< of all networks
};

/// One node's machine, as its checks see it. A plain value, read at one time.
struct NodeEvidence {
    struct Service {
        std::string name, state;
        bool runs = false;
        std::string remedy;    ///< how to start it, and where its log is
        bool present = false;  ///< its process is there, be it well or not
    };
    struct Port {
        std::uint16_t port = 0;
        std::string service;  ///< which uses it
        bool taken = false;
    };

    bool windows = false;
    std::uint32_t windows_build = 0, windows_update = 0;  ///< 10.0.17763.1817 -> 17763, 1817; 0 if unknown
    std::string address;                                  ///< the node's own; "" if unknown
    std::string adapters;                                 ///< all of the machine, for messages
    std::string adapter;                                  ///< the one with the address; "" for none
    std::optional<int> mtu;                               ///< of that one
    std::vector<Service> services;                        ///< in the order in which they start
    std::vector<Port> ports;

    std::string pod_network;      ///< "cbr0"
    bool overlay = false;         ///< it encapsulates
    std::string missing_network;  ///< missing parts; "" if it is complete
    std::string network_remedy;
    std::optional<int> pod_mtu;   ///< of the host's own leg in it
    std::optional<HnsFacts> hns;  ///< nullopt on Linux, and if the service does not answer
    std::string hns_error;

    std::string cni_configuration;                           ///< path of the file
    std::optional<std::vector<std::string>> nat_exceptions;  ///< those in effect; nullopt on Linux, and if there is no such file

    std::string volume;                    ///< "C:", or a path on it: the one with the kubelet's files
    std::optional<bool> volume_encrypted;  ///< nullopt if unknown, because of
    std::string encryption_unknown = "it was not checked";

    std::string cluster_cidr, service_cidr, cluster_domain;
    std::string server;                                    ///< URL of the API server
    std::string server_in_use;                             ///< behind `server`, where that is the node's own balancer; "" if it is not
    std::vector<std::string> other_servers, dead_servers;  ///< from the balancer's file
    std::string http_proxy, https_proxy, no_proxy;         ///< as the node's programs have them
    std::optional<std::int64_t> seconds_behind;            ///< this machine's clock, compared with the server's; nullopt without its answer
    std::string server_error;
};

}  // namespace porthole::cmd::doctor
