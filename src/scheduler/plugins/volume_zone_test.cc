#include <gtest/gtest.h>

#include "api/core_v1.h"
#include "scheduler/scheduler_fixture.h"

namespace porthole::scheduler {
namespace {

using namespace testing;
using namespace std::chrono_literals;
namespace core = api::core::v1;

constexpr const char* Zone = "topology.kubernetes.io/zone";
constexpr const char* BetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr const char* Nowhere = "0/2 nodes are available: 2 node(s) had no available volume zone.";

/// Nodes in zones a and b, and the claim "data", bound to a volume with labels.
struct ZoneWorld : World {
    ZoneWorld() {
        cluster.set_node(labeled(node("a1"), {{Zone, "a"}}));
        cluster.set_node(labeled(node("b1"), {{Zone, "b"}}));
        informers.start();
        core::PersistentVolumeClaim claim;
        claim.metadata.namespace_ = "default";
        claim.metadata.name = "data";
        claim.spec.volume_name = "v";
        claim.status.phase = "Bound";
        api.put(claim);
    }
    std::string choice_for(Labels labels) {
        core::PersistentVolume volume;
        volume.metadata.name = "v";
        volume.metadata.labels = std::move(labels);
        api.put(volume);
        loop.advance(1s);
        PodInfo info = pod("p");
        info.claims = {"data"};
        return choice(info);
    }
};

TEST(VolumeZone, APodRunsInTheZoneOfItsVolume) {
    ZoneWorld world;
    EXPECT_EQ(world.choice_for({{Zone, "b"}}), "b1");
    EXPECT_EQ(world.choice_for({{Zone, "c"}}), Nowhere);
    EXPECT_EQ(world.choice_for({{Zone, "b__c"}}), "b1") << "one of its zones";
    EXPECT_EQ(world.choice_for({{BetaZone, "a"}}), "a1") << "the old key of the volume is the new one of the node";
    EXPECT_EQ(world.choice_for({{Zone, "a"}, {"topology.kubernetes.io/region", "r"}}), Nowhere) << "the nodes have no region";
    EXPECT_NE(world.choice_for({{Zone, "b__"}}), Nowhere) << "a label that is not understood";
}

TEST(VolumeZone, NodesWithoutZonesTakeAll) {
    ZoneWorld world;
    world.cluster.set_node(node("plain"));
    EXPECT_EQ(world.choice_for({{Zone, "c"}}), "plain");
}

}  // namespace
}  // namespace porthole::scheduler
