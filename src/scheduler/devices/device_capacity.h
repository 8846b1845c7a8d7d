#pragma once
#include <map>
#include <optional>
#include <string>

#include "api/resource_v1.h"

namespace porthole::scheduler {

/// Amounts by the name of a device's capacity.
using Capacities = std::map<std::string, Quantity>;

/// Who has a device: one claim as a whole, or, if the device allows multiple allocations, several that share its capacities.
struct DeviceUse {
    int owners = 0, shares = 0;
    Capacities consumed;  ///< by all shares together

    bool is_over() const { return owners <= 0 && shares <= 0; }
    /// Adds a share, or removes it (`change` is 1 or -1).
    void change_share(const Capacities& amounts, int change);
};

/// How much of each capacity of `device` a request consumes: what it asks for, rounded up by the capacity's policy; where it asks for
/// nothing, the policy's default or else all of it. nullopt if the device does not have such a capacity or its policy forbids the amount.
std::optional<Capacities> capacities_for(const api::resource::v1::Device& device, const api::resource::v1::CapacityRequirements* wanted);

/// Whether `device` has `amounts` left of each capacity in addition to what `uses` consume; a null use consumes nothing.
bool has_room(const api::resource::v1::Device& device, const Capacities& amounts, std::initializer_list<const DeviceUse*> uses);

}  // namespace porthole::scheduler
