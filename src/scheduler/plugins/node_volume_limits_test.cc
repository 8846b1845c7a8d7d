#include <gtest/gtest.h>

#include "api/core_v1.h"
#include "api/storage_v1.h"
#include "scheduler/framework/convert.h"
#include "scheduler/scheduler_fixture.h"

namespace porthole::scheduler {
namespace {

using namespace testing;
using namespace std::chrono_literals;
namespace core = api::core::v1;
namespace storage = api::storage::v1;

constexpr const char* Driver = "csi.example.com";
constexpr const char* Full = "0/1 nodes are available: 1 node(s) exceed max volume count.";

/// One node, and volumes of a driver.
struct LimitsWorld : World {
    LimitsWorld() {
        cluster.set_node(node("a"));
        storage::StorageClass late;
        late.metadata.name = "late";
        late.provisioner = Driver;
        late.volume_binding_mode = "WaitForFirstConsumer";
        api.put(late);
        informers.start();
        loop.advance(1s);
    }
    void set_limit(std::int32_t count, const std::string& driver = Driver) {
        storage::CSINode csi_node;
        csi_node.metadata.name = "a";
        auto& one = csi_node.spec.drivers.emplace_back();
        one.name = driver;
        one.allocatable.emplace().count = count;
        api.put(csi_node);
        loop.advance(1s);
    }
    void put_volume(const std::string& name, const std::string& driver = Driver) {
        core::PersistentVolume volume;
        volume.metadata.name = "v-" + name;
        volume.spec.csi.emplace() = {.driver = driver, .volume_handle = "h-" + name};
        api.put(volume);
        put_claim(name, volume.metadata.name);
    }
    void put_claim(const std::string& name, const std::string& volume) {
        core::PersistentVolumeClaim claim;
        claim.metadata.namespace_ = "default";
        claim.metadata.name = name;
        claim.spec.volume_name = volume;
        claim.spec.storage_class_name = "late";
        claim.status.phase = volume.empty() ? "Pending" : "Bound";
        api.put(claim);
        loop.advance(1s);
    }
    static PodInfo user_of(const std::string& name, std::vector<std::string> claims) {
        PodInfo info = pod(name);
        info.claims = std::move(claims);
        return info;
    }
    void run(const std::string& name, std::vector<std::string> claims) { cluster.set_pod(placed(user_of(name, std::move(claims)), "a")); }
    const Plugin& plugin() const {
        return **std::ranges::find_if(plugins, [](const auto& one) { return one->name() == "NodeVolumeLimits"; });
    }
};

TEST(NodeVolumeLimits, ANodeTakesAsManyVolumesAsItsDriverSays) {
    LimitsWorld world;
    for (const char* name : {"one", "two", "three"}) world.put_volume(name);
    world.run("first", {"one"});
    world.run("second", {"two"});
    EXPECT_EQ(world.choice(LimitsWorld::user_of("p", {"three"})), "a") << "no limit";
    world.set_limit(2);
    EXPECT_EQ(world.choice(LimitsWorld::user_of("p", {"three"})), Full);
    EXPECT_EQ(world.choice(LimitsWorld::user_of("p", {"two"})), "a") << "is there already";
    EXPECT_EQ(world.choice(pod("p")), "a");
    world.put_volume("other", "csi.example.org");
    EXPECT_EQ(world.choice(LimitsWorld::user_of("p", {"other"})), "a") << "another driver's";
    world.set_limit(3);
    EXPECT_EQ(world.choice(LimitsWorld::user_of("p", {"three"})), "a");
}

TEST(NodeVolumeLimits, CountsVolumesThatAreStillToBeMade) {
    LimitsWorld world;
    world.put_claim("one", "");
    world.put_claim("two", "");
    world.set_limit(1);
    EXPECT_EQ(world.choice(LimitsWorld::user_of("p", {"one"})), "a");
    EXPECT_EQ(world.choice(LimitsWorld::user_of("p", {"one", "two"})), Full);
}

TEST(NodeVolumeLimits, CountsWhatIsAttachedWithoutAPod) {
    LimitsWorld world;
    world.put_volume("one");
    world.put_volume("two");
    world.set_limit(1);
    storage::VolumeAttachment attachment;
    attachment.metadata.name = "csi-1";
    attachment.spec = {.attacher = Driver, .node_name = "a"};
    attachment.spec.source.persistent_volume_name = "v-one";
    world.api.put(attachment);
    world.loop.advance(1s);
    EXPECT_EQ(world.choice(LimitsWorld::user_of("p", {"two"})), Full);
    EXPECT_EQ(world.choice(LimitsWorld::user_of("p", {"one"})), "a");
    world.happened.clear();
    world.api.erase<storage::VolumeAttachment>({"", "csi-1"});
    world.loop.advance(1s);
    EXPECT_EQ(world.happened, std::vector(1, ClusterEvent::Kind::VolumeRoomGrew));
    EXPECT_EQ(world.choice(LimitsWorld::user_of("p", {"two"})), "a");
}

TEST(NodeVolumeLimits, InTreeVolumesCountForTheDriverThatTookOver) {
    LimitsWorld world;
    world.set_limit(1, "cinder.csi.openstack.org");
    const auto user = [](const std::string& name, const std::string& id) {
        core::Pod made;
        made.metadata.namespace_ = "default";
        made.metadata.name = name;
        made.metadata.uid = "uid-" + name;
        made.spec.volumes.emplace_back().cinder.emplace().volume_id = id;
        return pod_info(made);
    };
    world.cluster.set_pod(placed(user("first", "d1"), "a"));
    EXPECT_EQ(world.choice(user("p", "d2")), Full);
    EXPECT_EQ(world.choice(user("p", "d1")), "a");
}

TEST(NodeVolumeLimits, WaitsForRoom) {
    LimitsWorld world;
    world.set_limit(2);
    world.happened.clear();
    world.set_limit(1);
    EXPECT_TRUE(world.happened.empty()) << "less room helps no one";
    world.set_limit(3);
    EXPECT_EQ(world.happened, std::vector(1, ClusterEvent::Kind::VolumeRoomGrew));
    const PodInfo waiting = LimitsWorld::user_of("p", {"one"}), gone = LimitsWorld::user_of("q", {"two"}), plain = pod("r");
    EXPECT_TRUE(world.plugin().queueing_hint({.kind = ClusterEvent::Kind::VolumeRoomGrew}, waiting));
    EXPECT_TRUE(world.plugin().queueing_hint({.kind = ClusterEvent::Kind::PodRemoved, .pod = &gone}, waiting));
    EXPECT_FALSE(world.plugin().queueing_hint({.kind = ClusterEvent::Kind::PodRemoved, .pod = &plain}, waiting));
}

}  // namespace
}  // namespace porthole::scheduler
