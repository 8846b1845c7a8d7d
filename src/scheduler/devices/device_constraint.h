#pragma once
#include <string>
#include <vector>

#include "api/resource_v1.h"
#include "scheduler/devices/device_inventory.h"

namespace porthole::scheduler {

/// A constraint of a claim while devices are chosen for it: all devices of the constraint have the same value of an attribute, or all have
/// different values. Monotonic: if a set of devices violates it, so does every larger set. Borrows the claim and the devices.
class ConstraintState {
public:
    explicit ConstraintState(const api::resource::v1::DeviceConstraint& constraint) : constraint_(constraint) {}

    /// Adds a device for `request` ("gpu", "gpu/large"). Returns false, and adds nothing, if it violates the constraint.
    bool add(const std::string& request, const DeviceRecord& device);
    /// Removes the device that was last added for `request`.
    void remove(const std::string& request);

private:
    bool concerns(const std::string& request) const;

    const api::resource::v1::DeviceConstraint& constraint_;
    std::vector<const api::resource::v1::DeviceAttribute*> values_;
};

/// The device's attribute of a fully qualified name; null if it has none. A driver may leave its own domain out.
const api::resource::v1::DeviceAttribute* find_attribute(const DeviceRecord& device, const std::string& name);

}  // namespace porthole::scheduler
