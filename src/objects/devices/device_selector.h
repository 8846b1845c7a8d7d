#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "api/resource_v1.h"
#include "base/result.h"
#include "cel/program.h"

namespace porthole::objects {

/// What an evaluation of a selector may cost, in the units of cel/checker/cost.h: upstream's limit.
inline constexpr std::uint64_t DeviceSelectorCost = 1'000'000;

/// What selectors see of a device: `device` with its driver, attributes and capacities by domain and name. Immutable.
class DeviceView {
public:
    /// Keeps copies.
    DeviceView(const std::string& driver, const api::resource::v1::Device& device);

    /// An error where an attribute has no value that selectors know.
    const cel::Value& value() const { return value_; }

private:
    cel::Value value_;
};

/// A CEL expression that chooses devices, compiled, or why it does not compile. Immutable; copies share the program.
class DeviceSelector {
public:
    explicit DeviceSelector(const std::string& expression);
    /// Compiles within what is left of `work`, which is that of all selectors of an object.
    DeviceSelector(const std::string& expression, cel::Work& work);

    bool compiles() const { return program_.has_value(); }
    /// In upstream's words; "" where it compiles.
    const std::string& problem() const { return problem_; }
    /// By the bounds of a ResourceSlice, the most that an evaluation costs. Requires: compiles().
    std::uint64_t most_cost() const { return program_->estimate_cost().max; }

    /// Whether it chooses the device; adds to `cost` what that has cost, at most DeviceSelectorCost. Error: BadRequest, in upstream's
    /// words. Requires: compiles().
    Result<bool> matches(const DeviceView& device, std::uint64_t& cost) const;

private:
    std::string problem_;
    std::optional<cel::Program> program_;
};

}  // namespace porthole::objects
