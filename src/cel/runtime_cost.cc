#include "cel/runtime_cost.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cel/library/format.h"

namespace porthole::cel {
namespace {

struct FunctionRule {
    std::string_view name;
    CostRule rule;
};

// Kubernetes' numbers, by function: they hold before the language's own.
constexpr FunctionRule ByFunction[] = {
    {"check", CostRule::AuthorizationCheck},
    {"fieldSelector", CostRule::Selector},
    {"labelSelector", CostRule::Selector},
    {"isSorted", CostRule::TraverseTarget},
    {"sum", CostRule::TraverseTarget},
    {"max", CostRule::TraverseTarget},
    {"min", CostRule::TraverseTarget},
    {"indexOf", CostRule::TraverseTarget},
    {"lastIndexOf", CostRule::TraverseTarget},
    {"includes", CostRule::TraverseTarget},
    {"url", CostRule::ReadFirst},
    {"lowerAscii", CostRule::ReadFirst},
    {"upperAscii", CostRule::ReadFirst},
    {"substring", CostRule::ReadFirst},
    {"trim", CostRule::ReadFirst},
    {"jsonpatch.escapeKey", CostRule::ReadFirst},
    {"replace", CostRule::ReadFirstTwice},
    {"split", CostRule::ReadFirstTwice},
    {"join", CostRule::ReadResultTwice},
    {"find", CostRule::Pattern},
    {"findAll", CostRule::Pattern},
    {"cidr", CostRule::ReadFirst},
    {"isIP", CostRule::ReadFirst},
    {"isCIDR", CostRule::ReadFirst},
    {"ip", CostRule::ReadFirst},
    {"ip.isCanonical", CostRule::ReadFirstTwice},
    {"containsIP", CostRule::ContainsIp},
    {"containsCIDR", CostRule::ContainsCidr},
    {"quantity", CostRule::ReadFirst},
    {"isQuantity", CostRule::ReadFirst},
    {"semver", CostRule::ReadFirst},
    {"isSemver", CostRule::ReadFirst},
    {"validate", CostRule::Validate},
};
constexpr FunctionRule ByOverload[] = {
    {"cidr_ip", CostRule::One},
    {"cidr_contains_ip_string", CostRule::ContainsIpText},
    {"cidr_contains_cidr_string", CostRule::ContainsCidrText},
    {"list_slice", CostRule::ListOfResult},
    {"lists_range", CostRule::ListOfResult},
    {"list_reverse", CostRule::ListOfResult},
    {"list_flatten", CostRule::ListFlatten},
    {"list_flatten_int", CostRule::ListFlatten},
    {"list_distinct", CostRule::ListCompareFirst},
    {"list_sets_contains_list", CostRule::Sets},
    {"list_sets_intersects_list", CostRule::Sets},
    {"list_sets_equivalent_list", CostRule::SetsTwice},
};
constexpr FunctionRule ByOwnOverload[] = {
    {"starts_with_string", CostRule::ReadSecond},
    {"ends_with_string", CostRule::ReadSecond},
    {"string_to_bytes", CostRule::ReadFirst},
    {"bytes_to_string", CostRule::ReadFirst},
    {"strings_quote", CostRule::ReadFirst},
    {"string_format", CostRule::ReadFirst},
    {"in_list", CostRule::SearchList},
    {"less_string", CostRule::ReadShorter},
    {"greater_string", CostRule::ReadShorter},
    {"less_equals_string", CostRule::ReadShorter},
    {"greater_equals_string", CostRule::ReadShorter},
    {"less_bytes", CostRule::ReadShorter},
    {"greater_bytes", CostRule::ReadShorter},
    {"less_equals_bytes", CostRule::ReadShorter},
    {"greater_equals_bytes", CostRule::ReadShorter},
    {"equals", CostRule::ReadShorter},
    {"not_equals", CostRule::ReadShorter},
    {"add_string", CostRule::ReadBoth},
    {"add_bytes", CostRule::ReadBoth},
    {"matches", CostRule::Pattern},
    {"matches_string", CostRule::Pattern},
    {"contains_string", CostRule::Substring},
};

template <std::size_t Count>
const FunctionRule* find(const FunctionRule (&table)[Count], std::string_view name) {
    const auto found = std::ranges::find(table, name, &FunctionRule::name);
    return found == std::end(table) ? nullptr : found;
}

std::uint64_t size_of(const Value& value) {
    if (value.is(Kind::Optional) && value.has_value()) return size_of(value.content());
    return value.size().value_or(1);
}

std::uint64_t traversal(const Value& value, Work& work) {
    if (!work.look()) return 0;
    switch (value.kind()) {
        case Kind::String:
        case Kind::Bytes:
            return static_cast<std::uint64_t>(static_cast<double>(value.as_text().size()) * costs::Traversal);
        case Kind::List: {
            std::uint64_t cost = 0;
            for (std::size_t i = 0, end = value.count(); i < end && !work.is_used_up(); ++i) cost += traversal(value.item(i), work);
            return cost;
        }
        case Kind::Map: {
            std::uint64_t cost = 0;
            for (std::size_t i = 0, end = value.count(); i < end && !work.is_used_up(); ++i) {
                const Value::Entry entry = value.entry(i);
                cost += traversal(entry.first, work) + traversal(entry.second, work);
            }
            return cost;
        }
        default:
            return 1;
    }
}

std::uint64_t pattern_cost(std::uint64_t text, std::uint64_t pattern) {
    return cost_product(cost_scaled(text + 1, costs::Traversal), cost_scaled(pattern, costs::Regex));
}

std::uint64_t list_cost(double factor, std::uint64_t size) {
    const double scaled = static_cast<double>(size) * factor;
    return cost_sum(scaled < 1e19 ? static_cast<std::uint64_t>(scaled) : UINT64_MAX, 1 + costs::List);
}

std::uint64_t self_comparison(const Value& list) {
    const std::uint64_t size = list.is(Kind::List) ? list.count() : 0;
    if (size == 0) return list_cost(2, 0);
    const Value first = list.item(0);
    const bool is_text = first.is(Kind::String) || first.is(Kind::Bytes);
    return list_cost(is_text ? 2 + costs::Traversal : 2, cost_product(size, size));
}

std::uint64_t selector_cost(std::uint64_t size) {
    // A requirement takes two characters, a struct and a list.
    const std::uint64_t requirements = cost_scaled(size, 0.5);
    return cost_sum(costs::List + cost_scaled(size, costs::Traversal), cost_product(requirements, costs::List + costs::Object));
}

}  // namespace

CostRule cost_rule(std::string_view function, std::string_view overload) {
    if (const FunctionRule* found = find(ByOverload, overload)) return found->rule;
    if (overload.ends_with("_sort")) return CostRule::ListCompareFirst;
    if (overload.ends_with("_sortByAssociatedKeys")) return CostRule::ListCompareSecond;
    if (const FunctionRule* found = find(ByFunction, function)) return found->rule;
    if (const FunctionRule* found = find(ByOwnOverload, overload)) return found->rule;
    return CostRule::One;
}

bool depends_on_result(CostRule rule) { return rule == CostRule::ReadResultTwice || rule == CostRule::ListOfResult; }

std::uint64_t call_cost(CostRule rule, std::span<const Value> arguments, const Value& result, Work& work) {
    const auto size = [&](std::size_t index) { return index < arguments.size() ? size_of(arguments[index]) : 1; };
    switch (rule) {
        case CostRule::One:
            return 1;
        case CostRule::AuthorizationCheck:
            return 350'000;
        case CostRule::Selector:
            return selector_cost(size(1));
        case CostRule::TraverseTarget:
            return traversal(arguments[0], work);
        case CostRule::ReadFirst:
            return cost_scaled(size(0), costs::Traversal);
        case CostRule::ReadFirstTwice:
            return cost_scaled(size(0), 2 * costs::Traversal);
        case CostRule::ReadResultTwice:
            return cost_scaled(size_of(result), 2 * costs::Traversal);
        case CostRule::ReadSecond:
            return cost_scaled(size(1), costs::Traversal);
        case CostRule::Pattern:
            return pattern_cost(size(0), size(1));
        case CostRule::ContainsIp:
            return cost_scaled(2 * size(0), costs::Traversal);
        case CostRule::ContainsIpText:
            return cost_scaled(2 * size(0), costs::Traversal) + cost_scaled(size(1), costs::Traversal);
        case CostRule::ContainsCidr:
            return cost_scaled(2 * size(0), costs::Traversal) + cost_scaled(size(0), costs::Traversal) + 1;
        case CostRule::ContainsCidrText:
            return cost_scaled(2 * size(0), costs::Traversal) + cost_scaled(size(0), costs::Traversal) + 1 +
                   cost_scaled(size(1), costs::Traversal);
        case CostRule::Validate:
            return pattern_cost(size(1), format_pattern_size(arguments[0]));
        case CostRule::SearchList:
            return size(1);
        case CostRule::ReadShorter:
            if (arguments[0].is(Kind::Opaque)) return 1;
            return cost_scaled(std::min(size(0), size(1)), costs::Traversal);
        case CostRule::ReadBoth:
            return cost_scaled(size(0) + size(1), costs::Traversal);
        case CostRule::Substring:
            return cost_product(cost_scaled(size(0), costs::Traversal), cost_scaled(size(1), costs::Traversal));
        case CostRule::ListOfResult:
            return list_cost(1, size_of(result));
        case CostRule::ListFlatten:
            return list_cost(arguments.size() == 2 && arguments[1].is(Kind::Int) && arguments[1].as_int() >= 0
                                 ? static_cast<double>(arguments[1].as_int())
                                 : 1.0,
                             size(0));
        case CostRule::ListCompareFirst:
            return self_comparison(arguments[0]);
        case CostRule::ListCompareSecond:
            return self_comparison(arguments[1]);
        case CostRule::Sets:
            return cost_sum(1, cost_product(size(0), size(1)));
        case CostRule::SetsTwice:
            return cost_sum(1, cost_product(2 * size(0), size(1)));
    }
    return 1;
}

}  // namespace porthole::cel
