#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/core_v1.h"
#include "api/cri_v1.h"
#include "api/deviceplugin_v1beta1.h"
#include "base/result.h"

namespace porthole::kubelet {

/// A container's devices of one resource.
struct AllocatedDevices {
    std::set<std::string> ids;
    api::deviceplugin::v1beta1::ContainerAllocateResponse answer;  ///< the plugin's: how the container gets them
    bool operator==(const AllocatedDevices&) const = default;
};

/// By container, then by resource.
using PodAllocations = std::map<std::string, std::map<std::string, AllocatedDevices>>;
/// By the pod's uid.
using DeviceAllocations = std::map<std::string, PodAllocations>;

/// What the kubelet remembers over a restart.
struct DeviceCheckpoint {
    DeviceAllocations allocations;
    std::set<std::string> resources;  ///< of which there are plugins, or were
    bool operator==(const DeviceCheckpoint&) const = default;
};

std::string checkpoint_text(const DeviceCheckpoint& checkpoint);
/// Error: BadRequest if it is not a checkpoint.
Result<DeviceCheckpoint> parse_device_checkpoint(std::string_view text);

/// The container runtime's names for the devices.
std::vector<std::string> cdi_ids(const std::map<std::string, AllocatedDevices>& resources);
/// Gives a container its devices, but for those. A variable of the pod's own stays as it is; mounts and devices come before the pod's own.
void add_allocated_devices(const std::map<std::string, AllocatedDevices>& resources, bool windows, api::cri::v1::ContainerConfig& config);

}  // namespace porthole::kubelet
