#include "net/interface_address.h"

#include <gtest/gtest.h>

namespace porthole::net {
namespace {

TEST(SourceAddress, IsTheOneOnTheWayToTheServer) {
    const auto address = source_address_towards("https://127.0.0.1:6443");
    ASSERT_TRUE(address);
    EXPECT_EQ(address->to_string(), "127.0.0.1");
}

TEST(SourceAddress, IsFoundForServersWithIpv6Addresses) {
    const auto address = source_address_towards("https://[::1]:6443");
    if (!address) {
        EXPECT_EQ(address.error().reason, Reason::Io) << "only a machine without IPv6 may fail";
        return;
    }
    EXPECT_EQ(address->to_string(), "::1");
}

TEST(SourceAddress, NeedsAnAddressAndNoName) {
    const auto address = source_address_towards("https://server.example:6443");
    ASSERT_FALSE(address);
    EXPECT_EQ(address.error().reason, Reason::BadRequest);
}

}  // namespace
}  // namespace porthole::net
