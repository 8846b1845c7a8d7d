#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hns/emulator/data_plane/data_plane.h"
#include "schema/value.h"

namespace porthole::hns::emulator {

// Parsers for the output of `ip -json`.

/// An address of a link.
struct LinkAddress {
    std::string text;  ///< with its length: "192.0.2.13/24"
    bool is_v4 = true;
};

/// A network link of the kernel.
struct LinkState {
    std::string name, alias, mac, master;
    std::uint32_t mtu = 0;
    std::vector<LinkAddress> addresses;  ///< of global scope
    Counters counters;                   ///< from the point of view of the other end of the link
};

/// Of `ip -json -details -stats address`. Error: BadRequest.
Result<std::vector<LinkState>> read_links(std::string_view json);
/// Of `ip -json route`: routes that an administrator or program has created, as lines for `ip route replace`.
Result<std::vector<std::string>> read_made_routes(std::string_view json);
/// Of `ip -json route show table all proto 81`: the arguments of `ip route del`, by the key of their fixture.
Result<std::map<std::string, std::string>> read_own_routes(std::string_view json);
/// Of `ip -json rule`: priorities of our rules.
Result<std::set<std::uint32_t>> read_own_rules(std::string_view json);

}  // namespace porthole::hns::emulator
