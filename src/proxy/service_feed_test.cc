#include "proxy/service_feed.h"

#include <gtest/gtest.h>

namespace porthole::proxy {
namespace {

TEST(ServiceInfo, ManyExternalAddressesTakeLinearTime) {
    constexpr std::uint32_t Addresses = 100'000;
    api::core::v1::Service service;
    service.spec.cluster_ip = "10.96.0.10";
    for (std::uint32_t i = 0; i < Addresses; ++i) service.spec.external_ips.push_back(IpAddress::v4(0xcb007100 + i).to_string());
    service.spec.external_ips.push_back(service.spec.external_ips[0]);
    const auto info = service_info(service, Family::V4);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->external_ips.size(), Addresses);
}

}  // namespace
}  // namespace porthole::proxy
