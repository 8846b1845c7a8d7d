#pragma once
#include "client/events.h"
#include "kubelet/devices/pod_devices.h"
#include "kubelet/preparation/pod_footprint.h"
#include "kubelet/preparation/pod_references.h"
#include "kubelet/user_namespaces/user_namespaces.h"

namespace porthole::kubelet {

/// What a pod's sandbox and containers are made with.
struct PreparedPod {
    PodHostname hostname;
    std::optional<IdRange> users;  ///< of its own user namespace
    MountedVolumes volumes;
    std::vector<std::shared_ptr<const core::Secret>> pull_secrets;
};

/// Gives pods what they need of the node before their sandboxes and containers are made, and takes it back from those that have ended.
/// Every function may be repeated. All references outlive it and its tasks.
class PodPreparer {
public:
    static constexpr const char* NoUserNamespaces = "UserNamespacesNotSupported";  ///< a rejection's reason

    /// `users` is null on Windows.
    PodPreparer(const NodeFacts& node, PodFootprint& footprint, PodDevices& devices, PodReferences& references, UserNamespaces* users,
                client::EventRecorder& events)
        : node_(node), footprint_(footprint), devices_(devices), references_(references), users_(users), events_(events) {}

    /// `state` has what the pod's containers were given. Yields why this node cannot have the pod, which then is to be failed, or nullopt;
    /// sets what `prepared` has, step by step. Error: to be retried. The pod has an event of either.
    Task<std::optional<Rejection>> prepare(std::shared_ptr<const core::Pod> pod, const PodRuntimeState& state, bool for_new_sandbox,
                                           PreparedPod& prepared);
    /// Updates the volumes whose content comes from the API.
    Task<> refresh_volumes(std::shared_ptr<const core::Pod> pod);
    /// Nothing of the pod runs any more: other pods can have the devices of plugins. release() has to follow.
    void free_devices(const std::string& uid) { devices_.free(uid); }
    /// Nothing of the pod runs any more. Error: something cannot be unmounted, or a driver did not release a device: to be retried.
    Task<> release(std::shared_ptr<const core::Pod> pod);

    /// The volumes and users of a pod that no one knows; `came_back` tells whether someone does now.
    Task<> release_stale(std::string uid, std::function<bool()> came_back);
    /// The devices of pods that no one knows.
    Task<> release_stale_devices(std::function<bool(const std::string& pod_uid)> is_known) {
        return devices_.release_stale(std::move(is_known));
    }

private:
    Result<void> ensure_footprint(const core::Pod& pod, const PodRuntimeState& state);
    Task<std::optional<Rejection>> prepare_users(std::shared_ptr<const core::Pod> pod, bool for_new_sandbox, PreparedPod& prepared);
    Task<std::optional<Rejection>> require_user_namespaces(std::shared_ptr<const core::Pod> pod);

    const NodeFacts& node_;
    PodFootprint& footprint_;
    PodDevices& devices_;
    PodReferences& references_;
    UserNamespaces* users_;
    client::EventRecorder& events_;
};

/// `error`, of which the pod has an event now, unless its task was cancelled.
Error sandbox_failed(client::EventRecorder& events, const core::Pod& pod, Error error);

}  // namespace porthole::kubelet
