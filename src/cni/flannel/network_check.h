#pragma once
#include <string>

#include "hns/client.h"

namespace porthole::cni::flannel {

/// What pods on this Windows host lack of the pod network `name` ("cbr0", "vxlan0"): "the HNS network cbr0", "the host's endpoint cbr0_ep,
/// whose adapter is vEthernet (cbr0_ep)"; "" when all is there.
Task<std::string> missing_of_network(hns::Hns& hns, std::string name);

}  // namespace porthole::cni::flannel
