#include "open_iscsi/target_list.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/strings.h"

namespace porthole::open_iscsi {
namespace {

constexpr std::size_t LongestAddress = 253;

std::optional<std::uint16_t> number_of(std::string_view text) {
    std::uint16_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<ListedTarget> parse_line(std::string_view line) {
    const std::size_t blank = line.find(' ');
    if (blank == line.npos) return std::nullopt;
    const std::string_view portal = line.substr(0, blank), name = line.substr(blank + 1);
    const std::size_t colon = portal.rfind(':'), comma = portal.rfind(',');
    if (colon == portal.npos || comma == portal.npos || comma < colon || !is_plain_target_name(name)) return std::nullopt;
    std::string_view address = portal.substr(0, colon);
    if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
    const auto port = number_of(portal.substr(colon + 1, comma - colon - 1)), group = number_of(portal.substr(comma + 1));
    if (address.empty() || address.size() > LongestAddress || !port || !group) return std::nullopt;
    return ListedTarget{std::string(name), std::string(address), *port, *group};
}

}  // namespace

bool is_plain_target_name(std::string_view name) {
    const auto allowed = [](char c) {
        return (c >= '0' && c <= '9') || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '-' || c == '.' || c == ':';
    };
    const bool known = name.starts_with("iqn.") || name.starts_with("eui.") || name.starts_with("naa.");
    return known && name.size() <= LongestTargetName && std::ranges::all_of(name, allowed);
}

std::vector<ListedTarget> parse_target_list(std::string_view text) {
    std::vector<ListedTarget> targets;
    for (const std::string_view line : split_views(text, '\n')) {
        if (targets.size() == MostListedTargets) break;
        if (auto target = parse_line(line)) targets.push_back(*std::move(target));
    }
    return targets;
}

}  // namespace porthole::open_iscsi
