#pragma once
#include <map>
#include <optional>
#include <string>

#include "kubelet/admission.h"
#include "kubelet/pod/resize.h"
#include "kubelet/pod_services.h"

namespace porthole::kubelet {

/// Changes the cpu and memory of a pod's running containers, and reports it in conditions and events. Part of the pod's worker, which
/// passes its pod and the runtime's state to each function; `ending` means that the pod is being terminated.
class PodResizer {
public:
    /// Takes over the resources that a previous kubelet reported in `pod`'s status.
    PodResizer(PodServices& services, const core::Pod& pod);

    /// Why the pod has less than it requests, with the reason of its condition PodResizePending; nullopt if it has what it requests.
    void set_pending(std::optional<Rejection> why) { pending_ = std::move(why); }
    const std::optional<Rejection>& pending() const { return pending_; }

    /// Sets in `state` the resources that containers were given after their start: the runtime only has those with which they were created.
    void apply_to(PodRuntimeState& state);
    /// The event that a resize is complete, once it is.
    void tell_of_end(const core::Pod& pod, const PodRuntimeState& state, bool ending);
    void add_conditions(const core::Pod& pod, const PodRuntimeState& state, bool ending, core::PodStatus& status) const;
    /// The pod's own limits apply to all of its containers together: they are increased before, and decreased after. `pod` is the version
    /// for which the actions were computed: the resources are recorded in `state`, and a newer version is another resize. Error: the
    /// refusal of the cgroups or the runtime, which the conditions also report.
    Task<> resize(std::shared_ptr<const core::Pod> pod, const PodActions& actions, PodRuntimeState& state);

private:
    bool is_ahead(const core::Pod& pod, const PodRuntimeState& state, bool ending) const;
    Task<> change_limits(const core::Pod& pod, const PodActions& actions, PodRuntimeState& state);
    Task<> change_container(const core::Pod& pod, const ContainerToResize& change, const PodRuntimeState& state);
    Task<> check_memory_in_use(const core::Pod& before, const core::Pod& after, const PodActions& actions);

    PodServices& services_;
    std::map<std::string, GivenResources> given_;  ///< by container: after its start, by this kubelet or one before
    std::optional<Rejection> pending_;
    std::string error_;
    bool begun_ = false;  ///< a resize has begun and is not completed
};

}  // namespace porthole::kubelet
