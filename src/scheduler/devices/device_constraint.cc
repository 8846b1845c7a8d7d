#include "scheduler/devices/device_constraint.h"

#include <algorithm>

namespace porthole::scheduler {
namespace {

using namespace api::resource::v1;

bool has_value(const DeviceAttribute& attribute) { return attribute.int_ || attribute.bool_ || attribute.string || attribute.version; }

}  // namespace

const DeviceAttribute* find_attribute(const DeviceRecord& device, const std::string& name) {
    const auto& attributes = device.device->attributes;
    auto found = attributes.find(name);
    const std::size_t slash = name.find('/');
    if (found == attributes.end() && slash != std::string::npos && name.compare(0, slash, device.pool->driver) == 0)
        found = attributes.find(name.substr(slash + 1));
    return found == attributes.end() ? nullptr : &found->second;
}

bool ConstraintState::concerns(const std::string& request) const {
    if (constraint_.requests.empty()) return true;
    const std::string parent = request.substr(0, request.find('/'));
    return std::ranges::any_of(constraint_.requests, [&](const std::string& name) { return name == request || name == parent; });
}

bool ConstraintState::add(const std::string& request, const DeviceRecord& device) {
    if (!concerns(request)) return true;
    const bool same = constraint_.match_attribute.has_value();
    const DeviceAttribute* value =
        find_attribute(device, same ? *constraint_.match_attribute : constraint_.distinct_attribute.value_or(""));
    if (!value || !has_value(*value)) return false;
    const auto equal = [&](const DeviceAttribute* other) { return *other == *value; };
    if (same ? !std::ranges::all_of(values_, equal) : std::ranges::any_of(values_, equal)) return false;
    values_.push_back(value);
    return true;
}

void ConstraintState::remove(const std::string& request) {
    if (concerns(request)) values_.pop_back();
}

}  // namespace porthole::scheduler
