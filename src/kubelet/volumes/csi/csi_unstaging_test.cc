// Volumes that no pod wants any longer, in virtual time.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/events.h"
#include "client/fake/fake_api.h"
#include "kubelet/plugins/plugin_connection.h"
#include "kubelet/sim/fake_node.h"
#include "kubelet/volumes/busy_workers_fixture.h"
#include "kubelet/volumes/csi/csi_volumes.h"
#include "kubelet/volumes/framework/token_source.h"
#include "net/grpc/grpc.h"
#include "objects/csi_volume.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace csi = api::csi::v1;

constexpr const char* Driver = "csi.example.com";
constexpr const char* InUse = "kubernetes.io/csi/csi.example.com^h1";

/// A driver that stages volumes; its calls take the time and fail as the test says.
struct FakeDriver final : PluginConnector {
    explicit FakeDriver(EventLoop& of) : loop(of) {}

    struct Connection final : PluginConnection {
        explicit Connection(FakeDriver& of) : driver(of) {}
        Task<std::string> call(std::string method, std::string, Duration) override {
            return driver.answer(method.substr(method.rfind('/') + 1));
        }
        Task<> close() override { co_return {}; }
        FakeDriver& driver;
    };
    std::unique_ptr<PluginConnection> connect(const std::string&) override { return std::make_unique<Connection>(*this); }
    Task<> reach(std::string) override { co_return {}; }

    Task<std::string> answer(std::string method) {
        if (method == "GetPluginInfo") {
            csi::GetPluginInfoResponse info;
            info.name = Driver;
            co_return schema::encode_protobuf(info);
        }
        if (method == "NodeGetCapabilities") {
            csi::NodeGetCapabilitiesResponse capabilities;
            capabilities.capabilities.emplace_back().rpc.emplace().type = csi::NodeCapabilityType::StageUnstageVolume;
            co_return schema::encode_protobuf(capabilities);
        }
        if (method == "NodeGetInfo") {
            csi::NodeGetInfoResponse info;
            info.node_id = "n1";
            co_return schema::encode_protobuf(info);
        }
        calls.push_back(method);
        EXPECT_FALSE(busy) << "one thing after the other";
        busy = true;
        auto slept = co_await loop.sleep(takes);
        busy = false;
        if (!slept) co_return slept.error();
        if (failing == method) co_return net::error_of_grpc(status, "not now");
        co_return std::string();
    }
    std::size_t count(const std::string& method) const { return static_cast<std::size_t>(std::ranges::count(calls, method)); }

    EventLoop& loop;
    std::vector<std::string> calls;
    std::string failing;
    net::GrpcStatus status = net::GrpcStatus::Internal;
    Duration takes{};
    bool busy = false;
};

struct NoObjects final : ObjectSource {
    Task<std::shared_ptr<const core::ConfigMap>> config_map(std::string, std::string) override { co_return Error(Reason::NotFound, ""); }
    Task<std::shared_ptr<const core::Secret>> secret(std::string, std::string) override { co_return Error(Reason::NotFound, ""); }
};
struct NoTokens final : TokenSource {
    Task<ServiceAccountToken> token(std::shared_ptr<const core::Pod>, std::string, std::int64_t) override {
        co_return Error(Reason::NotFound, "");
    }
    void forget_pod(const std::string&) override {}
};

/// A node "n1" to which the volume "h1" is attached.
struct CsiUnstagingTest : ::testing::Test {
    CsiUnstagingTest() {
        core::Node node;
        node.metadata.name = "n1";
        node.metadata.uid = "node-uid";
        node.status.volumes_in_use = {InUse};
        node.status.volumes_attached.emplace_back().name = InUse;
        api.put(node);
        api::storage::v1::VolumeAttachment attachment;
        attachment.metadata.name = objects::attachment_name(Driver, "h1", "n1");
        attachment.status.attached = true;
        api.put(attachment);
        informers.start();
        start_kubelet();
        register_driver();
    }
    ~CsiUnstagingTest() override {
        stop_kubelet();
        EXPECT_TRUE(porthole::sim::run(loop, informers.close()));
    }

    void start_kubelet() {
        host.emplace(VolumeHost{.loop = loop, .random = random, .files = files, .workers = *workers, .mounter = mounter});
        node_info = std::make_unique<CsiNodeInfo>(client, log, "n1");
        drivers = std::make_unique<CsiDrivers>(loop, driver, *node_info);
        volumes = std::make_unique<CsiVolumes>(CsiServices{.host = *host,
                                                           .api = volume_api,
                                                           .drivers = *drivers,
                                                           .driver_objects = informers.get<api::storage::v1::CSIDriver>(),
                                                           .log = log,
                                                           .node_name = "n1",
                                                           .root = "/k",
                                                           .node = [this] { return api_node(); },
                                                           .report_node = [this] { ++reports; }});
    }
    void register_driver() { EXPECT_EQ(result_of(drivers->add_plugin({"CSIPlugin", Driver, "/s", {"1.0.0"}, "/r"})), ""); }
    void stop_kubelet() {
        EXPECT_TRUE(porthole::sim::run(loop, volumes->close()));
        volumes.reset();
        EXPECT_TRUE(porthole::sim::run(loop, drivers->remove_plugin({"CSIPlugin", Driver, "/s", {"1.0.0"}, "/r"})));
        drivers.reset();
        node_info.reset();
    }
    std::shared_ptr<const core::Node> api_node() { return std::make_shared<const core::Node>(*api.find<core::Node>({"", "n1"})); }

    CsiVolume volume() const {
        CsiVolume wanted;
        wanted.name = "pv1";
        wanted.driver = Driver;
        wanted.handle = "h1";
        wanted.is_block = is_block;
        wanted.context = context;
        return wanted;
    }
    /// `uid` by value: the task outlives the call.
    Task<> set_up_task(std::string uid) {
        auto pod = std::make_shared<core::Pod>();
        pod->metadata.uid = uid;
        VolumeStep step{"", ""};
        core::Volume of_pod;
        of_pod.name = "v";
        const VolumeRequest request{.pod = pod, .volume = of_pod, .step = step};
        CO_TRY(const MountedVolume mounted, co_await volumes->set_up(request, volume()));
        EXPECT_EQ(mounted.is_block, is_block);
        co_return {};
    }
    /// "", or what failed.
    std::string result_of(Task<> task) {
        const auto done = porthole::sim::run(loop, std::move(task));
        return done ? "" : done.error().message;
    }
    std::string set_up(const std::string& uid) { return result_of(set_up_task(uid)); }
    std::string tear_down(const std::string& uid) { return result_of(volumes->tear_down(uid)); }
    bool has_pod_files(const std::string& uid) {
        const std::string folder = "/k/pods/" + uid + (is_block ? "/volumeDevices/" : "/volumes/") + "kubernetes.io~csi/pv1";
        return files.link_status(folder).has_value();
    }
    /// What says that the pod "u1" has the volume, and that it is staged.
    std::vector<std::string> records() {
        std::vector<std::string> paths;
        if (is_block) paths.push_back("/k/plugins/kubernetes.io/csi/volumeDevices/pv1/data/vol_data.json");
        if (!is_block) paths.push_back("/k/pods/u1/volumes/kubernetes.io~csi/pv1/vol_data.json");
        const std::string staged = std::string("/k/plugins/kubernetes.io/csi/") + Driver;
        for (const std::string& name : is_block ? std::vector<std::string>() : staged_files())
            paths.push_back(staged + "/" + name + "/vol_data.json");
        std::erase_if(paths, [&](const std::string& path) { return !files.exists(path); });
        return paths;
    }
    std::vector<std::string> staged_files() {
        const std::string above = std::string("/k/plugins/kubernetes.io/csi/") + (is_block ? "volumeDevices/staging" : Driver);
        return files.list(above).value_or(std::vector<std::string>());
    }

    porthole::sim::SimLoop loop;
    porthole::sim::SimWorkerPool pool{loop};
    WorkerPool* workers = &pool;
    SeededRandom random{1};
    porthole::sim::MemoryFileSystem files{loop};
    sim::FakeMounter mounter;
    client::FakeApi api{loop};
    client::Client client{api};
    Logger log{make_null_sink(), "csi"};
    client::Informers informers{{loop, client, random, log}};
    client::EventRecorder events{loop, client, log, "kubelet", "n1"};
    NoObjects objects;
    NoTokens tokens;
    std::optional<VolumeHost> host;
    VolumeApi volume_api{.client = client, .events = events, .objects = objects, .tokens = tokens};
    FakeDriver driver{loop};
    std::unique_ptr<CsiNodeInfo> node_info;
    std::unique_ptr<CsiDrivers> drivers;
    std::unique_ptr<CsiVolumes> volumes;
    int reports = 0;
    bool is_block = false;
    std::string context;  ///< of SELinux, of the volumes of further pods
};

TEST_F(CsiUnstagingTest, APodIsGoneBeforeItsVolumeIsUnstaged) {
    for (const bool block : {false, true}) {
        SCOPED_TRACE(block ? "a device" : "a mount");
        is_block = block;
        driver.calls.clear();
        ASSERT_EQ(set_up("u1"), "");
        driver.failing = "NodeUnstageVolume";
        EXPECT_EQ(tear_down("u1"), "");
        EXPECT_FALSE(has_pod_files("u1"));
        loop.run_ready();
        EXPECT_EQ(driver.count("NodeUnstageVolume"), 1u);
        EXPECT_FALSE(staged_files().empty()) << "it may be staged yet";
        EXPECT_THAT(volumes->volumes_in_use(), ElementsAre(InUse)) << "no one may detach it";
        driver.failing.clear();
        reports = 0;
        loop.advance(1s);
        EXPECT_EQ(driver.count("NodeUnstageVolume"), 2u);
        EXPECT_THAT(staged_files(), IsEmpty());
        EXPECT_THAT(volumes->volumes_in_use(), IsEmpty());
        EXPECT_GT(reports, 0);
    }
}

TEST_F(CsiUnstagingTest, UnstagingIsTriedAgainLessAndLessOften) {
    ASSERT_EQ(set_up("u1"), "");
    driver.failing = "NodeUnstageVolume";
    EXPECT_EQ(tear_down("u1"), "");
    loop.run_ready();
    EXPECT_EQ(driver.count("NodeUnstageVolume"), 1u);
    for (const Duration pause : {500ms, 1000ms, 2000ms, 4000ms}) {
        const std::size_t before = driver.count("NodeUnstageVolume");
        loop.advance(pause - 1ms);
        EXPECT_EQ(driver.count("NodeUnstageVolume"), before);
        loop.advance(1ms);
        EXPECT_EQ(driver.count("NodeUnstageVolume"), before + 1);
    }
    loop.advance(1h);
    const std::size_t before = driver.count("NodeUnstageVolume");
    loop.advance(122s);
    EXPECT_EQ(driver.count("NodeUnstageVolume"), before + 1) << "at most about every two minutes";
}

TEST_F(CsiUnstagingTest, APodThatComesWhileUnstagingFailsHasTheVolumeStagedAgain) {
    for (const auto status : {net::GrpcStatus::Internal, net::GrpcStatus::DeadlineExceeded}) {
        driver.calls.clear();
        driver.status = status;
        ASSERT_EQ(set_up("u1"), "");
        driver.failing = "NodeUnstageVolume";
        EXPECT_EQ(tear_down("u1"), "");
        loop.advance(5min);
        const std::size_t asked = driver.count("NodeUnstageVolume");
        EXPECT_EQ(set_up("u2"), "");
        EXPECT_EQ(driver.count("NodeStageVolume"), 2u) << "how far the driver came is not known";
        loop.advance(5min);
        EXPECT_EQ(driver.count("NodeUnstageVolume"), asked) << "a pod has it";
        driver.failing.clear();
        EXPECT_EQ(tear_down("u2"), "");
        loop.run_ready();
        EXPECT_EQ(driver.count("NodeUnstageVolume"), asked + 1) << "without a pause";
        EXPECT_THAT(staged_files(), IsEmpty());
        loop.advance(5min);
        EXPECT_EQ(driver.count("NodeUnstageVolume"), asked + 1);
    }
}

TEST_F(CsiUnstagingTest, APodThatComesDuringAnUnstagingWaitsForIt) {
    ASSERT_EQ(set_up("u1"), "");
    driver.takes = 10s;
    EXPECT_EQ(tear_down("u1"), "");
    loop.advance(5s);
    EXPECT_EQ(driver.calls.back(), "NodeUnstageVolume");
    const MonotonicTime before = loop.now();
    EXPECT_EQ(set_up("u2"), "");
    EXPECT_THAT(driver.calls, ElementsAre("NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeUnstageVolume",
                                          "NodeStageVolume", "NodePublishVolume"));
    EXPECT_EQ(loop.now() - before, 25s);
    EXPECT_THAT(volumes->volumes_in_use(), ElementsAre(InUse));
    EXPECT_FALSE(staged_files().empty());
}

TEST_F(CsiUnstagingTest, AVolumeThatAnotherPodHasStaysStaged) {
    ASSERT_EQ(set_up("u1"), "");
    ASSERT_EQ(set_up("u2"), "");
    EXPECT_EQ(tear_down("u1"), "");
    loop.advance(5min);
    EXPECT_EQ(driver.count("NodeUnstageVolume"), 0u);
    EXPECT_EQ(tear_down("u2"), "");
    loop.run_ready();
    EXPECT_EQ(driver.count("NodeUnstageVolume"), 1u);
}

TEST_F(CsiUnstagingTest, AKubeletThatStartsUnstagesWhatNoPodWants) {
    for (const bool block : {false, true}) {
        SCOPED_TRACE(block ? "a device" : "a mount");
        is_block = block;
        driver.calls.clear();
        ASSERT_EQ(set_up("u1"), "");
        driver.takes = 1min;
        EXPECT_EQ(tear_down("u1"), "");
        loop.advance(1s);
        EXPECT_EQ(driver.count("NodeUnstageVolume"), 1u);
        stop_kubelet();
        driver.takes = {};
        start_kubelet();
        EXPECT_THAT(volumes->volumes_in_use(), ElementsAre(InUse)) << "from the start";
        loop.advance(10min);
        EXPECT_THAT(volumes->volumes_in_use(), ElementsAre(InUse)) << "its driver is not there yet";
        register_driver();
        loop.advance(122s);
        EXPECT_EQ(driver.count("NodeUnstageVolume"), 2u);
        EXPECT_THAT(volumes->volumes_in_use(), IsEmpty());
        EXPECT_THAT(staged_files(), IsEmpty());
    }
}

TEST_F(CsiUnstagingTest, AWorkerLooksAtWhatAnEarlierKubeletStaged) {
    ASSERT_EQ(set_up("u1"), "");
    driver.takes = 1min;
    EXPECT_EQ(tear_down("u1"), "");
    loop.advance(1s);
    stop_kubelet();
    driver.takes = {};
    driver.calls.clear();
    BusyWorkers busy(loop);
    workers = &busy;
    start_kubelet();
    register_driver();
    loop.advance(10min);
    EXPECT_EQ(driver.count("NodeUnstageVolume"), 0u) << "its server may be away";
    busy.release();
    loop.advance(10min);
    EXPECT_EQ(driver.count("NodeUnstageVolume"), 1u);
}

TEST_F(CsiUnstagingTest, AKubeletThatStartsLeavesWhatPodsHave) {
    ASSERT_EQ(set_up("u1"), "");
    stop_kubelet();
    start_kubelet();
    register_driver();
    loop.advance(10min);
    EXPECT_EQ(driver.count("NodeUnstageVolume"), 0u);
}

TEST_F(CsiUnstagingTest, WhatAKilledKubeletWasWritingKeepsNoPodAndNoVolume) {
    for (const bool block : {false, true}) {
        SCOPED_TRACE(block ? "a device" : "a mount");
        is_block = block;
        ASSERT_EQ(set_up("u1"), "");
        for (const std::string& path : records()) ASSERT_TRUE(files.write(path + ".new", "{", 0600));
        EXPECT_EQ(tear_down("u1"), "");
        EXPECT_FALSE(has_pod_files("u1"));
        loop.advance(1s);
        EXPECT_THAT(staged_files(), IsEmpty());
        EXPECT_THAT(records(), IsEmpty());
    }
}

TEST_F(CsiUnstagingTest, RecordsThatAPowerFailureEmptiedKeepNoPod) {
    for (const bool block : {false, true}) {
        SCOPED_TRACE(block ? "a device" : "a mount");
        is_block = block;
        ASSERT_EQ(set_up("u1"), "");
        ASSERT_EQ(set_up("u2"), "");
        stop_kubelet();
        files.cut_power();
        start_kubelet();
        register_driver();
        EXPECT_EQ(tear_down("u1"), "");
        EXPECT_EQ(set_up("u2"), "") << "as after every restart of the machine";
        EXPECT_EQ(tear_down("u2"), "");
        loop.advance(1s);
        EXPECT_THAT(staged_files(), IsEmpty());
    }
}

TEST_F(CsiUnstagingTest, NothingIsUnstagedAtAStartThatCannotReadWhatPodsHave) {
    ASSERT_EQ(set_up("u1"), "");
    ASSERT_TRUE(files.write("/k/pods/u1/volumes/kubernetes.io~csi/pv1/vol_data.json", "torn", 0600));
    stop_kubelet();
    start_kubelet();
    register_driver();
    loop.advance(10min);
    EXPECT_EQ(driver.count("NodeUnstageVolume"), 0u);
    EXPECT_THAT(volumes->volumes_in_use(), ElementsAre(InUse));
}

constexpr const char* OtherContext =
    "waiting for unmount of volume \"kubernetes.io/csi/csi.example.com^h1\", because it is already mounted to a "
    "different pod with a different SELinux label";

TEST_F(CsiUnstagingTest, AVolumeGetsAnotherSelinuxContextOnlyAfterItWasUnstaged) {
    context = "a";
    ASSERT_EQ(set_up("u1"), "");
    context = "b";
    EXPECT_EQ(set_up("u2"), OtherContext);
    driver.failing = "NodeUnstageVolume";
    ASSERT_EQ(tear_down("u1"), "");
    ASSERT_EQ(result_of(loop.sleep(100ms)), "");
    EXPECT_EQ(set_up("u2"), OtherContext);
    driver.failing.clear();
    ASSERT_EQ(result_of(loop.sleep(1s)), "") << "unstaging goes on although the pod waits";
    EXPECT_EQ(set_up("u2"), "");
    EXPECT_THAT(driver.calls, ElementsAre("NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeUnstageVolume",
                                          "NodeUnstageVolume", "NodeStageVolume", "NodePublishVolume"));
}

TEST_F(CsiUnstagingTest, AKubeletThatStartsKnowsTheSelinuxContextOfWhatPodsHave) {
    context = "a";
    ASSERT_EQ(set_up("u1"), "");
    stop_kubelet();
    start_kubelet();
    register_driver();
    context = "b";
    EXPECT_EQ(set_up("u2"), OtherContext);
    EXPECT_EQ(set_up("u1"), "") << "which keeps what it has";
    const auto data = read_csi_volume_data(files, "/k/pods/u1/volumes/kubernetes.io~csi/pv1");
    ASSERT_TRUE(data);
    EXPECT_EQ(data->context, "a");
}

}  // namespace
}  // namespace porthole::kubelet
