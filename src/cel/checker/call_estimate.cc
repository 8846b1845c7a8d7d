#include "cel/checker/call_estimate.h"

#include <algorithm>
#include <cmath>

namespace porthole::cel {
namespace {

using Arguments = std::span<const EstimatedArgument>;

constexpr CostRange One = CostRange::fixed(1);

template <std::size_t Count>
bool is_one_of(std::string_view name, const std::string_view (&names)[Count]) {
    return std::ranges::find(names, name) != std::end(names);
}

constexpr std::string_view Traversals[] = {"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"};
constexpr std::string_view ReadFirst[] = {"cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"};
constexpr std::string_view ReadText[] = {"lowerAscii", "upperAscii", "substring", "trim"};
constexpr std::string_view ReadShorter[] = {"less_string", "greater_string", "less_equals_string", "greater_equals_string",
                                            "less_bytes",  "greater_bytes",  "less_equals_bytes",  "greater_equals_bytes",
                                            "equals",      "not_equals"};
/// Accessors.
constexpr std::string_view Constant[] = {"serviceAccount",
                                         "path",
                                         "group",
                                         "resource",
                                         "subresource",
                                         "namespace",
                                         "name",
                                         "allowed",
                                         "reason",
                                         "error",
                                         "errored",
                                         "masked",
                                         "prefixLength",
                                         "family",
                                         "isUnspecified",
                                         "isLoopback",
                                         "isLinkLocalMulticast",
                                         "isLinkLocalUnicast",
                                         "isGlobalUnicast",
                                         "format.named",
                                         "sign",
                                         "asInteger",
                                         "isInteger",
                                         "asApproximateFloat",
                                         "isGreaterThan",
                                         "isLessThan",
                                         "compareTo",
                                         "add",
                                         "sub",
                                         "major",
                                         "minor",
                                         "patch",
                                         "getScheme",
                                         "getHostname",
                                         "getHost",
                                         "getPort",
                                         "getEscapedPath",
                                         "getQuery"};

CostRange read(const SizeRange& size, double times = 1) { return size.scaled(times * costs::Traversal); }

CallEstimate traversal(std::string_view function, const EstimatedArgument& target) {
    if (!target.type->parameters.empty()) {
        CostRange element = One;
        const TypeKind kind = target.type->parameters[0]->kind;
        if (kind == TypeKind::String || kind == TypeKind::Bytes) element = element + read(target.element);
        return {target.size * element, {}};
    }
    return function == "includes" ? CallEstimate{target.size * One, {}} : CallEstimate{read(target.size), {}};
}

std::uint64_t divided(std::uint64_t size, std::uint64_t by) {
    const double count = std::ceil(static_cast<double>(size) / static_cast<double>(by));
    return count >= 18446744073709551615.0 ? UINT64_MAX : static_cast<std::uint64_t>(count);
}
std::uint64_t one_more(std::uint64_t size) { return size == UINT64_MAX ? size : size + 1; }

CallEstimate replace(Arguments a) {
    const SizeRange text = a[0].size, old = a[1].size, by = a[2].size;
    SizeRange count, kept;
    if (old.min == 0) {
        count.max = one_more(text.max);
        kept.max = text.max;
    } else if (by.max <= old.min) {
        kept.max = text.max;
    } else {
        count.max = divided(text.max, old.min);
    }
    if (old.max == 0) {
        count.min = one_more(text.min);
        kept.min = text.min;
    } else if (old.max <= by.min) {
        kept.min = text.min;
    } else {
        count.min = divided(text.min, old.max);
    }
    return {read(text, 2), count * by + kept};
}

CallEstimate joined(Arguments a) {
    const SizeRange list = a[0].size;
    SizeRange size = list * a[0].element;
    if (a.size() > 1) size = size + a[1].size * SizeRange{list.min ? list.min - 1 : 0, list.max ? list.max - 1 : 0};
    return {read(size), size};
}

CostRange pattern(const SizeRange& text, const SizeRange& expression) { return read(text + One) * expression.scaled(costs::Regex); }

CallEstimate contained(std::string_view overload, Arguments a, bool is_cidr) {
    constexpr SizeRange Address = {4, 16};
    CostRange cost = read(Address + Address);
    if (is_cidr) cost = cost + read(Address) + One;
    if (overload.ends_with("_string")) cost = cost + read(a[1].size);
    return {cost, {}};
}

CallEstimate list_call(double factor, const SizeRange& size) { return {size.scaled(factor) + One + CostRange::fixed(costs::List), size}; }

std::uint64_t constant_or(const EstimatedArgument& argument, std::uint64_t otherwise) {
    if (!argument.constant) return otherwise;
    return *argument.constant < 0 ? 0 : static_cast<std::uint64_t>(*argument.constant);
}

std::optional<CallEstimate> extension_lists(std::string_view overload, Arguments a) {
    if (overload == "list_slice") return list_call(1, SizeRange::fixed(constant_or(a[2], a[0].size.max) - constant_or(a[1], 0)));
    if (overload == "lists_range") return list_call(1, SizeRange::fixed(constant_or(a[0], UINT64_MAX)));
    if (overload == "list_reverse") return list_call(1, a[0].size);
    if (overload == "list_flatten") return list_call(1, a[0].size);
    if (overload == "list_flatten_int") return list_call(static_cast<double>(constant_or(a[1], UINT64_MAX)), a[0].size);
    if (overload == "list_distinct") return list_call(2, a[0].size * a[0].size);
    const bool is_text = overload.starts_with("list_string") || overload.starts_with("list_bytes");
    const double factor = is_text ? 2 + costs::Traversal : 2;
    if (overload.ends_with("_sort")) return list_call(factor, a[0].size * a[0].size);
    if (overload.ends_with("_sortByAssociatedKeys")) return list_call(factor, a[1].size * a[1].size);
    if (overload == "list_sets_contains_list" || overload == "list_sets_intersects_list")
        return CallEstimate{a[0].size * a[1].size + One, {}};
    if (overload == "list_sets_equivalent_list") return CallEstimate{(a[0].size * a[1].size).scaled(2) + One, {}};
    return {};
}

CallEstimate selector(const SizeRange& text) {
    const CostRange requirements = text.scaled(0.5).scaled(static_cast<double>(costs::List + costs::Object));
    return {CostRange::fixed(costs::List) + read(text) + requirements, {}};
}

std::optional<CallEstimate> kubernetes(std::string_view function, std::string_view overload, bool is_member, Arguments a) {
    if (function == "check") return CallEstimate{CostRange::fixed(350'000), {}};
    if (function == "ip" && overload == "cidr_ip") return CallEstimate{One, {}};
    if (is_one_of(function, Constant)) return CallEstimate{One, {}};
    if ((function == "fieldSelector" || function == "labelSelector") && a.size() == 2) return selector(a[1].size);
    if (is_member && is_one_of(function, Traversals)) return traversal(function, a[0]);
    if (function == "url" || function == "jsonpatch.escapeKey") return CallEstimate{read(a[0].size), a[0].size};
    if (is_member && is_one_of(function, ReadText)) return CallEstimate{read(a[0].size), a[0].size};
    if (is_member && function == "replace" && a.size() >= 3) return replace(a);
    if (is_member && function == "split")
        return CallEstimate{read(a[0].size, 2),
                            SizeRange{0, a.size() > 2 && a[2].constant ? static_cast<std::uint64_t>(*a[2].constant) : a[0].size.max}};
    if (is_member && function == "join") return joined(a);
    if (is_member && (function == "find" || function == "findAll"))
        return CallEstimate{pattern(a[0].size, a[1].size), SizeRange{0, a[0].size.max}};
    if (!is_member && (function == "ip" || is_one_of(function, ReadFirst))) return CallEstimate{read(a[0].size), {}};
    if (function == "ip.isCanonical") return CallEstimate{read(a[0].size, 2), {}};
    if (function == "containsIP") return contained(overload, a, false);
    if (function == "containsCIDR") return contained(overload, a, true);
    if (function == "validate") {
        constexpr double LongestPattern = 128;
        return CallEstimate{read(a[1].size).scaled(LongestPattern * costs::Regex), {}};
    }
    return {};
}

/// Equality of Kubernetes' own types.
std::optional<CallEstimate> opaque_equality(std::string_view function, Arguments a) {
    if (function != "_==_" || !a[0].type->is(TypeKind::Opaque) || a[0].type->is_optional() || !(*a[0].type == *a[1].type)) return {};
    if (a[0].type->name == "kubernetes.NamedFormat") return CallEstimate{CostRange{1, 64}.scaled(costs::Traversal), {}};
    if (a[0].type->name == "kubernetes.URL")
        return CallEstimate{CostRange{1, std::max(a[1].size.max, std::uint64_t{1})}.scaled(costs::Traversal), {}};
    return CallEstimate{One, {}};
}

CallEstimate language(std::string_view overload, bool is_member, Arguments a) {
    if (overload == "string_format") return {read(a[0].size), {}};
    if (overload == "string_to_bytes") return {read(a[0].size), SizeRange{a[0].size.min, a[0].size.max * 4}};
    if (overload == "bytes_to_string") return {read(a[0].size), SizeRange{a[0].size.min / 4, a[0].size.max}};
    if (overload == "strings_quote") return {read(a[0].size), SizeRange{a[0].size.min + 2, a[0].size.max * 2 + 2}};
    if (overload == "starts_with_string" || overload == "ends_with_string") return {read(a[1].size), {}};
    if (overload == "in_list") return {a[1].size.scaled(1), {}};
    if (overload == "matches" || overload == "matches_string") return {pattern(a[0].size, a[1].size), {}};
    if (overload == "contains_string" && is_member) return {read(a[0].size) * read(a[1].size), {}};
    if (overload == "add_list") return {One, a[0].size + a[1].size};
    if (overload == "add_string" || overload == "add_bytes") return {read(a[0].size + a[1].size), a[0].size + a[1].size};
    if (is_one_of(overload, ReadShorter)) {
        const std::uint64_t most = std::min(a[0].size.max, a[1].size.max);
        return {read(SizeRange{most > 0 ? std::uint64_t{1} : std::uint64_t{0}, most}), {}};
    }
    return {One, {}};
}

}  // namespace

CallEstimate estimate_call(std::string_view function, std::string_view overload, bool is_member, Arguments arguments) {
    if (const auto found = extension_lists(overload, arguments)) return *found;
    if (const auto found = kubernetes(function, overload, is_member, arguments)) return *found;
    if (const auto found = opaque_equality(function, arguments)) return *found;
    return language(overload, is_member, arguments);
}

}  // namespace porthole::cel
