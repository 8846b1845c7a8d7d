#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "hns/client.h"
#include "hns/dll/load_hns.h"
#include "hns/hresult.h"
#include "runtime/run_task.h"
#include "runtime/scope.h"

namespace porthole::hns {
namespace {

namespace fs = std::filesystem;

/// A Wine prefix of its own becomes an emulated host: the DLLs beside this program go to system32, and the file that
/// PORTHOLE_TEST_HOST_FILE names (tests/windows starts an emulator and writes it) to where the DLLs look for it.
class DllTest : public testing::Test {
protected:
    void SetUp() override {
        const char* host_file = std::getenv("PORTHOLE_TEST_HOST_FILE");
        if (!host_file) GTEST_SKIP() << "no emulated host to talk to: run tests/windows/hns_dll_test.py";
        const auto replace = fs::copy_options::overwrite_existing;
        fs::create_directories("C:/ProgramData/Porthole");
        fs::copy_file(host_file, "C:/ProgramData/Porthole/emulator.json", replace);
        const fs::path programs = fs::path(std::getenv("PORTHOLE_TEST_PROGRAMS"));
        for (const char* name : {"computenetwork.dll", "vmcompute.dll"}) {
            std::error_code in_use;
            fs::copy_file(programs / name, fs::path("C:/windows/system32") / name, replace, in_use);
        }
        auto loaded = load_hns(loop, *pool);
        ASSERT_TRUE(loaded) << loaded.error().message;
        hns = *std::move(loaded);
        client.emplace(*hns);
    }

    template <class T>
    Result<T> run(Task<T> task) {
        return run_task(loop, std::move(task));
    }
    template <class T>
    T get(Task<T> task) {
        auto result = run(std::move(task));
        if (result) return *std::move(result);
        ADD_FAILURE() << result.error().message;
        return T();
    }
    void done(Task<> task) {
        const auto result = run(std::move(task));
        EXPECT_TRUE(result) << result.error().message;
    }

    AsioLoop loop;
    std::unique_ptr<WorkerPool> pool = make_thread_pool(2);
    std::unique_ptr<Hns> hns;
    std::optional<Client> client;
};

// HNS-01, HNS-10, EMU-01: the API by the DLLs, as on Windows.
TEST_F(DllTest, DoesTheWholeLifeOfAPod) {
    EXPECT_TRUE(get(client->features()).api_v2);
    hcn::HostComputeNetwork network;
    network.name = "cbr0";
    network.type = hcn::NetworkMode::L2Bridge;
    network.ipams.emplace_back();
    network.ipams[0].subnets.emplace_back();
    network.ipams[0].subnets[0].ip_address_prefix = "10.9.3.0/24";
    const auto bridge = get(client->create(network));
    EXPECT_TRUE(is_policy(hcn::Policy{.type = bridge.type}, "l2bridge"));
    hcn::HostComputeEndpoint document;
    document.name = "päckchen_cbr0";
    document.host_compute_network = bridge.id;
    const auto pod = get(client->create(document));
    EXPECT_EQ(pod.name, "päckchen_cbr0");
    EXPECT_EQ(get(client->find<hcn::HostComputeEndpoint>("päckchen_cbr0"))->id, pod.id);
    const auto space = get(client->create(hcn::HostComputeNamespace()));
    done(client->attach_endpoint(space.id, pod.id));
    const auto again = run(client->attach_endpoint(space.id, pod.id));
    ASSERT_FALSE(again);
    EXPECT_EQ(hresult_of(again.error()), Hresult::EndpointAlreadyAttached);
    EXPECT_EQ(record_text(again.error()), "This endpoint is already attached to the switch.");
    done(client->detach_endpoint(space.id, pod.id));
    done(client->remove<hcn::HostComputeEndpoint>(pod.id));
    done(client->remove<hcn::HostComputeNamespace>(space.id));
    done(client->remove<hcn::HostComputeNetwork>(bridge.id));
    EXPECT_TRUE(get(client->list<hcn::HostComputeNetwork>()).empty());
    const auto gone = run(client->get<hcn::HostComputeNetwork>(bridge.id));
    ASSERT_FALSE(gone);
    EXPECT_EQ(hresult_of(gone.error()), Hresult::NetworkNotFound);
}

// HNS-14
TEST_F(DllTest, HearsNotificationsAndCanStop) {
    std::vector<std::uint32_t> heard;
    Event first;
    Scope scope(loop);
    scope.spawn(hns->subscribe([&](const Notification& notification) {
        heard.push_back(notification.type);
        first.set();
    }));
    std::vector<std::string> made;
    // Nothing says when the subscription has reached the service: its connection is another one.
    for (int tries = 0; tries < 40 && heard.empty(); ++tries) {
        made.push_back(get(client->create(hcn::HostComputeNamespace())).id);
        (void)run(with_timeout(first.wait(), std::chrono::milliseconds(500), "a notification"));
    }
    for (const std::string& id : made) done(client->remove<hcn::HostComputeNamespace>(id));
    done(scope.close());
    ASSERT_FALSE(heard.empty());
    EXPECT_EQ(heard.front(), NotificationType::NamespaceCreate);
}

// How many calls and connections this takes is counted by the service: tests/windows/test_hns_dll.py has the numbers.
TEST_F(DllTest, MakesManyCallsOverOneConnection) {
    for (int i = 0; i < 500; ++i) ASSERT_TRUE(run(hns->enumerate(ObjectKind::LoadBalancer, "")));
}

TEST_F(DllTest, MakesManyObjectsWithTheirNetworkOpenedOnce) {
    hcn::HostComputeNetwork network;
    network.name = "many";
    network.type = hcn::NetworkMode::L2Bridge;
    network.ipams = {{.subnets = {{.ip_address_prefix = "10.9.4.0/24"}}}};
    const auto bridge = get(client->create(network));
    std::vector<std::string> documents, ids;
    for (int i = 0; i < 100; ++i) {
        hcn::HostComputeEndpoint endpoint;
        endpoint.schema_version = schema_version();
        char id[37];
        std::snprintf(id, sizeof id, "4B5E6B2B-1A2C-4D5E-8F00-%012X", i);
        endpoint.id = ids.emplace_back(id);
        endpoint.host_compute_network = bridge.id;
        endpoint.flags = EndpointFlags::RemoteEndpoint;
        // One is refused: the address of another.
        endpoint.ip_configurations.push_back({.ip_address = "10.200.0." + std::to_string(i == 7 ? 7 : i + 1)});
        documents.push_back(write_document(endpoint));
    }
    const auto made = get(hns->create_all(ObjectKind::Endpoint, bridge.id, documents));
    ASSERT_EQ(made.size(), 100u);
    for (std::size_t i = 0; i < 100; ++i) {
        EXPECT_EQ(made[i].has_value(), i != 7) << i;
        if (made[i]) EXPECT_EQ(*made[i], ids[i]);
    }
    EXPECT_EQ(get(client->list_endpoints_of(bridge.id)).size(), 99u);
    done(client->remove<hcn::HostComputeNetwork>(bridge.id));
}

TEST_F(DllTest, MakesNothingInANetworkThatIsNotThere) {
    const std::string none = "4B5E6B2B-1A2C-4D5E-8F00-0123456789AB";
    const auto made = get(hns->create_all(ObjectKind::Endpoint, none, {"{}", "{}"}));
    ASSERT_EQ(made.size(), 2u);
    for (const auto& id : made) {
        ASSERT_FALSE(id);
        EXPECT_EQ(hresult_of(id.error()), Hresult::NetworkNotFound);
    }
}

}  // namespace
}  // namespace porthole::hns
