#pragma once
#include <optional>

#include "client/events.h"
#include "kubelet/device_plugins/device_plugins.h"
#include "kubelet/devices/claim_preparer.h"
#include "kubelet/pod/rejection.h"

namespace porthole::kubelet {

/// What a container gets.
struct ContainerDevices {
    std::vector<std::string> cdi_ids;                   ///< of its claims, then of `allocated`
    std::map<std::string, AllocatedDevices> allocated;  ///< by resource
};

/// The devices of pods: those that device plugins offer, and those of claims, which drivers prepare. Where a node has neither, pods have
/// none. Lives on the kubelet's loop; what it is made of outlives it and its tasks.
class PodDevices {
public:
    /// `plugins` and `claims` are null where the node has no such devices.
    PodDevices(DevicePlugins* plugins, ClaimPreparer* claims, client::EventRecorder& events)
        : plugins_(plugins), claims_(claims), events_(events) {}

    /// Before the pod's sandbox is made. Yields why the pod cannot have what it requests and is to be rejected, or nullopt. Error: to be
    /// retried; the pod has an event of it.
    Task<std::optional<Rejection>> prepare(std::shared_ptr<const api::core::v1::Pod> pod);
    /// Before each start of the container. Error: of a plugin.
    Task<ContainerDevices> prepare_start(std::shared_ptr<const api::core::v1::Pod> pod, std::string container);
    /// No container of the pod runs any more: the devices of plugins can be another pod's.
    void free(const std::string& pod_uid);
    /// The pod has ended. Error: a driver did not release something: to be retried.
    Task<> release(std::string pod_uid);
    /// Those of pods that ended while no kubelet was there to see it. A call while another one waits for a driver asks no driver.
    Task<> release_stale(std::function<bool(const std::string& pod_uid)> is_known);
    /// Adds the devices' health to the containers' statuses.
    void add_health(const api::core::v1::Pod& pod, api::core::v1::PodStatus& status) const;

private:
    DevicePlugins* plugins_;
    ClaimPreparer* claims_;
    client::EventRecorder& events_;
    bool releasing_ = false;
};

}  // namespace porthole::kubelet
