#include "kubelet/devices/device_health.h"

#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "kubelet/plugins/fake_plugin_fixture.h"
#include "kubelet/plugins/plugin_connection_grpc.h"
#include "runtime/run_task.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using namespace api::core::v1;
using testing::FakePlugin;

struct DeviceHealthTest : ::testing::Test {
    DeviceHealthTest() {
        EXPECT_TRUE(run_task(loop, drivers.add_plugin(info)));
        scope.spawn(health.run());
        claims["uid"] = {.namespace_ = "ns", .name = "claim", .uid = "uid"};
        claims["uid"].drivers["gpu.example.com"] = {{.pool = "pool", .device = "d0", .requests = {"r0"}, .cdi_ids = {"cdi-0"}},
                                                    {.pool = "pool", .device = "d1", .requests = {"r1"}, .cdi_ids = {}}};
        pod.metadata.namespace_ = "ns";
        pod.spec.resource_claims.emplace_back() = {.name = "dev", .resource_claim_name = "claim"};
        pod.spec.containers.emplace_back().name = "main";
        pod.spec.containers.emplace_back().name = "other";
        pod.spec.containers[0].resources.claims = {{.name = "dev"}, {.name = "dev", .request = "r1"}};
    }
    ~DeviceHealthTest() override {
        EXPECT_TRUE(run_task(loop, scope.close()));
        EXPECT_TRUE(run_task(loop, drivers.remove_plugin(info)));
        EXPECT_TRUE(run_task(loop, plugin.close()));
    }
    /// The driver says so of "d0"; returns once it was heard.
    void tell(std::int32_t state, const std::string& message = "") {
        auto& device = plugin.health.devices.empty() ? plugin.health.devices.emplace_back() : plugin.health.devices[0];
        device.device.emplace();
        device.device->pool_name = "pool";
        device.device->device_name = "d0";
        device.health = state;
        device.message = message;
        plugin.health_changed.set();
        wait_for_change();
    }
    void wait_for_change() {
        const int before = changes;
        for (int i = 0; i < 500 && changes == before; ++i) EXPECT_TRUE(run_task(loop, loop.sleep(20ms)));
        EXPECT_GT(changes, before);
    }
    /// "claim:dev: cdi-0 Healthy, …" of the container.
    std::string text(const std::string& container = "main") {
        PodStatus status;
        status.container_statuses.emplace_back().name = container;
        health.add_to(pod, claims, status);
        std::string text;
        for (const auto& resource : status.container_statuses[0].allocated_resources_status) {
            text += (text.empty() ? "" : "; ") + resource.name + ":";
            for (const auto& one : resource.resources) text += " " + one.resource_id + " " + one.health + one.message.value_or("");
        }
        return text;
    }

    AsioLoop loop;
    testing::TemporaryFolder folder{"health"};
    client::FakeApi api{loop};
    client::Client client{api};
    Logger log{make_null_sink(), "devices"};
    std::unique_ptr<PluginConnector> connector = make_plugin_connector(loop);
    FakePlugin plugin{loop, folder.path + "/gpu.sock", "gpu.example.com"};
    const PluginInfo info{"DRAPlugin", "gpu.example.com", folder.path + "/gpu.sock", {"v1.DRAPlugin"}, folder.path + "/gpu.sock"};
    DriverPlugins drivers{loop, client, *connector, log, "n1"};
    int changes = 0;
    DeviceHealth health{loop, drivers, log, [this](const std::string&) { ++changes; }};
    Scope scope{loop};
    PreparedClaims claims;
    Pod pod;
};

TEST_F(DeviceHealthTest, IsWhatTheDriverSays) {
    EXPECT_EQ(text(), "claim:dev: cdi-0 Unknown gpu.example.com/pool/d1 Unknown; claim:dev/r1: gpu.example.com/pool/d1 Unknown");
    tell(1);
    EXPECT_EQ(text(), "claim:dev: cdi-0 Healthy gpu.example.com/pool/d1 Unknown; claim:dev/r1: gpu.example.com/pool/d1 Unknown");
    tell(2, " (hot)");
    EXPECT_EQ(text(), "claim:dev: cdi-0 Unhealthy (hot) gpu.example.com/pool/d1 Unknown; claim:dev/r1: gpu.example.com/pool/d1 Unknown");
    EXPECT_EQ(text("other"), "") << "it has no claim";
}

TEST_F(DeviceHealthTest, IsUnknownOnceTheDriverSaysNothingMore) {
    tell(1);
    plugin.ends_telling = true;
    plugin.health_changed.set();
    wait_for_change();
    EXPECT_EQ(text(), "claim:dev: cdi-0 Unknown gpu.example.com/pool/d1 Unknown; claim:dev/r1: gpu.example.com/pool/d1 Unknown");
}

/// Of a driver that says one thing, in virtual time.
struct OneMessage final : PluginConnection, PluginConnector {
    explicit OneMessage(EventLoop& loop, std::string message) : loop(loop), message(std::move(message)) {}
    Task<std::string> call(std::string, std::string, Duration) override { co_return Error(Reason::Unavailable, "not in this test"); }
    Task<> watch(std::string, std::string, std::function<void(const std::string&)> heard) override {
        heard(message);
        co_return co_await loop.sleep(std::chrono::hours(1));
    }
    Task<> close() override { co_return {}; }
    std::unique_ptr<PluginConnection> connect(const std::string&) override { return std::make_unique<OneMessage>(loop, message); }
    Task<> reach(std::string) override { co_return {}; }

    EventLoop& loop;
    std::string message;
};

TEST(DeviceHealth, OfManyContainersEndsBeforeThePodIsTooLarge) {
    constexpr std::size_t Many = 5'000;
    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    const Logger log{make_null_sink(), "devices"};
    OneMessage connector(loop, "");
    const DriverPlugins drivers(loop, client, connector, log, "n1");
    const DeviceHealth health(loop, drivers, log, [](const std::string&) {});
    PreparedClaims claims;
    claims["uid"].name = "claim";
    for (int i = 0; i < 32; ++i) claims["uid"].drivers["d"].push_back({.pool = "p", .device = std::to_string(i)});
    Pod pod;
    PodStatus status;
    for (std::size_t i = 0; i < Many; ++i) {
        pod.spec.resource_claims.emplace_back() = {.name = "dev" + std::to_string(i), .resource_claim_name = "claim"};
        pod.spec.containers.emplace_back().name = status.container_statuses.emplace_back().name = std::to_string(i);
        pod.spec.containers.back().resources.claims = {{.name = "dev" + std::to_string(i)}};
    }
    health.add_to(pod, claims, status);
    std::size_t told = 0;
    for (const ContainerStatus& container : status.container_statuses)
        for (const auto& resource : container.allocated_resources_status) told += resource.resources.size();
    EXPECT_EQ(status.container_statuses[0].allocated_resources_status.at(0).resources.size(), 32u);
    EXPECT_GT(told, 3'000u);
    EXPECT_LT(told, 4'096u) << "of 160,000";
}

TEST(DeviceHealth, HoldsForATime) {
    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    const Logger log{make_null_sink(), "devices"};
    api::dra::v1::NodeWatchResourcesResponse told;
    for (const int seconds : {0, 90}) {
        auto& device = told.devices.emplace_back();
        device.device.emplace().device_name = seconds ? "long" : "short";
        device.health = 1;
        device.health_check_timeout_seconds = seconds;
    }
    OneMessage connector(loop, schema::encode_protobuf(told));
    DriverPlugins drivers(loop, client, connector, log, "n1");
    sim::run(loop, drivers.add_plugin({"DRAPlugin", "d", "/d.sock", {"v1.DRAPlugin"}, "/d.sock"})).value();
    DeviceHealth health(loop, drivers, log, [](const std::string&) {});
    Scope scope(loop);
    scope.spawn(health.run());
    PreparedClaims claims;
    claims["uid"].name = "claim";
    claims["uid"].drivers["d"] = {{.device = "short"}, {.device = "long"}};
    Pod pod;
    pod.spec.resource_claims.emplace_back() = {.name = "dev", .resource_claim_name = "claim"};
    pod.spec.containers.emplace_back().resources.claims = {{.name = "dev"}};
    const auto healths = [&] {
        PodStatus status;
        status.container_statuses.emplace_back();
        health.add_to(pod, claims, status);
        const auto& resources = status.container_statuses[0].allocated_resources_status.at(0).resources;
        return resources.at(0).health + " " + resources.at(1).health;
    };
    loop.advance(29s);
    EXPECT_EQ(healths(), "Healthy Healthy");
    loop.advance(2s);
    EXPECT_EQ(healths(), "Unknown Healthy");
    loop.advance(60s);
    EXPECT_EQ(healths(), "Unknown Unknown");
    sim::run(loop, scope.close()).value();
}

}  // namespace
}  // namespace porthole::kubelet
