#pragma once
#include <string>

#include "hns/emulator/data_plane/linux/kernel_state.h"
#include "hns/emulator/model/model.h"

namespace porthole::hns::emulator {

/// Adds one chain for each direction in which the endpoint has ACL policies, for packets through its port `port`.
///
/// Rules of type Host come first: a packet that they allow or block is decided. Then rules of type Switch, lowest priority number first,
/// and for the same number blocks before allowances; if there is any, packets that none of them matches are blocked. Replies to allowed
/// packets always pass. Addresses may name SetPolicies of the network, whose values are written into the rules.
void add_access_control(const Endpoint& endpoint, const Network& network, const std::string& port, Contribution& all);

}  // namespace porthole::hns::emulator
