#pragma once
#include "client/events.h"
#include "kubelet/devices/pod_devices.h"
#include "kubelet/node/node_facts.h"
#include "kubelet/pod_resizer.h"
#include "kubelet/probes/probe_manager.h"
#include "kubelet/status_manager.h"

namespace porthole::kubelet {

/// What is known of a pod while it is synced. Borrows everything.
struct PodView {
    const WantedPod& wanted;
    const PodRuntimeState& state;
    const std::map<std::string, WaitingReason>& waiting;
    PodResizer& resizer;
    bool stopped = false;  ///< nothing of it runs any more
};

/// Reports the statuses of pods, of what workers, probes and devices know of them. All references outlive it.
class PodReporter {
public:
    PodReporter(EventLoop& loop, const NodeFacts& node, ProbeManager& probes, PodDevices& devices, StatusManager& statuses,
                client::EventRecorder& events)
        : loop_(loop), node_(node), probes_(probes), devices_(devices), statuses_(statuses), events_(events) {}

    /// What the pod's probes are to know of its containers, and its status.
    void observe(const PodView& view);
    void report(const PodView& view);
    /// Nothing of the pod remains to clean up.
    void finish(const PodView& view);
    /// That the pod fails for it, and never runs.
    void reject(const core::Pod& pod, const Rejection& rejection);
    /// Whether the pod was last reported as Succeeded or Failed.
    bool is_over(const core::Pod& pod) const;
    /// Until its activeDeadlineSeconds have passed, from its reported start on; nullopt if it has none.
    std::optional<Duration> deadline_left(const core::Pod& pod) const;

    /// The pod's, none before it has a sandbox.
    std::vector<std::string> addresses(const core::Pod& pod, const PodRuntimeState& state) const;
    /// Nothing of the pod remains. `again`: but a pod of that uid begins.
    void forget(const std::string& uid, bool again);

private:
    core::PodStatus status_of(const PodView& view) const;

    EventLoop& loop_;
    const NodeFacts& node_;
    ProbeManager& probes_;
    PodDevices& devices_;
    StatusManager& statuses_;
    client::EventRecorder& events_;
};

}  // namespace porthole::kubelet
