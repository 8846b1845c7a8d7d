#include "kubelet/device_plugins/device_plugins.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
namespace core = api::core::v1;
namespace plugin = api::deviceplugin::v1beta1;

constexpr const char *Folder = "/k/device-plugins", *Gpu = "vendor.com/gpu";

/// A device plugin, which outlives the kubelet's connections to it.
struct FakeDevicePlugin {
    std::map<std::string, std::string> devices{{"g0", "Healthy"}, {"g1", "Healthy"}, {"g2", "Healthy"}};
    bool dies = false;
    std::string failure;             ///< of Allocate and PreStartContainer
    std::vector<std::string> calls;  ///< "Allocate g0,g1"
    Event changed;

    std::string answer(const std::string& method, const std::string& request) {
        std::vector<std::string> ids;
        std::string reply;
        if (method == plugin::DevicePlugin::Allocate.path) {
            ids = schema::decode_protobuf<plugin::AllocateRequest>(request)->container_requests.at(0).devices_ids;
            plugin::AllocateResponse response;
            auto& one = response.container_responses.emplace_back();
            for (const std::string& id : ids) {
                one.envs["GPUS"] += id;
                one.devices.push_back({.container_path = "/dev/" + id, .host_path = "/dev/" + id, .permissions = "rw"});
            }
            one.cdi_devices.push_back({.name = "vendor.com/gpu=" + ids.front()});
            reply = schema::encode_protobuf(response);
        } else if (method == plugin::DevicePlugin::GetPreferredAllocation.path) {
            const auto asked = schema::decode_protobuf<plugin::PreferredAllocationRequest>(request)->container_requests.at(0);
            ids = asked.available_device_ids;
            plugin::PreferredAllocationResponse response;
            response.container_responses.emplace_back().device_ids = {"of-another", asked.available_device_ids.back()};
            reply = schema::encode_protobuf(response);
        } else if (method == plugin::DevicePlugin::PreStartContainer.path) {
            ids = schema::decode_protobuf<plugin::PreStartContainerRequest>(request)->devices_ids;
        }
        std::string text = method.substr(method.rfind('/') + 1);
        for (const std::string& id : ids) text += (id == ids.front() ? " " : ",") + id;
        calls.push_back(text);
        return reply;
    }
};

struct FakeConnection final : PluginConnection {
    explicit FakeConnection(FakeDevicePlugin* plugin) : plugin(plugin) {}
    Task<std::string> call(std::string method, std::string request, Duration) override {
        if (!plugin) co_return Error(Reason::Unavailable, "nobody listens");
        std::string reply = plugin->answer(method, request);
        if (!plugin->failure.empty()) co_return Error(Reason::InternalError, plugin->failure);
        co_return reply;
    }
    Task<> watch(std::string, std::string, std::function<void(const std::string&)> heard) override {
        while (plugin && !plugin->dies) {
            plugin::ListAndWatchResponse list;
            for (const auto& [id, health] : plugin->devices) list.devices.push_back({.id = id, .health = health});
            heard(schema::encode_protobuf(list));
            plugin->changed.reset();
            CO_TRY_VOID(co_await plugin->changed.wait());
        }
        co_return Error(Reason::Unavailable, "gone");
    }
    Task<> close() override { co_return {}; }
    FakeDevicePlugin* plugin;
};

struct FakeServer final : PluginServer {
    Task<> close() override { co_return {}; }
};

struct FakeConnector final : PluginConnector {
    std::unique_ptr<PluginConnection> connect(const std::string& path) override {
        return std::make_unique<FakeConnection>(plugins.contains(path) ? plugins[path] : nullptr);
    }
    Task<> reach(std::string) override { co_return {}; }
    Result<std::unique_ptr<PluginServer>> serve(const std::string& path, std::map<std::string, PluginMethod> offered) override {
        served = path;
        methods = std::move(offered);
        return std::unique_ptr<PluginServer>(std::make_unique<FakeServer>());
    }
    std::map<std::string, FakeDevicePlugin*> plugins;
    std::map<std::string, PluginMethod> methods;
    std::string served;
};

struct DevicePluginsTest : ::testing::Test {
    DevicePluginsTest() {
        connector.plugins[std::string(Folder) + "/gpu.sock"] = &gpu;
        start();
    }
    ~DevicePluginsTest() override { stop(); }

    void start() {
        devices =
            std::make_unique<DevicePlugins>(DevicePlugins::Services{.loop = loop,
                                                                    .files = files,
                                                                    .connector = connector,
                                                                    .log = Logger(make_null_sink(), "devices"),
                                                                    .report_node = [this] { ++reports; },
                                                                    .wake_pod = [this](const std::string& uid) { woken.push_back(uid); }},
                                            Folder);
        scope = std::make_unique<Scope>(loop);
        scope->spawn(devices->run());
        loop.advance(1s);
    }
    void stop() { sim::run(loop, scope->close()).value(); }
    void restart() {
        stop();
        start();
    }

    Result<std::string> ask_to_register(const std::string& resource, const std::string& endpoint = "gpu.sock",
                                        const std::string& version = "v1beta1", bool with_options = false) {
        plugin::RegisterRequest request{.version = version, .endpoint = endpoint, .resource_name = resource};
        if (with_options) request.options = plugin::DevicePluginOptions{true, true};
        auto answer = sim::run(loop, connector.methods.at("/v1beta1.Registration/Register")(schema::encode_protobuf(request)));
        loop.advance(1s);
        return answer;
    }
    /// "3/2": capacity and allocatable.
    std::string amounts() {
        const auto all = devices->amounts();
        const auto found = all.find(Gpu);
        return found == all.end() ? "" : std::to_string(found->second.capacity) + "/" + std::to_string(found->second.allocatable);
    }
    void set_health(const std::string& id, const std::string& health) {
        gpu.devices[id] = health;
        gpu.changed.set();
        loop.advance(1s);
    }
    void die() {
        gpu.dies = true;
        gpu.changed.set();
        loop.advance(1s);
    }

    /// A pod whose containers want so many; those before the last `apps` are init containers.
    static std::shared_ptr<core::Pod> pod(const std::string& uid, const std::vector<int>& wanted, std::size_t apps = 1) {
        auto pod = std::make_shared<core::Pod>();
        pod->metadata.uid = uid;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            core::Container container;
            container.name = "c" + std::to_string(i);
            container.resources.limits["cpu"] = Quantity::from_value(1);
            container.resources.limits["other.com/thing"] = Quantity::from_value(1);
            if (wanted[i]) container.resources.limits[Gpu] = Quantity::from_value(wanted[i]);
            (i + apps < wanted.size() ? pod->spec.init_containers : pod->spec.containers).push_back(std::move(container));
        }
        return pod;
    }
    /// "" if it has all; else why it is refused, or "later: " and why.
    std::string allocate(std::shared_ptr<core::Pod> pod) {
        const auto outcome = sim::run(loop, devices->allocate(std::move(pod)));
        return !outcome ? "later: " + outcome.error().message : outcome->value_or("");
    }
    /// "g0,g1"
    std::string devices_of(const std::string& uid, const std::string& container = "c0") {
        const auto& all = devices->allocations();
        if (!all.contains(uid) || !all.at(uid).contains(container)) return "";
        std::string text;
        for (const std::string& id : all.at(uid).at(container).at(Gpu).ids) text += (text.empty() ? "" : ",") + id;
        return text;
    }

    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
    FakeConnector connector;
    FakeDevicePlugin gpu;
    int reports = 0;
    std::vector<std::string> woken;
    std::unique_ptr<DevicePlugins> devices;
    std::unique_ptr<Scope> scope;
};

TEST_F(DevicePluginsTest, OffersTheHealthyDevicesOfAPlugin) {
    EXPECT_EQ(connector.served, "/k/device-plugins/kubelet.sock");
    EXPECT_EQ(amounts(), "");
    ASSERT_TRUE(ask_to_register(Gpu));
    EXPECT_EQ(amounts(), "3/3");
    const int before = reports;
    set_health("g1", "Unhealthy");
    EXPECT_EQ(amounts(), "3/2");
    EXPECT_EQ(reports, before + 1);
}

TEST_F(DevicePluginsTest, RefusesRegistrationsThatItCannotUse) {
    EXPECT_EQ(ask_to_register(Gpu, "gpu.sock", "v1").error().message,
              "requested API version \"v1\" is not supported by kubelet. Supported version is \"v1beta1\"");
    for (const char* endpoint : {"", ".", "..", "../gpu.sock", "/run/gpu.sock", "kubelet.sock", "kubelet_devices"})
        EXPECT_FALSE(ask_to_register(Gpu, endpoint)) << endpoint;
    for (const char* name :
         {"", "gpu", "/gpu", "vendor.com/", "kubernetes.io/gpu", "a.kubernetes.io/gpu", "vendor.com/a/b", "vendor.com/-"})
        EXPECT_EQ(ask_to_register(name).error().message, "the ResourceName \"" + std::string(name) + "\" is invalid");
    EXPECT_TRUE(devices->amounts().empty());
}

TEST_F(DevicePluginsTest, GivesADeviceToOneContainerOnly) {
    ASSERT_TRUE(ask_to_register(Gpu));
    EXPECT_EQ(allocate(pod("a", {1, 1}, 2)), "");
    EXPECT_EQ(devices_of("a", "c0") + " " + devices_of("a", "c1"), "g0 g1");
    EXPECT_EQ(allocate(pod("b", {2})),
              "Allocate failed due to requested number of devices unavailable for vendor.com/gpu. Requested: 2, "
              "Available: 1, which is unexpected");
    EXPECT_EQ(devices_of("b"), "");
    devices->release("a");
    EXPECT_EQ(allocate(pod("b", {2})), "");
    EXPECT_EQ(devices_of("b"), "g0,g1");
    EXPECT_EQ(gpu.calls, (std::vector<std::string>{"Allocate g0", "Allocate g1", "Allocate g0,g1"}));
}

TEST_F(DevicePluginsTest, DoesNotGiveUnhealthyDevices) {
    ASSERT_TRUE(ask_to_register(Gpu));
    set_health("g0", "Unhealthy");
    EXPECT_EQ(allocate(pod("a", {1})), "");
    EXPECT_EQ(devices_of("a"), "g1");
}

TEST_F(DevicePluginsTest, NothingOfARefusedPodIsAllocated) {
    ASSERT_TRUE(ask_to_register(Gpu));
    EXPECT_NE(allocate(pod("a", {1, 3}, 2)), "");
    EXPECT_EQ(devices_of("a", "c0"), "");
    gpu.failure = "no power";
    EXPECT_EQ(allocate(pod("a", {1})), "Allocate failed due to rpc error: no power, which is unexpected");
    gpu.failure = "";
    EXPECT_EQ(allocate(pod("b", {3})), "");
}

// As on a node whose plugin was replaced by a driver of claims for the same resource.
TEST_F(DevicePluginsTest, WhatTheSchedulerHasMadeAClaimForIsNotAskedOfAPlugin) {
    ASSERT_TRUE(ask_to_register(Gpu));
    die();
    loop.advance(6min);
    ASSERT_EQ(amounts(), "0/0");
    const auto one = pod("a", {1});
    EXPECT_EQ(allocate(one), "later: the device plugin of vendor.com/gpu is not registered");
    one->status.extended_resource_claim_status.emplace().request_mappings.push_back(
        {.container_name = "c0", .resource_name = Gpu, .request_name = "r"});
    EXPECT_EQ(allocate(one), "");
    EXPECT_EQ(devices_of("a"), "");
}

TEST_F(DevicePluginsTest, InitContainersLeaveTheirDevicesToTheOthers) {
    ASSERT_TRUE(ask_to_register(Gpu));
    const auto one = pod("a", {1, 2, 2});
    EXPECT_EQ(allocate(one), "");
    EXPECT_EQ(devices_of("a", "c0") + " " + devices_of("a", "c1") + " " + devices_of("a", "c2"), "g0 g0,g1 g0,g1");
    devices->release("a");
    one->spec.init_containers[0].restart_policy = "Always";
    EXPECT_EQ(allocate(one), "");
    EXPECT_EQ(devices_of("a", "c0") + " " + devices_of("a", "c1") + " " + devices_of("a", "c2"), "g0 g1,g2 g1,g2")
        << "a sidecar keeps its own";
}

TEST_F(DevicePluginsTest, ManyInitContainersWithAllDevicesAreRefused) {
    const std::string tail(DevicePlugins::LongestId - 5, 'x');
    for (int i = 0; i < 400; ++i) gpu.devices["d" + std::to_string(1000 + i) + tail] = "Healthy";
    ASSERT_TRUE(ask_to_register(Gpu));
    const std::size_t answered = gpu.calls.size();
    EXPECT_EQ(allocate(pod("a", std::vector<int>(20, 403))), "Allocate failed due to devices of too many containers, which is unexpected");
    EXPECT_FALSE(devices->allocations().contains("a"));
    EXPECT_LT(gpu.calls.size() - answered, 20u);
    EXPECT_EQ(allocate(pod("b", {403, 403})), "");
}

TEST_F(DevicePluginsTest, AsksThePluginWhichItPrefers) {
    ASSERT_TRUE(ask_to_register(Gpu, "gpu.sock", "v1beta1", true));
    EXPECT_EQ(allocate(pod("a", {2})), "");
    EXPECT_EQ(devices_of("a"), "g0,g2") << "the last is preferred; what is not free is not believed";
    EXPECT_EQ(gpu.calls[0], "GetPreferredAllocation g0,g1,g2");
}

TEST_F(DevicePluginsTest, PreparesEachStartIfThePluginAsksForIt) {
    ASSERT_TRUE(ask_to_register(Gpu, "gpu.sock", "v1beta1", true));
    EXPECT_EQ(allocate(pod("a", {1})), "");
    EXPECT_TRUE(sim::run(loop, devices->prepare_start("a", "c0")));
    EXPECT_EQ(gpu.calls.back(), "PreStartContainer g2");
    gpu.failure = "busy";
    EXPECT_EQ(sim::run(loop, devices->prepare_start("a", "c0")).error().message,
              "device plugin PreStartContainer rpc failed with err: busy");
    EXPECT_TRUE(sim::run(loop, devices->prepare_start("a", "other")));
}

TEST_F(DevicePluginsTest, KeepsWhatContainersHaveOverARestart) {
    ASSERT_TRUE(ask_to_register(Gpu));
    EXPECT_EQ(allocate(pod("a", {2})), "");
    const DeviceAllocations before = devices->allocations();
    restart();
    EXPECT_EQ(devices->allocations(), before);
    EXPECT_EQ(amounts(), "0/0");
    EXPECT_EQ(allocate(pod("a", {2})), "") << "it has them";
    EXPECT_EQ(allocate(pod("b", {1})), "later: the device plugin of vendor.com/gpu is not registered");
    ASSERT_TRUE(ask_to_register(Gpu));
    EXPECT_EQ(allocate(pod("b", {1})), "");
    EXPECT_EQ(devices_of("b"), "g2");
    devices->release_stale([](const std::string& uid) { return uid == "b"; });
    EXPECT_EQ(devices_of("a"), "");
    restart();
    EXPECT_EQ(devices_of("a") + devices_of("b"), "g2");
}

TEST_F(DevicePluginsTest, KeepsAnUnreadableCheckpoint) {
    stop();
    ASSERT_TRUE(files.write(std::string(Folder) + "/kubelet_devices", "{", 0600));
    start();
    EXPECT_TRUE(devices->allocations().empty());
    EXPECT_EQ(files.read(std::string(Folder) + "/kubelet_devices.unreadable").value(), "{");
}

TEST_F(DevicePluginsTest, NothingIsHealthyWithoutItsPlugin) {
    ASSERT_TRUE(ask_to_register(Gpu));
    EXPECT_EQ(allocate(pod("a", {1})), "");
    die();
    EXPECT_EQ(amounts(), "3/0");
    EXPECT_EQ(woken, std::vector<std::string>{"a"});
    loop.advance(4min);
    EXPECT_EQ(amounts(), "3/0");
    loop.advance(2min);
    EXPECT_EQ(amounts(), "0/0");
    gpu.dies = false;
    ASSERT_TRUE(ask_to_register(Gpu));
    EXPECT_EQ(amounts(), "3/3");
    EXPECT_EQ(devices_of("a"), "g0");
}

TEST_F(DevicePluginsTest, TheNewerOfTwoPluginsOfAResourceIsUsed) {
    ASSERT_TRUE(ask_to_register(Gpu));
    FakeDevicePlugin newer;
    newer.devices = {{"n0", "Healthy"}};
    connector.plugins[std::string(Folder) + "/new.sock"] = &newer;
    ASSERT_TRUE(ask_to_register(Gpu, "new.sock"));
    EXPECT_EQ(amounts(), "1/1");
    die();
    EXPECT_EQ(amounts(), "1/1");
    stop();
    start();  // nothing follows `newer` any more
}

TEST_F(DevicePluginsTest, PluginsOfTheRegistryAreUsedToo) {
    const PluginInfo info{"DevicePlugin", Gpu, std::string(Folder) + "/gpu.sock", {"v1beta1"}, "/k/plugins_registry/gpu.sock"};
    PluginInfo old = info;
    old.versions = {"v1alpha"};
    EXPECT_FALSE(sim::run(loop, devices->add_plugin(old)));
    EXPECT_TRUE(sim::run(loop, devices->add_plugin(info)));
    loop.advance(1s);
    EXPECT_EQ(amounts(), "3/3");
    EXPECT_TRUE(sim::run(loop, devices->remove_plugin(info)));
    EXPECT_EQ(amounts(), "3/0");
}

TEST_F(DevicePluginsTest, TellsTheHealthOfAContainersDevices) {
    ASSERT_TRUE(ask_to_register(Gpu));
    EXPECT_EQ(allocate(pod("a", {2})), "");
    set_health("g1", "Unhealthy");
    core::PodStatus status;
    status.container_statuses.emplace_back().name = "c0";
    devices->add_health(*pod("a", {2}), status);
    const core::ResourceStatus& told = status.container_statuses[0].allocated_resources_status.at(0);
    EXPECT_EQ(told.name, Gpu);
    ASSERT_EQ(told.resources.size(), 2u);
    EXPECT_EQ(told.resources[0].resource_id + " " + told.resources[0].health, "g0 Healthy");
    EXPECT_EQ(told.resources[1].resource_id + " " + told.resources[1].health, "g1 Unhealthy");
}

TEST_F(DevicePluginsTest, TheHealthOfManyDevicesEndsBeforeTheStatusIsTooLarge) {
    const std::string tail(DevicePlugins::LongestId - 5, 'x');
    for (int i = 0; i < 1000; ++i) gpu.devices["d" + std::to_string(1000 + i) + tail] = "Healthy";
    ASSERT_TRUE(ask_to_register(Gpu));
    EXPECT_EQ(allocate(pod("a", {1003})), "");
    core::PodStatus status;
    status.container_statuses.emplace_back().name = "c0";
    devices->add_health(*pod("a", {1003}), status);
    const std::size_t told = status.container_statuses[0].allocated_resources_status.at(0).resources.size();
    EXPECT_GT(told, 200u);
    EXPECT_LT(told, 300u);
}

TEST_F(DevicePluginsTest, AListWithoutBoundsIsNotTaken) {
    ASSERT_TRUE(ask_to_register(Gpu));
    for (std::size_t i = 0; i <= DevicePlugins::MostDevices; ++i) gpu.devices["d" + std::to_string(i)] = "Healthy";
    gpu.changed.set();
    loop.advance(1s);
    EXPECT_EQ(amounts(), "3/3");
}

TEST(AllocatedDevices, AreGivenToTheContainerBesideItsOwn) {
    plugin::ContainerAllocateResponse answer;
    answer.envs = {{"A", "plugin"}, {"B", "plugin"}};
    answer.mounts.push_back({.container_path = "/lib/gpu", .host_path = "/opt/gpu", .read_only = true});
    answer.devices.push_back({.container_path = "/dev/g", .host_path = "/dev/g0", .permissions = "rw"});
    answer.annotations = {{"vendor.com/a", "1"}};
    answer.cdi_devices.push_back({.name = "vendor.com/gpu=g0"});
    const std::map<std::string, AllocatedDevices> resources{{Gpu, {{"g0"}, answer}}};
    api::cri::v1::ContainerConfig config;
    config.envs.push_back({.key = "A", .value = "own"});
    config.mounts.push_back({.container_path = "/own"});
    add_allocated_devices(resources, false, config);
    ASSERT_EQ(config.envs.size(), 2u);
    EXPECT_EQ(config.envs[0].value + config.envs[1].value, "ownplugin");
    ASSERT_EQ(config.mounts.size(), 2u);
    EXPECT_EQ(config.mounts[0].host_path, "/opt/gpu");
    EXPECT_TRUE(config.mounts[0].readonly);
    EXPECT_EQ(config.devices.at(0).host_path + config.devices.at(0).permissions, "/dev/g0rw");
    EXPECT_EQ(config.annotations.at("vendor.com/a"), "1");
    EXPECT_EQ(cdi_ids(resources), std::vector<std::string>{"vendor.com/gpu=g0"});
}

TEST(DeviceCheckpoint, IsReadAsItWasWritten) {
    DeviceCheckpoint checkpoint{.resources = {Gpu, "a.com/b"}};
    checkpoint.allocations["pod"]["c"][Gpu].ids = {"g0", "g1"};
    checkpoint.allocations["pod"]["c"][Gpu].answer.envs["A"] = "1";
    EXPECT_EQ(parse_device_checkpoint(checkpoint_text(checkpoint)).value(), checkpoint);
    for (const char* text : {"", "[]", "{}", R"({"version":"v1","allocations":[{}]})",
                             R"({"version":"v1","allocations":[{"podUID":"p","container":"c","resource":"r","answer":"!"}]})"})
        EXPECT_FALSE(parse_device_checkpoint(text)) << text;
}

}  // namespace
}  // namespace porthole::kubelet
