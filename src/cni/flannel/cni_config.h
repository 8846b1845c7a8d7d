#pragma once
#include <string>
#include <vector>

#include "cni/flannel/network_config.h"

namespace porthole::cni::flannel {

/// The input of a Windows node's CNI configuration.
struct WindowsCniOptions {
    NetworkConfig network;
    IpPrefix subnet;  ///< of this node's pods
    std::vector<IpPrefix> service_prefixes;
    IpAddress management_address;  ///< the node's
    IpPrefix management_network;   ///< in which it is
    std::string cluster_dns, cluster_domain;
};

/// A network configuration for win-bridge or win-overlay. Traffic to pods, services and the node's network is not translated; services and
/// the node itself are reached through the host.
std::string windows_cni_configuration(const WindowsCniOptions& options);

/// The ranges that a CNI configuration excludes from the translation of pods' addresses: those of its OutBoundNAT policies, in the form of
/// either version of HNS. Empty for other texts.
std::vector<std::string> nat_exceptions_of(std::string_view configuration);

/// The ranges, separated by commas, for which a Windows node's pods keep their own address; flanneld publishes them on the Node.
inline constexpr const char* NatExceptionsAnnotation = "porthole.dev/nat-exceptions";

}  // namespace porthole::cni::flannel
