#pragma once
#include <string>
#include <vector>

#include "cni/flannel/network_config.h"

namespace porthole::cni::flannel {

/// What a Windows node's CNI configuration is made of.
struct WindowsCniOptions {
    NetworkConfig network;
    IpPrefix subnet;  ///< of this node's pods
    std::vector<IpPrefix> service_prefixes;
    IpAddress management_address;  ///< the node's
    IpPrefix management_network;   ///< in which it is
    std::string cluster_dns, cluster_domain;
};

/// A network configuration for win-bridge or win-overlay. What goes to pods, services and the node's network is not translated;
/// services and the node itself are reached through the host.
std::string windows_cni_configuration(const WindowsCniOptions& options);

/// The ranges that a CNI configuration leaves out of the translation of pods' addresses: those of its OutBoundNAT policies, in the form of
/// either version of HNS. Empty for other texts.
std::vector<std::string> nat_exceptions_of(std::string_view configuration);

/// What a Windows node's pods do not reach by the node's address, as flanneld publishes it on the Node: ranges by comma.
inline constexpr const char* NatExceptionsAnnotation = "porthole.dev/nat-exceptions";

}  // namespace porthole::cni::flannel
