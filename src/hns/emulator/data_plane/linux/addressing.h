#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "hns/emulator/model/model.h"

namespace porthole::hns::emulator {

/// An IPv4 range, or a single address as a range; nullopt for anything else.
std::optional<IpPrefix> ipv4_range(const std::string& text);
/// The IPv4 ranges in `texts`, without those contained in others: nft refuses overlapping ranges.
std::vector<IpPrefix> disjoint_ranges(const std::vector<std::string>& texts);
/// `text` if it is an IPv4 address, otherwise "". Texts of documents become lines of commands, so nothing else may pass.
std::string ipv4_or_nothing(const std::string& text);
/// The endpoint's first IPv4 address; "" if it has none.
std::string ipv4_of(const Endpoint& endpoint);
/// "00:15:5d:0a:0b:0c" of "00-15-5D-0A-0B-0C".
std::string linux_mac(const std::string& mac);

}  // namespace porthole::hns::emulator
