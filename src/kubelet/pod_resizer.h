#pragma once
#include <map>
#include <optional>
#include <string>

#include "kubelet/admission.h"
#include "kubelet/pod/resize.h"
#include "kubelet/pod_services.h"

namespace porthole::kubelet {

/// Changes the cpu and memory of a pod's running containers, and tells of it in conditions and events. Part of the pod's worker, whose pod
/// and state of the runtime each function is given; `ending` says that the pod is being terminated.
class PodResizer {
public:
    /// What `pod`'s status says was given by a kubelet before this one is taken over.
    PodResizer(PodServices& services, const core::Pod& pod);

    /// Why the pod has less than it asks for, with the reason of its condition PodResizePending; nullopt when it has that.
    void set_pending(std::optional<Rejection> why) { pending_ = std::move(why); }
    const std::optional<Rejection>& pending() const { return pending_; }

    /// Puts into `state` what containers were given after their start: the runtime remembers only what they were made with.
    void apply_to(PodRuntimeState& state);
    /// The event that a resize is complete, once it is.
    void tell_of_end(const core::Pod& pod, const PodRuntimeState& state, bool ending);
    void add_conditions(const core::Pod& pod, const PodRuntimeState& state, bool ending, core::PodStatus& status) const;
    /// The pod's own limits hold for all of its containers together: they are widened before and narrowed after. `pod` is the form that
    /// the actions are of: what is given is noted in `state`, and a newer form is a resize of its own. Error: what the cgroups or the
    /// runtime refused, which the conditions tell of, too.
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
