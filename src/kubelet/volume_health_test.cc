#include "kubelet/storage_usage.h"
#include "kubelet/volumes/csi/csi_volumes_fixture.h"
#include "runtime/scope.h"

namespace porthole::kubelet {
namespace {

TEST_F(CsiVolumesTest, WhatADriverTellsOfAnUnhealthyVolumeIsAnEventOfItsPod) {
    options.capabilities.insert(NodeCapabilityType::GetVolumeStats);
    options.capabilities.insert(NodeCapabilityType::VolumeCondition);
    start();
    put_claim();
    const auto user = pod("u1", Claim);
    ASSERT_EQ(set_up(user), "");
    driver->is_abnormal = true;
    StorageUsage usage({.loop = loop,
                        .files = *folder.files,
                        .workers = pool,
                        .volumes = *manager,
                        .log_root = root() + "/logs",
                        .pods = [&] { return std::vector{user}; },
                        .csi = csi.get(),
                        .events = &events});
    Scope scope(loop);
    scope.spawn(events.run());
    scope.spawn(usage.run());
    ASSERT_TRUE(until([&] { return !api.list<core::Event>().empty(); }));
    const core::Event event = api.list<core::Event>().at(0);
    EXPECT_EQ(event.reason, "VolumeConditionAbnormal");
    EXPECT_EQ(event.message, "Volume v: the disk makes noises");
    EXPECT_EQ(event.involved_object.uid, "u1");
    EXPECT_TRUE(run(scope.close()));
}

}  // namespace
}  // namespace porthole::kubelet
