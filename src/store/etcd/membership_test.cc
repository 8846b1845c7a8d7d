#include "store/etcd/membership.h"

#include <gmock/gmock.h>

#include "store/etcd/etcd_store_fixture.h"

namespace porthole::store::etcd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Members 1 to 3, of which the second has lost its data.
struct MembershipTest : EtcdStoreTest {
    MembershipTest() {
        for (std::uint64_t id = 1; id <= 3; ++id) etcd.roster.push_back({id, "etcd-" + std::to_string(id), {url(id)}});
    }
    ~MembershipTest() override { EXPECT_TRUE(sim::run(loop, client.close())); }

    static std::string url(std::uint64_t id) { return "https://127.0.0." + std::to_string(id) + ":2380"; }
    Result<std::vector<ClusterMember>> readmit_second() { return sim::run(loop, readmit(client, url(2))); }
    /// "name url" of each, in order.
    std::vector<std::string> roster() const {
        std::vector<std::string> lines;
        for (const ClusterMember& member : etcd.roster) lines.push_back(member.name + " " + member.peer_urls.front());
        return lines;
    }

    Client client{loop, etcd.members()};
};

TEST_F(MembershipTest, ALostMemberIsAddedAsANewOne) {
    ASSERT_TRUE(readmit_second());
    EXPECT_THAT(roster(), ElementsAre("etcd-1 " + url(1), "etcd-3 " + url(3), " " + url(2)));
    EXPECT_NE(etcd.roster.back().id, 2) << "its vote of before is not asked for any more";
}

TEST_F(MembershipTest, WhatWasAddedAndHasNotKeptItsDataIsAddedOnceMore) {
    ASSERT_TRUE(readmit_second());
    const std::uint64_t first = etcd.roster.back().id;
    ASSERT_TRUE(readmit_second());
    EXPECT_EQ(etcd.roster.size(), 3);
    EXPECT_NE(etcd.roster.back().id, first);
}

TEST_F(MembershipTest, WhatIsRemovedAlreadyIsOnlyAdded) {
    etcd.roster.erase(etcd.roster.begin() + 1);
    ASSERT_TRUE(readmit_second());
    EXPECT_THAT(roster(), ElementsAre("etcd-1 " + url(1), "etcd-3 " + url(3), " " + url(2)));
}

TEST_F(MembershipTest, AClusterThatDoesNotChangeItsMembersKeepsThem) {
    etcd.members_change = false;
    const auto refused = readmit_second();
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("etcdserver: unhealthy cluster"));
    EXPECT_EQ(etcd.roster.size(), 3);
    etcd.members_change = true;
    EXPECT_TRUE(readmit_second());
}

}  // namespace
}  // namespace porthole::store::etcd
