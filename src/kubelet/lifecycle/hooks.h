#pragma once
#include "kubelet/pod/pod.h"
#include "kubelet/probes/network_prober.h"

namespace porthole::kubelet {

/// Runs postStart and preStop handlers, for at most `limit`. Error: Unknown with the hook's output when it fails, BadRequest for a handler
/// that is not supported; its message is for the event.
Task<> run_hook(EventLoop& loop, RuntimeService& runtime, NetworkProber& network, core::LifecycleHandler handler, core::Container container,
                std::string container_id, std::string pod_address, Duration limit);

}  // namespace porthole::kubelet
