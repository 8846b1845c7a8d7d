// The pods of a node and what they leave, without a kubelet: nothing syncs them.
#include "kubelet/pod_manager.h"

#include "kubelet/pod_housekeeping.h"
#include "kubelet/pod_syncer_fixture.h"
#include "kubelet/sim/fake_runtime.h"
#include "kubelet/volumes/volumes_fixture.h"

namespace porthole::kubelet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct PodManagerTest : VolumesTest {
    PodManagerTest() { node.log_root = "/logs"; }
    ~PodManagerTest() override {
        EXPECT_TRUE(porthole::sim::run(loop, scope.close()));
        EXPECT_TRUE(porthole::sim::run(loop, housekeeping.close()));
        EXPECT_TRUE(porthole::sim::run(loop, pods.close()));
        EXPECT_TRUE(porthole::sim::run(loop, probes.close()));
    }
    static std::shared_ptr<const core::Pod> named(const std::string& uid) {
        auto pod = std::make_shared<core::Pod>();
        pod->metadata.uid = pod->metadata.name = uid;
        pod->metadata.namespace_ = "ns";
        return pod;
    }
    /// A pod of an earlier kubelet, whose sandbox runs.
    void run_sandbox(const std::string& uid) {
        ASSERT_TRUE(files.create_directories("/k/pods/" + uid, 0750));
        cri::RunPodSandboxRequest request;
        request.config.emplace().metadata.emplace() = {.name = uid, .uid = uid, .namespace_ = "ns"};
        request.config->labels[PodUidLabel] = uid;
        ASSERT_TRUE(porthole::sim::run(loop, runtime.run_pod_sandbox(std::move(request))));
    }
    void begin() {
        scope.spawn(pleg.run());
        scope.spawn(housekeeping.run());
    }
    std::unique_ptr<PodWorker> make_worker(std::shared_ptr<const core::Pod> pod) {
        made.push_back(pod->metadata.uid);
        auto syncer = std::make_unique<FakeSyncer>(loop);
        syncer->time = step;
        return std::make_unique<PodWorker>(random, Logger(make_null_sink(), ""), std::move(syncer), std::move(pod));
    }

    NodeFacts node;
    AdmissionContext admission{.allocatable = {{"pods", Quantity::from_value(110)}}, .operating_system = "linux"};
    Duration step = Duration::zero();
    std::vector<std::string> made;  ///< workers, by uid
    sim::FakeRuntime runtime{loop};
    sim::FakeProber prober;
    NoCgroups cgroups;
    client::Informers informers{{loop, client, random, Logger(make_null_sink(), "")}};
    ProbeManager probes{{loop, random, runtime, prober, events}, [](const std::string&) {}};
    PodFootprint footprint{files, cgroups, manager, node};
    PodDevices pod_devices{nullptr, nullptr, events};
    PodReferences references{client, objects, informers.get<core::Service>(), events};
    PodPreparer preparer{node, footprint, pod_devices, references, nullptr, events};
    StatusManager statuses{loop, client, Logger(make_null_sink(), "")};
    PodReporter reporter{loop, node, probes, pod_devices, statuses, events};
    StateReader reader{runtime, files, Platform{}};
    LogLinks links{files, "", Logger(make_null_sink(), "")};
    ContainerGc gc{runtime, files, links, Logger(make_null_sink(), ""), "/logs"};
    Pleg pleg{loop, reader, {.changed = [this](const std::string& uid) { pods.wake(uid); }, .listed = [this] { pods.end_unknown(); }}};
    PodManager pods{loop,
                    Logger(make_null_sink(), ""),
                    node,
                    pleg,
                    reporter,
                    events,
                    [this](auto pod) { return make_worker(pod); },
                    [this] { return admission; }};
    PodHousekeeping housekeeping{loop, Logger(make_null_sink(), ""), pods, pleg, gc, footprint, preparer};
    Scope scope{loop};
};

TEST_F(PodManagerTest, APodThatTheNodeCannotRunIsReportedAndItsWorkerDoesNotRun) {
    auto pod = std::make_shared<core::Pod>(*named("u"));
    pod->spec.os.emplace().name = "windows";
    pods.update(pod);
    loop.advance(1s);
    EXPECT_EQ(statuses.find("u")->phase, core::PodPhase::Failed);
    EXPECT_EQ(statuses.find("u")->reason, "PodOSNotSupported");
    EXPECT_THAT(pods.active(), IsEmpty());
    EXPECT_THAT(pods.removable(), IsEmpty()) << "its source has it still";
    pods.remove("u");
    EXPECT_THAT(pods.removable(), ElementsAre("u"));
}

TEST_F(PodManagerTest, APodThatIsNamedAgainWhileItEndsBeginsOnceNothingIsLeft) {
    step = 5s;
    pods.update(named("u"));
    pods.remove("u");
    pods.update(named("u"));
    EXPECT_THAT(pods.pods(), IsEmpty());
    ASSERT_TRUE(files.create_directories("/logs/ns_u_u", 0755));
    begin();
    loop.advance(9s);
    EXPECT_THAT(made, ElementsAre("u")) << "it is stopped and cleaned up";
    loop.advance(4s);
    EXPECT_THAT(made, ElementsAre("u", "u"));
    EXPECT_FALSE(files.exists("/logs/ns_u_u"));
    EXPECT_EQ(pods.active().size(), 1u);
}

TEST_F(PodManagerTest, PodsThatNoSourceNamesEndOnceAllSourcesAreRead) {
    run_sandbox("u");
    begin();
    loop.advance(5s);
    EXPECT_FALSE(pods.is_known("u"));
    pods.set_sources_ready();
    loop.advance(1s);
    ASSERT_TRUE(pods.find("u"));
    EXPECT_TRUE(pods.find("u")->is_terminating());
}

TEST_F(PodManagerTest, WhatNoOneKnowsIsKeptUntilTheRuntimeHasListed) {
    ASSERT_TRUE(files.create_directories("/k/pods/u", 0750));
    runtime.fault = [](const std::string&) { return Error(Reason::Unavailable, "gone"); };
    pods.set_sources_ready();
    begin();
    loop.advance(2min);
    EXPECT_TRUE(files.exists("/k/pods/u"));
    runtime.fault = nullptr;
    loop.advance(5s);
    EXPECT_FALSE(files.exists("/k/pods/u"));
}

}  // namespace
}  // namespace porthole::kubelet
