#pragma once
#include <map>
#include <optional>
#include <string>

#include "client/events.h"
#include "kubelet/pod/actions.h"
#include "kubelet/pod/resize.h"
#include "kubelet/pod/wanted_pod.h"
#include "kubelet/preparation/pod_footprint.h"

namespace porthole::kubelet {

/// Changes the cpu and memory of one pod's running containers, and reports it in conditions and events. Its owner passes what is wanted of
/// the pod, and the runtime's state, to each function. All references outlive it and its tasks.
class PodResizer {
public:
    /// Takes over the resources that a previous kubelet reported in `pod`'s status.
    PodResizer(RuntimeService& runtime, PodFootprint& footprint, const NodeFacts& node, client::EventRecorder& events,
               const core::Pod& pod);

    /// Sets in `state` the resources that containers were given after their start: the runtime only has those with which they were created.
    void apply_to(PodRuntimeState& state);
    /// The event that a resize is complete, once it is.
    void tell_of_end(const WantedPod& wanted, const PodRuntimeState& state);
    void add_conditions(const WantedPod& wanted, const PodRuntimeState& state, SystemTime now, core::PodStatus& status) const;
    /// The pod's own limits apply to all of its containers together: they are increased before, and decreased after. `pod` is the version
    /// for which the actions were computed: the resources are recorded in `state`, and a newer version is another resize. Error: the
    /// refusal of the cgroups or the runtime, which the conditions also report.
    Task<> resize(std::shared_ptr<const core::Pod> pod, const PodActions& actions, PodRuntimeState& state);

private:
    bool is_ahead(const WantedPod& wanted, const PodRuntimeState& state) const;
    Task<> change_limits(const core::Pod& pod, const PodActions& actions, PodRuntimeState& state);
    Task<> change_container(const core::Pod& pod, const ContainerToResize& change, const PodRuntimeState& state);
    Task<> check_memory_in_use(const core::Pod& before, const core::Pod& after, const PodActions& actions);

    RuntimeService& runtime_;
    PodFootprint& footprint_;
    const NodeFacts& node_;
    client::EventRecorder& events_;
    std::map<std::string, GivenResources> given_;  ///< by container: after its start, by this kubelet or one before
    std::string error_;
    bool begun_ = false;  ///< a resize has begun and is not completed
};

}  // namespace porthole::kubelet
