#include "kubelet/devices/prepared_claims.h"

#include <gtest/gtest.h>

namespace porthole::kubelet {
namespace {

PreparedClaim claim() {
    return {.namespace_ = "ns",
            .name = "c",
            .uid = "u",
            .drivers = {{"a", {{"pool", "d1", {"gpu/large"}, {"a/d=1", "a/d=2"}}, {"pool", "d2", {"nic"}, {"a/d=3"}}}},
                        {"b", {{"pool", "d3", {}, {"b/d=1", "a/d=1"}}}}},
            .pods = {"p1", "p2"}};
}

TEST(PreparedClaim, HasTheDevicesOfARequest) {
    using Ids = std::vector<std::string>;
    EXPECT_EQ(claim().cdi_ids(""), (Ids{"a/d=1", "a/d=2", "a/d=3", "b/d=1"}));
    EXPECT_EQ(claim().cdi_ids("gpu"), (Ids{"a/d=1", "a/d=2", "b/d=1"})) << "whichever alternative was chosen";
    EXPECT_EQ(claim().cdi_ids("gpu/large"), (Ids{"a/d=1", "a/d=2", "b/d=1"}));
    EXPECT_EQ(claim().cdi_ids("other"), (Ids{"b/d=1", "a/d=1"})) << "a device for all requests";
}

TEST(Checkpoint, IsReadAsItWasWritten) {
    const PreparedClaims claims = {{"u", claim()}};
    const auto read = parse_checkpoint(checkpoint_text(claims));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, claims);
    PreparedClaims prepared = claims;
    prepared.at("u").is_prepared = true;
    EXPECT_EQ(checkpoint_text(prepared), checkpoint_text(claims)) << "it would not hold after a reboot";
}

TEST(Checkpoint, OfSomethingElseIsRefused) {
    for (const char* text :
         {"", "{}", R"({"version":"v2","claims":[]})", R"({"version":"v1","claims":[{"name":"c"}]})", R"({"version":"v1"})"}) {
        SCOPED_TRACE(text);
        EXPECT_FALSE(parse_checkpoint(text));
    }
}

}  // namespace
}  // namespace porthole::kubelet
