#pragma once
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::proxy::nftables {

/// What the kernel has of a table, with elements as elements.h writes them.
struct Listing {
    std::map<std::string, std::set<std::string>> elements;  ///< by map or set: "key : data" or "key"
    std::map<std::string, std::size_t> rules;               ///< by chain; 0 for empty chains
};

/// Reads `nft -j list table …` (or `list map …`). Error: BadRequest.
Result<Listing> read_listing(std::string_view json);

}  // namespace porthole::proxy::nftables
