#include "scheduler/devices/binding_conditions.h"

#include <algorithm>

#include "objects/conditions.h"

namespace porthole::scheduler {
namespace {

using namespace api::resource::v1;

const AllocatedDeviceStatus* find_status(const ResourceClaim& claim, const DeviceRequestAllocationResult& result) {
    const auto found = std::ranges::find_if(claim.status.devices, [&](const AllocatedDeviceStatus& status) {
        return status.device == result.device && status.driver == result.driver && status.pool == result.pool;
    });
    return found == claim.status.devices.end() ? nullptr : &*found;
}

}  // namespace

bool has_binding_conditions(const AllocationResult& allocation) {
    return std::ranges::any_of(allocation.devices.results, [](const auto& result) { return !result.binding_conditions.empty(); });
}

Result<bool> is_ready_for_binding(const ResourceClaim& claim) {
    if (!claim.status.allocation) return false;
    bool is_ready = true;
    for (const DeviceRequestAllocationResult& result : claim.status.allocation->devices.results) {
        if (result.binding_conditions.empty()) continue;
        const AllocatedDeviceStatus* status = find_status(claim, result);
        if (!status) {
            is_ready = false;
            continue;
        }
        for (const std::string& type : result.binding_failure_conditions) {
            const auto* condition = objects::find_condition(status->conditions, type);
            if (condition && condition->status == "True")
                return Error(Reason::Conflict, "device binding failed: claim=" + claim.metadata.name + ", reason=" + condition->reason +
                                                   ", message=\"" + condition->message + "\"");
        }
        for (const std::string& type : result.binding_conditions)
            is_ready = is_ready && objects::is_condition_true(status->conditions, type);
    }
    return is_ready;
}

bool has_binding_timed_out(const ResourceClaim& claim, Timestamp now, Duration longest) {
    const auto& allocation = claim.status.allocation;
    return allocation && allocation->allocation_timestamp && has_binding_conditions(*allocation) &&
           *allocation->allocation_timestamp + longest < now;
}

}  // namespace porthole::scheduler
