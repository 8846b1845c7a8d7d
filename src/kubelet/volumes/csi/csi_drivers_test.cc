#include "kubelet/volumes/csi/csi_limits.h"
#include "kubelet/volumes/csi/csi_volumes_fixture.h"

namespace porthole::kubelet {
namespace {

/// Drivers come, go, hang and are counted.
using CsiDriversTest = CsiVolumesTest;

TEST_F(CsiDriversTest, ARegisteredDriverIsInTheCSINodeUntilItGoes) {
    options.topology = {{"topology.csi.example.com/zone", "z1"}};
    options.most_volumes = 7;
    start();
    CSINode node = *api.find<CSINode>({"", "n1"});
    EXPECT_EQ(node.metadata.owner_references.at(0).uid, "node-uid");
    ASSERT_EQ(node.spec.drivers.size(), 1u);
    EXPECT_EQ(node.spec.drivers[0].name, Driver);
    EXPECT_EQ(node.spec.drivers[0].node_id, "node-1");
    EXPECT_EQ(node.spec.drivers[0].allocatable->count, 7);
    EXPECT_THAT(node.spec.drivers[0].topology_keys, ElementsAre("topology.csi.example.com/zone"));
    const core::Node own = *api.find<core::Node>({"", "n1"});
    EXPECT_EQ(own.metadata.labels.at("topology.csi.example.com/zone"), "z1");
    EXPECT_EQ(own.metadata.annotations.at("csi.volume.kubernetes.io/nodeid"), R"({"csi.example.com":"node-1"})");
    EXPECT_TRUE(run(drivers->remove_plugin(info())));
    EXPECT_TRUE(api.find<CSINode>({"", "n1"})->spec.drivers.empty());
    EXPECT_FALSE(api.find<core::Node>({"", "n1"})->metadata.annotations.contains("csi.volume.kubernetes.io/nodeid"));
    EXPECT_TRUE(run(drivers->add_plugin(info())));
}

TEST_F(CsiDriversTest, ADriverThatContradictsALabelOfTheNodeIsRefused) {
    options.topology = {{"topology.csi.example.com/zone", "z1"}};
    start();
    const CsiNodeDriver other{.node_id = "node-2", .topology = {{"topology.csi.example.com/zone", "z2"}}};
    EXPECT_EQ(run(node_info->install("other.example.com", other)).error().message,
              "error updating CSINode object with CSI driver node info: detected topology value collision: driver reported "
              "\"topology.csi.example.com/zone\":\"z2\" but existing label is \"topology.csi.example.com/zone\":\"z1\"");
    EXPECT_EQ(api.find<CSINode>({"", "n1"})->spec.drivers.size(), 1u);
    EXPECT_EQ(run(node_info->install(Driver, other)).error().reason, Reason::Conflict);
    EXPECT_TRUE(run(node_info->set_limit(Driver, 3))) << "what was known of the driver is kept";
    EXPECT_EQ(api.find<CSINode>({"", "n1"})->spec.drivers.at(0).node_id, "node-1");
    EXPECT_EQ(api.find<CSINode>({"", "n1"})->spec.drivers.at(0).allocatable->count, 3);
}

TEST_F(CsiDriversTest, OfTwoDriversThatContradictEachOtherAtOnceTheSecondIsRefused) {
    start();
    std::vector<Task<>> both;
    for (const char* zone : {"z1", "z2"})
        both.push_back(node_info->install(std::string(zone) + ".example.com", {.node_id = zone, .topology = {{"example.com/zone", zone}}}));
    const auto results = run(when_all(std::move(both)));
    ASSERT_TRUE(results);
    EXPECT_TRUE(results->at(0));
    EXPECT_EQ(results->at(1).error().reason, Reason::Conflict);
    EXPECT_EQ(api.find<core::Node>({"", "n1"})->metadata.labels.at("example.com/zone"), "z1");
}

TEST_F(CsiDriversTest, ALabelOfTopologyThatSomebodyChangesIsNotChangedBack) {
    options.topology = {{"topology.csi.example.com/zone", "z1"}};
    start();
    api.change<core::Node>({"", "n1"}, [](core::Node& node) { node.metadata.labels["topology.csi.example.com/zone"] = "z3"; });
    EXPECT_TRUE(run(node_info->install("other.example.com", {.node_id = "node-2"})));
    EXPECT_EQ(api.find<core::Node>({"", "n1"})->metadata.labels.at("topology.csi.example.com/zone"), "z3");
}

TEST_F(CsiDriversTest, RegistrationIsRefusedWithTheReason) {
    start();
    PluginInfo other = info();
    other.socket += "2";
    EXPECT_THAT(run(drivers->add_plugin(other)).error().message, HasSubstr("Another driver with the same name is already registered"));
    other.name = "other.example.com";
    EXPECT_THAT(run(drivers->add_plugin(other)).error().message, HasSubstr("calls itself \"csi.example.com\""));
    other.name = "../x";
    EXPECT_THAT(run(drivers->add_plugin(other)).error().message, HasSubstr("not that of a CSI driver"));
    other.name = "other.example.com";
    other.versions = {"2.0.0", "x"};
    EXPECT_THAT(run(drivers->add_plugin(other)).error().message, HasSubstr("None of the versions"));
    EXPECT_EQ(api.find<CSINode>({"", "n1"})->spec.drivers.size(), 1u);
}

TEST_F(CsiDriversTest, ALimitThatChangesIsPublishedAsOftenAsTheDriversObjectSays) {
    options.most_volumes = 7;
    start();
    CsiLimits limits(loop, *drivers, driver_objects, log);
    Scope scope(loop);
    const auto count = [&] { return api.find<CSINode>({"", "n1"})->spec.drivers.at(0).allocatable->count; };
    driver->set_most_volumes(9);
    set_driver_object([](CSIDriverSpec& spec) { spec.node_allocatable_update_period_seconds = 1; });
    scope.spawn(limits.run());
    EXPECT_TRUE(run(loop.sleep(200ms)));
    EXPECT_EQ(count(), 7) << "not before its time";
    EXPECT_TRUE(until([&] { return count() == 9; }));
    EXPECT_TRUE(run(scope.close()));
}

TEST_F(CsiDriversTest, OnlyDriversWhoseObjectsWantItAreAskedForTheirLimitAgain) {
    start();
    CsiLimits limits(loop, *drivers, driver_objects, log);
    Scope scope(loop);
    scope.spawn(limits.run());
    EXPECT_TRUE(run(loop.sleep(100ms)));
    EXPECT_EQ(driver->count("NodeGetInfo"), 1u);
    EXPECT_TRUE(run(scope.close()));
}

TEST_F(CsiDriversTest, ThePeriodOfALimitMayBeAnyNumber) {
    start();
    set_driver_object([](CSIDriverSpec& spec) { spec.node_allocatable_update_period_seconds = INT64_MAX; });
    CsiLimits limits(loop, *drivers, driver_objects, log);
    Scope scope(loop);
    scope.spawn(limits.run());
    EXPECT_TRUE(run(loop.sleep(100ms)));
    EXPECT_EQ(driver->count("NodeGetInfo"), 1u);
    EXPECT_TRUE(run(scope.close()));
}

TEST_F(CsiDriversTest, TheCSINodeOfAnEarlierNodeIsReplaced) {
    CSINode old;
    old.metadata.name = "n1";
    old.metadata.owner_references.emplace_back().uid = "old";
    old.metadata.owner_references[0].kind = "Node";
    old.spec.drivers.emplace_back().name = "gone.example.com";
    api.put(old);
    start();
    const CSINode node = *api.find<CSINode>({"", "n1"});
    EXPECT_EQ(node.metadata.owner_references.at(0).uid, "node-uid");
    EXPECT_EQ(node.spec.drivers.size(), 1u);
}

TEST_F(CsiDriversTest, ADriverThatIsNotThereIsNamed) {
    start();
    EXPECT_TRUE(run(drivers->remove_plugin(info())));
    put_claim();
    EXPECT_EQ(set_up(pod("u1", Claim)),
              "MountVolume.MountDevice failed for volume \"pv1\" : kubernetes.io/csi: attacher.MountDevice failed to create "
              "newCsiDriverClient: driver name csi.example.com not found in the list of registered CSI drivers");
    EXPECT_EQ(tear_down("u1"), "") << "the pod can end without it";
    EXPECT_TRUE(run(drivers->add_plugin(info())));
}

TEST_F(CsiDriversTest, CallsAreCountedByDriverMethodAndStatus) {
    start();
    put_claim();
    driver->switches["NodePublishVolume"] = {.failure = net::GrpcStatus::Internal, .message = "no"};
    EXPECT_NE(set_up(pod("u1", Claim)), "");
    driver->switches.clear();
    EXPECT_EQ(set_up(pod("u1", Claim)), "");
    std::string text;
    drivers->metrics().append(text);
    const auto count = [](const char* status, const char* method) {
        return std::string("csi_operations_seconds_count{driver_name=\"csi.example.com\",grpc_status_code=\"") + status +
               "\",method_name=\"/csi.v1.Node/" + method + "\",migrated=\"false\"} ";
    };
    EXPECT_THAT(text, HasSubstr(count("OK", "NodeStageVolume") + "1\n"));
    EXPECT_THAT(text, HasSubstr(count("OK", "NodePublishVolume") + "1\n"));
    EXPECT_THAT(text, HasSubstr(count("Internal", "NodePublishVolume") + "1\n"));
}

TEST(CsiMetricsTest, NamesThatDriversChooseDoNotFillTheMemory) {
    CsiMetrics metrics;
    for (std::size_t i = 0; i < CsiMetrics::MostSeries + 10; ++i) metrics.add("d" + std::to_string(i), "/m", "OK", 1s);
    std::string text;
    metrics.append(text);
    EXPECT_THAT(text, HasSubstr("driver_name=\"d1023\""));
    EXPECT_THAT(text, Not(HasSubstr("driver_name=\"d1024\"")));
}

TEST_F(CsiDriversTest, AccessModesFollowWhatTheDriverKnows) {
    start();
    put_claim();
    ASSERT_EQ(set_up(pod("u1", Claim)), "");
    EXPECT_THAT(last("NodePublishVolume"), HasSubstr(R"("mode":1)"));
    EXPECT_EQ(tear_down("u1"), "");
    stop();
    options.capabilities.insert(NodeCapabilityType::SingleNodeMultiWriter);
    start();
    ASSERT_EQ(set_up(pod("u1", Claim)), "");
    EXPECT_THAT(last("NodePublishVolume"), HasSubstr(R"("mode":7)"));
    EXPECT_EQ(tear_down("u1"), "");
    put_claim([](core::PersistentVolume& volume) { volume.spec.access_modes = {"ReadWriteOncePod"}; });
    ASSERT_EQ(set_up(pod("u1", Claim)), "");
    EXPECT_THAT(last("NodePublishVolume"), HasSubstr(R"("mode":6)"));
    EXPECT_THAT(set_up(pod("u2", Claim)), HasSubstr("volume uses the ReadWriteOncePod access mode and is already in use by another pod"));
}

TEST_F(CsiDriversTest, ADriverThatHangsHoldsUpNoOther) {
    start();
    CsiDriver::Options second = options;
    second.name = "second.example.com";
    second.endpoint = folder.path + "/second.sock";
    CsiDriver other(loop, second);
    ASSERT_TRUE(other.start());
    PluginInfo other_info{"CSIPlugin", second.name, second.endpoint, {"1.0.0"}, "second"};
    ASSERT_TRUE(run(drivers->add_plugin(other_info)));
    CSIDriver object = *api.find<CSIDriver>({"", Driver});
    object.metadata.name = second.name;
    api.put(object);
    for (int i = 0; i < 100 && !driver_objects.find({"", second.name}); ++i) EXPECT_TRUE(run(loop.sleep(20ms)));
    driver->switches["NodePublishVolume"] = {.delay = 1s};
    Scope scope(loop);
    scope.spawn([](CsiDriversTest& test) -> Task<> {
        (void)co_await test.manager->set_up(
            pod("u1", R"([{"name":"v","csi":{"driver":"csi.example.com"}},{"name":"w","csi":{"driver":"second.example.com"}}])"), {});
        co_return {};
    }(*this));
    for (int i = 0; i < 100 && other.count("NodePublishVolume") == 0; ++i) EXPECT_TRUE(run(loop.sleep(20ms)));
    EXPECT_EQ(other.count("NodePublishVolume"), 1u);
    EXPECT_EQ(driver->count("NodePublishVolume"), 1u);
    driver->switches.clear();
    EXPECT_TRUE(run(scope.close())) << "the pod is deleted meanwhile";
    EXPECT_EQ(tear_down("u1"), "");
    EXPECT_EQ(driver->count("NodeUnpublishVolume"), 1u) << "what may have been published is taken down";
    EXPECT_EQ(other.count("NodeUnpublishVolume"), 1u);
    EXPECT_TRUE(run(drivers->remove_plugin(other_info)));
    EXPECT_TRUE(run(other.close()));
}

}  // namespace
}  // namespace porthole::kubelet
