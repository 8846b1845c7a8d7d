#pragma once
#include "base/result.h"
#include "cni/flannel/subnet_file.h"
#include "cni/plugin/request.h"

namespace porthole::cni {

enum class DelegateStyle : std::uint8_t { Linux, Windows };

/// The configuration of the plugin that does the work: the request's member `delegate`, completed for this node from `subnet`.
///
/// Windows, from `{"name":"cbr0","type":"flannel","delegate":{"type":"win-bridge","apiVersion":2}}` with FLANNEL_SUBNET=10.244.3.1/24:
///   `{"type":"win-bridge","apiVersion":2,"name":"cbr0","cniVersion":…,"ipMasq":…,"ipMasqNetwork":"10.244.0.0/16",
///     "ipam":{"type":"host-local","subnet":"10.244.3.0/24"}}`
/// Linux: type bridge by default, a gateway on the bridge, the MTU, translation unless the daemon does it, and a route to all pods. The
/// request's own `ipam` is kept except for the range; so are the delegate's mtu, ipMasq and isGateway. Error: InvalidConfig for a delegate
/// that is not an object or has a member that this plugin sets.
Result<schema::Value> delegated_config(const CniRequest& request, const flannel::SubnetFile& subnet, DelegateStyle style);

}  // namespace porthole::cni
