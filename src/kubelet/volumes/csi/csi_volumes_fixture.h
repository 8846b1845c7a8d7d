#pragma once
#include "kubelet/volumes/csi/csi_volumes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/events.h"
#include "client/fake/fake_api.h"
#include "csi/csi_driver.h"
#include "kubelet/plugins/fake_plugin_fixture.h"
#include "kubelet/plugins/plugin_connection_grpc.h"
#include "kubelet/sim/fake_node.h"
#include "kubelet/volumes/framework/token_source.h"
#include "kubelet/volumes/selinux/selinux_contexts.h"
#include "kubelet/volumes/volume_manager.h"
#include "objects/csi_volume.h"
#include "runtime/run_task.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::kubelet {

using namespace std::chrono_literals;
using namespace api::storage::v1;
using api::csi::v1::NodeCapabilityType;
using porthole::testing::CsiDriver;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

inline constexpr const char* Driver = "csi.example.com";
inline constexpr const char* InUse = "kubernetes.io/csi/csi.example.com^h1";

/// Secrets set by the test.
struct Secrets final : ObjectSource {
    std::map<std::string, core::Secret> secrets;
    Task<std::shared_ptr<const core::ConfigMap>> config_map(std::string, std::string name) override {
        co_return Error(Reason::NotFound, "configmap \"" + name + "\" not found");
    }
    Task<std::shared_ptr<const core::Secret>> secret(std::string, std::string name) override {
        if (!secrets.contains(name)) co_return Error(Reason::NotFound, "secrets \"" + name + "\" not found");
        co_return std::make_shared<const core::Secret>(secrets[name]);
    }
};

/// Tokens that name their audience.
struct Tokens final : TokenSource {
    Task<ServiceAccountToken> token(std::shared_ptr<const core::Pod>, std::string audience, std::int64_t) override {
        co_return ServiceAccountToken{"token-for-" + audience, {}};
    }
    void forget_pod(const std::string&) override {}
};

/// A node "n1" with a driver that listens on real sockets and uses plain directories as volumes; the API is a fake.
struct CsiVolumesTest : ::testing::Test {
    CsiVolumesTest() {
        options.endpoint = folder.path + "/csi.sock";
        options.storage = folder.path + "/storage";
        options.mounts = false;
        options.capabilities = {NodeCapabilityType::StageUnstageVolume};
        core::Node node;
        node.metadata.name = "n1";
        node.metadata.uid = "node-uid";
        api.put(node);
        informers.start();
        set_driver_object([](CSIDriverSpec& spec) { spec.attach_required = false; });
    }
    ~CsiVolumesTest() override {
        stop();
        EXPECT_TRUE(run(informers.close()));
    }

    /// Starts the kubelet's part, and the driver; after stop_kubelet() again on the same directory.
    void start() {
        driver = std::make_unique<CsiDriver>(loop, options);
        ASSERT_TRUE(driver->start());
        start_kubelet();
    }
    void start_kubelet() {
        host.selinux = selinux.get();
        node_info = std::make_unique<CsiNodeInfo>(client, log, "n1");
        drivers = std::make_unique<CsiDrivers>(loop, *connector, *node_info);
        csi = std::make_unique<CsiVolumes>(CsiVolumes::Services{
            .host = host,
            .api = volume_api,
            .drivers = *drivers,
            .driver_objects = driver_objects,
            .log = log,
            .node_name = "n1",
            .root = folder.path + "/k",
            .node = [this] { return std::make_shared<const core::Node>(stale_node ? *stale_node : *api.find<core::Node>({"", "n1"})); },
            .report_node =
                [this] {
                    if (reports)
                        api.change<core::Node>({"", "n1"}, [&](core::Node& node) { node.status.volumes_in_use = csi->volumes_in_use(); });
                },
            .has_csi_proxy = has_csi_proxy,
            .attach_limit = attach_limit});
        manager = std::make_unique<VolumeManager>(VolumeDependencies{host, volume_api, {.csi = csi.get()}}, log, folder.path + "/k");
        const auto added = run(drivers->add_plugin(info()));
        EXPECT_TRUE(added) << added.error().message;
    }
    void stop_kubelet() {
        EXPECT_TRUE(run(csi->close()));
        EXPECT_TRUE(run(drivers->remove_plugin(info())));
        manager.reset();
        csi.reset();
        drivers.reset();
        node_info.reset();
    }
    void stop() {
        if (!driver) return;
        stop_kubelet();
        EXPECT_TRUE(run(driver->close()));
        driver.reset();
    }
    PluginInfo info() const { return {"CSIPlugin", options.name, options.endpoint, {"1.0.0"}, folder.path + "/reg.sock"}; }
    template <class T>
    Result<T> run(Task<T> task) {
        return run_task(loop, std::move(task));
    }

    /// A driver that requires attachment, and its claim's volume, which is attached, or failed to be with `error`.
    VolumeAttachment start_attached(const std::string& error = "") {
        set_driver_object([](CSIDriverSpec& spec) { spec.attach_required = true; });
        start();
        put_claim();
        api.change<core::Node>({"", "n1"}, [](core::Node& node) { node.status.volumes_attached.emplace_back().name = InUse; });
        VolumeAttachment attachment;
        attachment.metadata.name = objects::attachment_name(Driver, "h1", "n1");
        attachment.status.attached = error.empty();
        if (!error.empty()) attachment.status.attach_error.emplace().message = error;
        api.put(attachment);
        return attachment;
    }
    void set_driver_object(const std::function<void(CSIDriverSpec&)>& set, const std::string& name = Driver) {
        CSIDriver object;
        object.metadata.name = name;
        object.spec.volume_lifecycle_modes = {"Persistent", "Ephemeral"};
        object.spec.fs_group_policy = "File";
        object.spec.pod_info_on_mount = true;
        set(object.spec);
        api.put(object);
        EXPECT_TRUE(run([](CsiVolumes::DriverObjects& informer, AsioLoop& loop, std::string name, CSIDriverSpec wanted) -> Task<> {
            for (int i = 0; i < 12000; ++i) {
                const auto seen = informer.find({"", name});
                if (seen && seen->spec == wanted) co_return {};
                CO_TRY_VOID(co_await loop.sleep(5ms));
            }
            co_return Error(Reason::Timeout, "not seen");
        }(driver_objects, loop, name, object.spec)));
    }
    /// A claim "data" that is bound to the volume "pv1" of the driver.
    void put_claim(const std::function<void(core::PersistentVolume&)>& set = [](auto&) {}) {
        core::PersistentVolumeClaim claim;
        claim.metadata.name = "data";
        claim.metadata.namespace_ = "ns";
        claim.metadata.uid = "claim-uid";
        claim.spec.volume_name = "pv1";
        claim.status.phase = "Bound";
        claim.status.capacity["storage"] = Quantity::from_value(1 << 20);
        api.put(claim);
        core::PersistentVolume volume;
        volume.metadata.name = "pv1";
        volume.spec.capacity["storage"] = Quantity::from_value(1 << 20);
        volume.spec.access_modes = {"ReadWriteOnce"};
        volume.spec.claim_ref.emplace().uid = "claim-uid";
        auto& source = volume.spec.csi.emplace();
        source.driver = Driver;
        source.volume_handle = "h1";
        source.volume_attributes = {{"a", "b"}};
        set(volume);
        api.put(volume);
    }
    static std::shared_ptr<const core::Pod> pod(const std::string& uid, const std::string& volumes, bool device = false) {
        core::Pod made = schema::decode_json<core::Pod>(R"({"metadata":{"name":"p","namespace":"ns","uid":")" + uid +
                                                        R"("},"spec":{"volumes":)" + volumes + "}}")
                             .value();
        core::Container& container = made.spec.containers.emplace_back();
        container.name = "c";
        for (const core::Volume& volume : made.spec.volumes) {
            if (device) {
                auto& use = container.volume_devices.emplace_back();
                use.name = volume.name;
                use.device_path = "/dev/x";
            } else {
                auto& use = container.volume_mounts.emplace_back();
                use.name = volume.name;
                use.mount_path = "/" + volume.name;
            }
        }
        return std::make_shared<const core::Pod>(std::move(made));
    }
    std::string set_up(const std::shared_ptr<const core::Pod>& which) {
        const auto made = run(manager->set_up(which, {}));
        return made ? "" : made.error().message;
    }
    std::string tear_down(const std::string& uid) {
        const auto done = run(manager->tear_down(uid));
        return done ? "" : done.error().message;
    }
    bool until(const std::function<bool()>& holds) {
        for (int i = 0; i < 6000 && !holds(); ++i) EXPECT_TRUE(run(loop.sleep(10ms)));
        return holds();
    }
    /// Runs background tasks to their end: they need turns of the loop, and a sleep has only one, however long it is.
    void settle() {
        constexpr int Turns = 100;
        for (int i = 0; i < Turns; ++i) EXPECT_TRUE(run(loop.sleep(1ms)));
    }
    /// Whether nothing is staged after a short time.
    bool unstaged() {
        const std::string above = root() + "/plugins/kubernetes.io/csi/" + Driver;
        return until([&] { return folder.files->list(above).value_or(std::vector<std::string>()).empty(); });
    }
    std::vector<std::string> methods() const {
        std::vector<std::string> names;
        for (const auto& call : driver->calls)
            if (call.method != "GetPluginInfo" && call.method != "NodeGetInfo" && call.method != "NodeGetCapabilities")
                names.push_back(call.method);
        return names;
    }
    std::string last(const std::string& method) const {
        std::string found;
        for (const auto& call : driver->calls)
            if (call.method == method) found = call.request;
        return found;
    }
    std::string root() const { return folder.path + "/k"; }
    bool exists(const std::string& path) { return folder.files->exists(root() + path); }

    AsioLoop loop;
    testing::TemporaryFolder folder{"csi"};
    SeededRandom random{1};
    std::unique_ptr<WorkerPool> threads = make_thread_pool(1);
    WorkerPool& pool = *threads;
    sim::FakeMounter mounter;
    client::FakeApi api{loop};
    client::Client client{api};
    Logger log{make_null_sink(), "csi"};
    client::Informers informers{{loop, client, random, log}};
    CsiVolumes::DriverObjects& driver_objects = informers.get<CSIDriver>();
    client::EventRecorder events{loop, client, log, "kubelet", "n1"};
    Secrets secrets;
    Tokens tokens;
    VolumeHost host{.loop = loop, .random = random, .files = *folder.files, .workers = pool, .mounter = mounter};
    VolumeApi volume_api{.client = client, .events = events, .objects = secrets, .tokens = tokens};
    std::unique_ptr<PluginConnector> connector = make_plugin_connector(loop);
    CsiDriver::Options options;
    std::unique_ptr<CsiDriver> driver;
    std::unique_ptr<CsiNodeInfo> node_info;
    std::unique_ptr<CsiDrivers> drivers;
    std::unique_ptr<CsiVolumes> csi;
    std::unique_ptr<VolumeManager> manager;
    std::function<bool()> has_csi_proxy;       ///< of a Windows node
    std::unique_ptr<SelinuxContexts> selinux;  ///< null on a node without it
    Duration attach_limit = 2min;
    bool reports = true;
    std::optional<core::Node> stale_node;  ///< the kubelet's outdated copy of the node, if set
};

inline constexpr const char* Claim = R"([{"name":"v","persistentVolumeClaim":{"claimName":"data"}}])";
inline constexpr const char* Inline = R"([{"name":"v","csi":{"driver":"csi.example.com","volumeAttributes":{"k":"1"}}}])";

}  // namespace porthole::kubelet
