#pragma once
#include "kubelet/pod/pod.h"

namespace porthole::kubelet {

/// The name a pod's processes see, and its domain ("" without subdomain).
struct PodHostname {
    std::string hostname;  ///< as shown by uname: may be the whole FQDN
    std::string domain;    ///< "<subdomain>.<namespace>.svc.<cluster domain>"
};
/// Error: BadRequest if setHostnameAsFQDN results in a name of more than 64 characters.
Result<PodHostname> pod_hostname(const core::Pod& pod, const std::string& cluster_domain);

/// The /etc/hosts of a pod with its own network.
std::string hosts_file(const std::vector<std::string>& pod_addresses, const PodHostname& name, const std::vector<core::HostAlias>& aliases);
/// The /etc/hosts of a pod on the host's network: the host's own, then the aliases.
std::string host_network_hosts_file(std::string_view host_file, const std::vector<core::HostAlias>& aliases);

/// nameserver, search and options lines of a resolv.conf. Unknown lines are skipped.
cri::DNSConfig parse_resolv_conf(std::string_view text);

/// The name servers available to pods.
struct ClusterDns {
    std::vector<std::string> servers;
    std::string domain;   ///< "cluster.local"
    cri::DNSConfig host;  ///< the node's resolv.conf
};
/// A pod's name servers, and a warning about them.
struct DnsOutcome {
    cri::DNSConfig config;
    std::string warning;  ///< for an event: what was cut (DNSConfigForming) or is missing (MissingClusterDNS)
    std::string warning_reason;
};
/// The content of a pod's resolv.conf, from dnsPolicy and dnsConfig: at most 3 servers, 32 search domains and 2048 characters of them.
DnsOutcome pod_dns(const core::Pod& pod, const ClusterDns& cluster);

}  // namespace porthole::kubelet
