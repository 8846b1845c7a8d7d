#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>

#include "api/core_v1.h"
#include "cni/flannel/network_config.h"

namespace porthole::cni::flannel {

/// A node's part of the pod network, as its Node object has it.
struct Lease {
    std::string node;
    IpPrefix subnet;
    IpAddress public_ip;
    std::optional<Backend> backend;  ///< absent: the node publishes none, as nodes without a Flannel daemon
    std::uint32_t vni = 0;
    std::string vtep_mac;  ///< "00:15:5d:…", lower case; VXLAN; "" if the node says none that can be used
    bool operator==(const Lease&) const = default;
};

/// The node's first IPv4 range of pods.
std::optional<IpPrefix> pod_range_of(const api::core::v1::Node& node);
/// Nullopt for a node without an IPv4 pod range or address.
std::optional<Lease> lease_of(const api::core::v1::Node& node);
/// The annotations `flannel.alpha.coreos.com/…` by which a node publishes its lease.
std::map<std::string, std::string> annotations_of(const Lease& lease);
/// Whether a node may have this range of pods where another one has the ranges `own`: within the cluster's (none: anywhere), and outside
/// those of services. Where the API server does not forbid it a node says itself what it has: packets for other addresses must not go there
/// for that.
bool may_be_of_another_node(const IpPrefix& range, std::span<const IpPrefix> cluster, std::span<const IpPrefix> services,
                            std::span<const IpPrefix> own);
/// The node whose published back end differs from `backend`; nullopt if all are the same.
std::optional<Lease> find_other_backend(const std::map<std::string, Lease>& leases, const std::string& self, Backend backend);

}  // namespace porthole::cni::flannel
