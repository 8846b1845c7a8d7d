#include "cni/flannel/network_check.h"

namespace porthole::cni::flannel {

namespace hcn = hns::hcn;

Task<std::string> missing_of_network(hns::Hns& service, std::string name) {
    hns::Client client(service);
    CO_TRY(const auto network, co_await client.find<hcn::HostComputeNetwork>(name));
    if (!network) co_return "the HNS network " + name;
    if (hns::type_of(*network) == hcn::NetworkMode::Overlay) co_return std::string();  // in which the host has no endpoint
    CO_TRY(const auto leg, co_await client.find<hcn::HostComputeEndpoint>(name + "_ep"));
    if (!leg) co_return "the host's endpoint " + name + "_ep, whose adapter is vEthernet (" + name + "_ep)";
    co_return std::string();
}

}  // namespace porthole::cni::flannel
