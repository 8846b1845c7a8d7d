#pragma once
#include "kubelet/pod/pod.h"
#include "kubelet/probes/network_prober.h"

namespace porthole::kubelet {

/// Runs the postStart and preStop handlers of containers. All references outlive it and its tasks.
class ContainerHooks {
public:
    ContainerHooks(EventLoop& loop, RuntimeService& runtime, NetworkProber& network) : loop_(loop), runtime_(runtime), network_(network) {}

    /// For at most `limit`. Error: Unknown with the hook's output when it fails, BadRequest for a handler that is not supported; its
    /// message is for the event.
    Task<> run(core::LifecycleHandler handler, core::Container container, std::string container_id, std::string pod_address,
               Duration limit);

private:
    EventLoop& loop_;
    RuntimeService& runtime_;
    NetworkProber& network_;
};

}  // namespace porthole::kubelet
