#pragma once
#include <string>

#include "hns/client.h"

namespace porthole::cni::flannel {

/// The missing parts of the pod network `name` ("cbr0", "vxlan0") on this Windows host: "the HNS network cbr0", "the host's endpoint
/// cbr0_ep, whose adapter is vEthernet (cbr0_ep)"; "" if it is complete.
Task<std::string> missing_of_network(hns::Hns& hns, std::string name);

}  // namespace porthole::cni::flannel
