#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "api/resource_v1.h"
#include "base/result.h"
#include "cel/program.h"

namespace porthole::objects {

/// Cost limit of one evaluation of a selector, in the units of cel/checker/cost.h: upstream's limit.
inline constexpr std::uint64_t DeviceSelectorCost = 1'000'000;

/// A device as selectors see it: `device` with its driver, attributes and capacities by domain and name. Immutable.
class DeviceView {
public:
    /// Copies its arguments.
    DeviceView(const std::string& driver, const api::resource::v1::Device& device);

    /// An error if an attribute has a value of an unsupported type.
    const cel::Value& value() const { return value_; }

private:
    cel::Value value_;
};

/// A CEL expression that chooses devices, compiled, or why it does not compile. Immutable; copies share the program.
class DeviceSelector {
public:
    explicit DeviceSelector(const std::string& expression);
    /// Compiles within the remaining `work`, which all selectors of an object share.
    DeviceSelector(const std::string& expression, cel::Work& work);

    bool compiles() const { return program_.has_value(); }
    /// Upstream's message; "" if it compiles.
    const std::string& problem() const { return problem_; }
    /// By the bounds of a ResourceSlice, the most that an evaluation costs. Requires: compiles().
    std::uint64_t most_cost() const { return program_->estimate_cost().max; }

    /// Whether it selects the device; adds the cost of the evaluation to `cost`, at most DeviceSelectorCost. Error: BadRequest with
    /// upstream's message. Requires: compiles().
    Result<bool> matches(const DeviceView& device, std::uint64_t& cost) const;

private:
    std::string problem_;
    std::optional<cel::Program> program_;
};

}  // namespace porthole::objects
