#pragma once
#include <string>

#include "hns/emulator/data_plane/linux/kernel_state.h"
#include "hns/emulator/model/model.h"

namespace porthole::hns::emulator {

/// Adds one chain for each direction in which the endpoint has ACL policies, for packets through its port `port`.
///
/// Rules of type Host come first: what they allow or block is decided. Then rules of type Switch, lowest priority number first, a
/// block before an allowance of the same number; as soon as there is one, what none of them matches is blocked. Replies to what was
/// allowed always pass. Addresses may name SetPolicies of the network, whose values are written into the rules.
void add_access_control(const Endpoint& endpoint, const Network& network, const std::string& port, Contribution& all);

}  // namespace porthole::hns::emulator
