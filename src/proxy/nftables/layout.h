#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace porthole::proxy::nftables {

inline constexpr std::string_view TableName = "porthole-proxy";

/// A set, map or chain of the table that exists whatever services there are.
struct TableObject {
    enum class Kind : std::uint8_t { Set, Map, Chain };
    /// What fills a set or map.
    enum class Filled : std::uint8_t {
        AtStart,     ///< by the options of the proxy
        ByServices,  ///< by RuleSet: the kernel must have exactly these elements
        ByTraffic,   ///< by rules, as packets pass: kept when the table is rewritten
    };
    std::string_view name;
    Kind kind;
    std::string_view type;   ///< of elements; of a base chain its hook; "" for other chains
    std::string_view flags;  ///< the other lines of its declaration; "" for none
    Filled filled = Filled::AtStart;
};
/// In the order of declaration: a chain comes after those that it refers to.
std::span<const TableObject> table_objects();

/// The transaction's text that creates missing objects, and empties those that traffic does not fill.
std::string declare_and_flush();
/// base_rules.nft: the rules of these chains. `masquerade_mark` is the bit of the packet mark that requests masquerading.
std::string base_rules(std::uint32_t masquerade_mark);

/// The kernel's state after the declaration, before any service: the empty sets and maps that services fill, and the number of rules by
/// chain.
std::map<std::string, std::set<std::string>> declared_elements();
std::map<std::string, std::size_t> base_rule_counts();

}  // namespace porthole::proxy::nftables
