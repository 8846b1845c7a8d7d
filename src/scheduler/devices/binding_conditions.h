#pragma once
#include <chrono>

#include "api/resource_v1.h"
#include "base/result.h"
#include "base/time/time.h"
#include "runtime/event_loop.h"

/// Devices that their drivers make usable only after they have been chosen. Such a driver says in status.devices of the claim which
/// conditions hold; a pod is bound once all of the device's `bindingConditions` are True, and loses the device if one of its
/// `bindingFailureConditions` is. https://kep.k8s.io/5007
namespace porthole::scheduler {

/// How long a pod waits for them, unless its profile has a `bindingTimeout`.
inline constexpr std::chrono::seconds LongestDeviceWait(600);

bool has_binding_conditions(const api::resource::v1::AllocationResult& allocation);
/// Whether all that the claim has been allocated can be used; false also without an allocation. Error: a driver failed.
Result<bool> is_ready_for_binding(const api::resource::v1::ResourceClaim& claim);
/// Whether the claim's drivers have had `longest`.
bool has_binding_timed_out(const api::resource::v1::ResourceClaim& claim, Timestamp now, Duration longest);

}  // namespace porthole::scheduler
