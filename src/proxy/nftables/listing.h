#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "netlink/nft_table.h"
#include "proxy/nftables/elements.h"

// Converts between the text form of elements.h and the kernel's.

namespace porthole::proxy::nftables {

/// The kernel's content of the proxy's table, as text that compares with RuleSet::expected_elements(). A value.
struct Listing {
    std::map<std::string, std::set<std::string>> elements;  ///< by map or set: "key : data" or "key"
    std::map<std::string, std::size_t> rules;               ///< by chain; 0 for empty chains
};

/// Of elements that the layout's types do not fit, the text fits no element either. Sets that are not in the layout are left out.
Listing read_listing(const net::NftTable& table);

/// The same changes in the kernel's form. Requires: sets of the layout, and elements created by elements.h.
std::vector<net::NftChange> kernel_changes(const std::vector<Element>& removed, const std::vector<Element>& added);

/// The names of the sets and maps that services fill.
std::vector<std::string> sets_of_services();

}  // namespace porthole::proxy::nftables
