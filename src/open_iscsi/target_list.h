#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace porthole::open_iscsi {

/// One target at one of its portals, as a portal names it.
struct ListedTarget {
    std::string name;     ///< "iqn.2026-11.example:disk"
    std::string address;  ///< "10.0.0.9", "fd00::9"
    std::uint16_t port = 0;
    std::uint16_t group = 0;  ///< of portals

    bool operator==(const ListedTarget&) const = default;
};
constexpr std::size_t MostListedTargets = 1024, LongestTargetName = 223;

/// Letters, digits, '-', '.' and ':' after "iqn.", "eui." or "naa.": such a name is a part of paths, an argument and a line without
/// quotes. RFC 7143 allows letters of other scripts, too, which are refused.
bool is_plain_target_name(std::string_view name);

/// What `iscsiadm -m discovery` prints, "10.0.0.9:3260,1 iqn.2026-11.example:disk" in each line. A portal may have answered anything: lines
/// without a plain name are left out, and all after MostListedTargets.
std::vector<ListedTarget> parse_target_list(std::string_view text);

}  // namespace porthole::open_iscsi
