#pragma once
#include "kubelet/pod/pod.h"
#include "kubelet/probes/network_prober.h"

namespace porthole::kubelet {

/// Runs postStart and preStop handlers. Error: the text of the hook's failure.
Task<> run_hook(EventLoop& loop, RuntimeService& runtime, NetworkProber& network, core::LifecycleHandler handler, core::Container container,
                std::string container_id, std::string pod_address, Duration limit);

}  // namespace porthole::kubelet
