#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/regex.h"
#include "cel/checker/cost.h"
#include "cel/values/value.h"

namespace porthole::cel {

/// A call with a constant pattern, compiled once.
struct PreparedCall {
    Regex pattern;
};

/// How a call's cost follows from its arguments and its result.
enum class CostRule : std::uint8_t {
    One,
    AuthorizationCheck,
    Selector,
    TraverseTarget,  ///< every item of the first argument
    ReadFirst,       ///< the first argument's text once
    ReadFirstTwice,
    ReadResultTwice,
    ReadSecond,
    Pattern,  ///< the second argument as a pattern on the first
    ContainsIp,
    ContainsIpText,
    ContainsCidr,
    ContainsCidrText,
    Validate,
    SearchList,   ///< `in` with a list
    ReadShorter,  ///< the shorter of two
    ReadBoth,
    Substring,
    ListOfResult,  ///< creates a list of the result's size
    ListFlatten,
    ListCompareFirst,  ///< compares every item of the first argument with every other
    ListCompareSecond,
    Sets,
    SetsTwice,
};

/// `overload` is "" if the checker left several.
CostRule cost_rule(std::string_view function, std::string_view overload);
/// Whether the cost also depends on the result; otherwise it is known, and charged, before the call.
bool depends_on_result(CostRule rule);
std::uint64_t call_cost(CostRule rule, std::span<const Value> arguments, const Value& result, Work& work);

}  // namespace porthole::cel
