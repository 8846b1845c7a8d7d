#include <gtest/gtest.h>

#include "scheduler/framework/convert.h"
#include "scheduler/scheduler_fixture.h"

namespace porthole::scheduler {
namespace {

using namespace testing;
using namespace std::chrono_literals;
namespace core = api::core::v1;

constexpr const char* InUse =
    "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
    "another "
    "pod.";

struct RestrictionsWorld : World {
    RestrictionsWorld() {
        cluster.set_node(node("a"));
        cluster.set_node(node("b"));
        informers.start();
        loop.advance(1s);
    }
    void put_claim(const std::string& name, const std::string& mode) {
        core::PersistentVolume volume;
        volume.metadata.name = "v-" + name;
        api.put(volume);
        core::PersistentVolumeClaim claim;
        claim.metadata.namespace_ = "default";
        claim.metadata.name = name;
        claim.spec.access_modes = {mode};
        claim.spec.volume_name = volume.metadata.name;
        claim.status.phase = "Bound";
        api.put(claim);
        loop.advance(1s);
    }
    const Plugin& plugin() const {
        return **std::ranges::find_if(plugins, [](const auto& one) { return one->name() == "VolumeRestrictions"; });
    }
};

PodInfo user_of(const std::string& name, std::vector<std::string> claims) {
    PodInfo info = pod(name);
    info.claims = std::move(claims);
    return info;
}

PodInfo with_volume(const std::string& name, const std::function<void(core::Volume&)>& set) {
    core::Pod made;
    made.metadata.namespace_ = "default";
    made.metadata.name = name;
    made.metadata.uid = "uid-" + name;
    set(made.spec.volumes.emplace_back());
    return pod_info(made);
}

TEST(VolumeRestrictions, AClaimForOnePodIsNotSharedOnAnyNode) {
    RestrictionsWorld world;
    world.put_claim("one", "ReadWriteOncePod");
    world.put_claim("many", "ReadWriteOnce");
    EXPECT_NE(world.cycle.decide(user_of("p", {"one"})).node, nullptr);
    world.cluster.set_pod(placed(user_of("other", {"one", "many"}), "a"));
    EXPECT_EQ(world.choice(user_of("p", {"one"})), InUse);
    EXPECT_NE(world.cycle.decide(user_of("p", {"many"})).node, nullptr);
    PodInfo elsewhere = user_of("p", {"one"});
    elsewhere.namespace_ = "another";
    EXPECT_EQ(world.choice(elsewhere), "0/2 nodes are available: persistentvolumeclaim \"one\" not found.");
    world.cluster.remove_pod("uid-other");
    EXPECT_NE(world.cycle.decide(user_of("p", {"one"})).node, nullptr);
}

TEST(VolumeRestrictions, ADiskThatPodsNameIsWrittenByOneOfANode) {
    RestrictionsWorld world;
    const auto gce = [](bool read_only) {
        return [read_only](core::Volume& volume) { volume.gce_persistent_disk.emplace() = {.pd_name = "d", .read_only = read_only}; };
    };
    world.cluster.set_pod(placed(with_volume("other", gce(true)), "a"));
    EXPECT_NE(world.cycle.decide(with_volume("p", gce(true))).node, nullptr);
    world.cluster.set_pod(placed(with_volume("more", gce(true)), "b"));
    EXPECT_EQ(world.choice(with_volume("p", gce(false))), "0/2 nodes are available: 2 node(s) had no available disk.");
    world.cluster.remove_pod("uid-more");
    EXPECT_EQ(world.choice(with_volume("p", gce(false))), "b");

    const auto rbd = [](std::vector<std::string> monitors) {
        return [monitors](core::Volume& volume) { volume.rbd.emplace() = {.monitors = monitors, .image = "i", .pool = "p"}; };
    };
    world.cluster.set_pod(placed(with_volume("ceph", rbd({"m1", "m2"})), "a"));
    EXPECT_EQ(world.choice(with_volume("p", rbd({"m2", "m3"}))), "b");
    const auto aws = [](core::Volume& volume) { volume.aws_elastic_block_store.emplace() = {.volume_id = "d", .read_only = true}; };
    world.cluster.set_pod(placed(with_volume("aws", aws), "a"));
    EXPECT_EQ(world.choice(with_volume("p", aws)), "b") << "not even to be read";
}

PodInfo with_disks(const std::string& name, int first, int count, int every, bool read_only = true) {
    return with_volume(name, [&](core::Volume& volume) {
        auto& disk = volume.rbd.emplace();
        disk.read_only = read_only;
        for (int i = 0; i < count; ++i) disk.monitors.push_back(std::to_string(first + i * every));
    });
}

TEST(VolumeRestrictions, FindsTheSameDiskInListsOfAnyLength) {
    for (const int common : {100, 103, 397, 399}) {
        for (const int count : {1, 3, 50}) {
            RestrictionsWorld world;
            world.cluster.set_pod(placed(with_disks("other", 100, 300, 1), "a"));
            world.cluster.set_pod(placed(with_disks("more", 100, 300, 1), "b"));
            SCOPED_TRACE(std::to_string(common) + " among " + std::to_string(count));
            EXPECT_EQ(world.cycle.decide(with_disks("p", common, count, 500, false)).node, nullptr);
            EXPECT_NE(world.cycle.decide(with_disks("p", common, count, 500)).node, nullptr) << "both are read";
            EXPECT_NE(world.cycle.decide(with_disks("p", common + 300, count, 500, false)).node, nullptr);
        }
    }
}

TEST(VolumeRestrictions, ManyDisksTakeLinearTime) {
    RestrictionsWorld world;
    world.cluster.set_pod(placed(with_disks("other", 0, 100'000, 2), "a"));
    world.cluster.set_pod(placed(with_disks("more", 0, 100'000, 2), "b"));
    EXPECT_NE(world.cycle.decide(with_disks("p", 1, 100'000, 2, false)).node, nullptr);
}

TEST(VolumeRestrictions, WaitsForTheUserToGo) {
    RestrictionsWorld world;
    const PodInfo waiting = user_of("p", {"one"});
    const auto removed = [&](const PodInfo& gone) {
        return world.plugin().queueing_hint({.kind = ClusterEvent::Kind::PodRemoved, .pod = &gone}, waiting);
    };
    EXPECT_TRUE(removed(user_of("a", {"one"})));
    EXPECT_FALSE(removed(user_of("b", {"two"})));
    PodInfo elsewhere = user_of("c", {"one"});
    elsewhere.namespace_ = "another";
    EXPECT_FALSE(removed(elsewhere));
}

}  // namespace
}  // namespace porthole::scheduler
