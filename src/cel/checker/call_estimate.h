#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cel/checker/cost.h"
#include "cel/values/type.h"

namespace porthole::cel {

/// Facts about an argument before it is evaluated.
struct EstimatedArgument {
    SizeRange size;
    SizeRange element;  ///< of a list's items
    TypeRef type;
    std::optional<std::int64_t> constant;
};

/// A call's own cost, and the size of its result if known.
struct CallEstimate {
    CostRange cost;
    std::optional<SizeRange> size;
};

/// Upstream's estimates of overloads. Of a member function the target is the first argument.
CallEstimate estimate_call(std::string_view function, std::string_view overload, bool is_member,
                           std::span<const EstimatedArgument> arguments);

}  // namespace porthole::cel
