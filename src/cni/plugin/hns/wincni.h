#pragma once
#include "cni/plugin/hns/hns_plugin.h"

namespace porthole::cni {

/// The plugin of older published configurations (`"type": "wincni.exe"`, cniVersion 0.2.0): the network's name is also its type in HNS, the
/// plugin creates it if it does not exist, and HNS chooses addresses. The DNS suffix is that of the pod's namespace.
class WinCni final : public HnsPlugin {
public:
    explicit WinCni(WindowsPluginContext context) : HnsPlugin(context, NetworkStyle::Any) {}

private:
    Task<hcn::HostComputeNetwork> network(CniRequest request) override;
    Result<WindowsNetConf> configuration(const CniRequest& request) const override;
};

/// The network that a configuration of wincni describes. Error: InvalidConfig.
Result<hcn::HostComputeNetwork> plan_wincni_network(const CniRequest& request);

}  // namespace porthole::cni
