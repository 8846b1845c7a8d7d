#include "netlink/nft_text.h"

#include <gtest/gtest.h>

namespace porthole::net {
namespace {

using namespace std::string_literals;

TEST(NftTypes, WritesWhatItReads) {
    const auto types = NftTypes::parse("typeof ip daddr . tcp dport . numgen random mod 2 : ip daddr . tcp dport").value();
    const auto element = types.element("10.96.0.20 . 443 . 258", "10.244.1.5 . 8080").value();
    EXPECT_EQ(element.key, "\x0a\x60\x00\x14\x01\xbb\x00\x00\x02\x01\x00\x00"s) << "numbers are in the machine's byte order";
    EXPECT_EQ(element.data, "\x0a\xf4\x01\x05\x1f\x90\x00\x00"s);
    EXPECT_EQ(types.text(element), "10.96.0.20 . 443 . 258 : 10.244.1.5 . 8080");
    EXPECT_EQ(types.element("10.96.0.20 . 443 . 258", "").value().data, "") << "an element to be removed";
}

TEST(NftTypes, KnowsVerdictsAndRanges) {
    const auto verdicts = NftTypes::parse("type ipv4_addr . inet_proto . inet_service : verdict").value();
    EXPECT_EQ(verdicts.text(verdicts.element("10.96.0.20 . udp . 53", "goto x").value()), "10.96.0.20 . udp . 53 : goto x");
    const auto ranges = NftTypes::parse("type ipv4_addr", true).value();
    EXPECT_EQ(ranges.element("10.0.0.0/8", "").value().key_end, "\x0a\xff\xff\xff"s);
    EXPECT_EQ(ranges.text(ranges.element("10.0.0.0/8", "").value()), "10.0.0.0/8");
}

TEST(NftTypes, LeavesOtherTypesToNft) {
    for (const char* declared :
         {"type ifname", "type ipv4_addr : mark", "type inet_service", "typeof ip daddr . tcp dport : meta mark", ""}) {
        EXPECT_FALSE(NftTypes::parse(declared)) << declared;
    }
}

TEST(NftTypes, RefusesTextsOfAnotherForm) {
    const auto types = NftTypes::parse("type ipv4_addr . inet_proto . inet_service : ipv4_addr").value();
    for (const char* key : {"10.96.0.20 . tcp", "10.96.0.20 . tcp . 80 . 1", "10.96.0.20 . tcp . 65536", "10.96.0.20 . tcp . 80 ",
                            "10.96.0.20 . icmp . 80", "fd00::1 . tcp . 80", "10.96.0.0/16 . tcp . 80", ""}) {
        EXPECT_FALSE(types.element(key, "10.244.1.5")) << key;
    }
    EXPECT_FALSE(types.element("10.96.0.20 . tcp . 80", "here"));
}

}  // namespace
}  // namespace porthole::net
