#include "base/values/ip.h"

#include <gtest/gtest.h>

namespace porthole {
namespace {

TEST(IpAddress, ReadsAndWritesTheCanonicalForm) {
    struct {
        const char *text, *canonical;
    } const rows[] = {
        {"10.96.0.1", "10.96.0.1"},
        {"0.0.0.0", "0.0.0.0"},
        {"::", "::"},
        {"::1", "::1"},
        {"fd00:0:0::A", "fd00::a"},
        {"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"},
        {"1:0:0:4:0:0:0:8", "1:0:0:4::8"},
        {"::ffff:10.0.0.1", "::ffff:a00:1"},
        {"1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"},
        {"fe80::", "fe80::"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.text);
        const auto address = IpAddress::parse(row.text);
        ASSERT_TRUE(address.has_value());
        EXPECT_EQ(address->to_string(), row.canonical);
    }
}

TEST(IpAddress, RefusesWhatIsNone) {
    for (const char* text : {"", "1.2.3", "1.2.3.4.5", "01.2.3.4", "256.0.0.1", "1.2.3.4 ", "a.b.c.d", ":", ":::", "1:2", "1::2::3",
                             "1:2:3:4:5:6:7:8:9", "12345::", "fe80::1%eth0", "::1.2.3", "1:2:3:4:5:6:7:", "1.2.3.4:80"}) {
        EXPECT_FALSE(IpAddress::parse(text).has_value()) << text;
    }
}

TEST(IpPrefix, ContainsItsAddressesOnly) {
    const IpPrefix prefix = IpPrefix::parse("10.96.7.1/12").value();
    EXPECT_EQ(prefix.to_string(), "10.96.0.0/12");
    EXPECT_TRUE(prefix.contains(IpAddress::parse("10.111.255.255").value()));
    EXPECT_FALSE(prefix.contains(IpAddress::parse("10.112.0.0").value()));
    EXPECT_FALSE(prefix.contains(IpAddress::parse("::").value()));
    EXPECT_TRUE(prefix.overlaps(IpPrefix::parse("10.0.0.0/8").value()));
    EXPECT_EQ(prefix.base().plus(256).to_string(), "10.96.1.0");
    EXPECT_EQ(IpPrefix::parse("fd00::ffff/112")->to_string(), "fd00::/112");
    for (const char* text : {"10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "/8"}) {
        EXPECT_FALSE(IpPrefix::parse(text).has_value()) << text;
    }
}

}  // namespace
}  // namespace porthole
