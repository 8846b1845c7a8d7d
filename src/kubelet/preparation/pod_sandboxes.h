#pragma once
#include "kubelet/preparation/pod_preparer.h"

namespace porthole::kubelet {

/// Makes the sandboxes of pods. All references outlive it and its tasks.
class PodSandboxes {
public:
    PodSandboxes(RuntimeService& runtime, const NodeFacts& node, PodFootprint& footprint, PodReferences& references,
                 client::EventRecorder& events)
        : runtime_(runtime), node_(node), footprint_(footprint), references_(references), events_(events) {}

    /// That of the pod's sandbox number `attempt`.
    cri::PodSandboxConfig config(const core::Pod& pod, const PreparedPod& prepared, std::uint32_t attempt) const;
    /// Yields the sandbox's configuration. Error: of the API or the runtime; the pod has an event of it.
    Task<cri::PodSandboxConfig> make(std::shared_ptr<const core::Pod> pod, const PreparedPod& prepared, std::uint32_t attempt);

private:
    RuntimeService& runtime_;
    const NodeFacts& node_;
    PodFootprint& footprint_;
    PodReferences& references_;
    client::EventRecorder& events_;
};

}  // namespace porthole::kubelet
