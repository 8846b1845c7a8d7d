#pragma once
#include <optional>
#include <string>

#include "base/log.h"
#include "cni/plugin/delegate.h"
#include "cni/plugin/hns/endpoint_plan.h"
#include "cni/plugin/plugin.h"
#include "hns/client.h"

namespace porthole::cni {

/// The collaborators of the Windows plugins. All outlive them.
struct WindowsPluginContext {
    EventLoop& loop;
    porthole::hns::Hns& hns;
    Delegates& delegates;  ///< for IPAM
};

/// win-bridge and win-overlay: one HNS endpoint for each pod, in the pod's namespace.
///
/// A repeated ADD returns the existing endpoint. Transient failures (a switch port that is not ready yet, the service restarting) are
/// retried for some seconds. A failed ADD leaves neither endpoint nor lease; unlike upstream's, CHECK checks. The network must exist.
///
/// Differs from upstream: a configuration without apiVersion also works with containerd. The form of CNI_NETNS decides ("none" and
/// "container:<id>" of Docker, otherwise the GUID of an HCN namespace), because with upstream's meaning every ADD there fails.
class HnsPlugin : public Plugin {
public:
    HnsPlugin(WindowsPluginContext context, NetworkStyle style) : context_(context), client_(context.hns), style_(style) {}

    Task<CniResult> add(CniRequest request) override;
    Task<> remove(CniRequest request) override;
    Task<> check(CniRequest request) override;
    Task<> status(CniRequest request) override;
    Task<> collect(CniRequest request) override;

protected:
    /// The HNS network that a request is about. Error: TryAgainLater if it is not there (yet).
    virtual Task<hcn::HostComputeNetwork> network(CniRequest request);
    virtual Result<WindowsNetConf> configuration(const CniRequest& request) const { return read_windows_net_conf(request); }

    WindowsPluginContext context_;
    porthole::hns::Client client_;

private:
    Task<hcn::HostComputeEndpoint> make_attached_endpoint(CniRequest request, WindowsNetConf conf, hcn::HostComputeNetwork network);
    Task<hcn::HostComputeEndpoint> make_endpoint(CniRequest request, WindowsNetConf conf, hcn::HostComputeNetwork network);
    Task<hcn::HostComputeEndpoint> create_endpoint(hcn::HostComputeEndpoint endpoint);
    Task<> remove_stale_holder(hcn::HostComputeEndpoint wanted);
    Task<> attach(CniRequest request, hcn::HostComputeEndpoint endpoint);
    Task<> attach_to_namespace(std::string namespace_id, hcn::HostComputeEndpoint endpoint);
    Task<> detach(const hcn::HostComputeEndpoint& endpoint);
    Task<> undo(CniRequest request, WindowsNetConf conf);
    Task<> remove_endpoint(std::string name);
    Task<> release(CniRequest request, WindowsNetConf conf);
    schema::Value ipam_configuration(const CniRequest& request) const;

    NetworkStyle style_;
};

/// "<container id>_<network>": for a container that shares a sandbox's network, the sandbox's.
std::string endpoint_name(const CniRequest& request);

}  // namespace porthole::cni
