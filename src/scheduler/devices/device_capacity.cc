#include "scheduler/devices/device_capacity.h"

#include <algorithm>

namespace porthole::scheduler {
namespace {

using namespace api::resource::v1;

/// `wanted` rounded up to a multiple of the step from the minimum on, in whole units as in upstream; nullopt if that is too much.
std::optional<Quantity> round_up(const Quantity& wanted, const CapacityRequestPolicyRange& range) {
    Quantity amount = wanted;
    if (range.min && wanted < *range.min) {
        amount = *range.min;
    } else if (range.min && range.step && range.step->value() > 0) {
        const std::int64_t beyond = (wanted - *range.min).value(), step = range.step->value();
        amount = *range.min;
        if (beyond % step == 0)
            amount += Quantity::from_value(beyond, Quantity::Format::BinarySi);
        else if (beyond > INT64_MAX - step)
            return std::nullopt;
        else
            amount += Quantity::from_value(beyond - beyond % step + step, Quantity::Format::BinarySi);
    }
    if (range.max && amount > *range.max) return std::nullopt;
    return amount;
}

std::optional<Quantity> amount_for(const DeviceCapacity& capacity, const Quantity* wanted) {
    const CapacityRequestPolicy* policy = capacity.request_policy ? &*capacity.request_policy : nullptr;
    if (!wanted) return policy && policy->default_ ? *policy->default_ : capacity.value;
    if (!policy || policy->default_ == *wanted) return *wanted;
    if (policy->valid_range) return round_up(*wanted, *policy->valid_range);
    if (policy->valid_values.empty()) return *wanted;
    const auto enough = std::ranges::find_if(policy->valid_values, [&](const Quantity& value) { return *wanted <= value; });
    if (enough == policy->valid_values.end()) return std::nullopt;
    return *enough;
}

}  // namespace

void DeviceUse::change_share(const Capacities& amounts, int change) {
    shares += change;
    for (const auto& [name, amount] : amounts) {
        if (change > 0)
            consumed[name] += amount;
        else
            consumed[name] -= amount;
    }
}

std::optional<Capacities> capacities_for(const Device& device, const CapacityRequirements* wanted) {
    if (wanted && !std::ranges::all_of(wanted->requests, [&](const auto& one) { return device.capacity.contains(one.first); }))
        return std::nullopt;
    Capacities amounts;
    for (const auto& [name, capacity] : device.capacity) {
        const Quantity* asked = nullptr;
        if (wanted)
            if (const auto found = wanted->requests.find(name); found != wanted->requests.end()) asked = &found->second;
        const auto amount = amount_for(capacity, asked);
        if (!amount) return std::nullopt;
        amounts.emplace(name, *amount);
    }
    return amounts;
}

bool has_room(const Device& device, const Capacities& amounts, std::initializer_list<const DeviceUse*> uses) {
    return std::ranges::all_of(amounts, [&](const auto& one) {
        Quantity total = one.second;
        for (const DeviceUse* use : uses)
            if (use)
                if (const auto found = use->consumed.find(one.first); found != use->consumed.end()) total += found->second;
        return total <= device.capacity.at(one.first).value;
    });
}

}  // namespace porthole::scheduler
