#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cni/plugin/hns/wincni.h"
#include "cni/plugin/host_local/host_local.h"
#include "hns/emulator/data_plane/remembering_data_plane.h"
#include "hns/emulator/emulator.h"
#include "hns/emulator/failing_hns.h"
#include "hns/guid.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::cni {
namespace {

namespace emulator = porthole::hns::emulator;
using emulator::FailingHns;
using porthole::hns::Hresult;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

class WithoutLocks final : public FileLocks {
public:
    Result<std::unique_ptr<FileLock>> lock(const std::string&) override { return std::unique_ptr<FileLock>(); }
};

/// A node with a pod network, on which the call of a given number to the host network service fails.
struct Node {
    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
    SeededRandom random{7};
    emulator::RememberingDataPlane data_plane;
    emulator::Emulator emulated{{loop, files, random, data_plane, Logger(make_null_sink(), "hns")},
                                {"/hns", *emulator::find_profile("2022")}};
    porthole::hns::Client client{emulated};
    FailingHns hns{emulated};
    WithoutLocks locks;
    HostLocal host_local{files, locks, {.data_dir = "/leases", .colons = false}};
    Delegates delegates{files, nullptr, ".exe"};
    std::unique_ptr<Plugin> plugin;
    CniRequest request;

    explicit Node(const std::string& type) {
        delegates.add("host-local", host_local);
        EXPECT_TRUE(run(emulated.start()));
        hcn::HostComputeNetwork network;
        network.name = type == "win-overlay" ? "vxlan0" : type == "wincni" ? "l2bridge" : "cbr0";
        network.type = type == "win-overlay" ? "Overlay" : "L2Bridge";
        hcn::Subnet subnet;
        subnet.ip_address_prefix = "10.244.3.0/24";
        subnet.routes = {{.next_hop = "10.244.3.1", .destination_prefix = "0.0.0.0/0"}};
        if (type == "win-overlay") subnet.policies = {porthole::hns::make_policy("VSID", hcn::IsolationSettings{.isolation_id = 4096})};
        network.ipams = {{.type = "Static", .subnets = {subnet}}};
        // wincni makes its network itself.
        if (type != "wincni") EXPECT_TRUE(run(client.create(network)));
        loop.advance(5s);
        const WindowsPluginContext context{loop, hns, delegates};
        if (type == "wincni") {
            plugin = std::make_unique<WinCni>(context);
        } else {
            plugin = std::make_unique<HnsPlugin>(context, type == "win-overlay" ? NetworkStyle::Overlay : NetworkStyle::Bridge);
        }
        hcn::HostComputeNamespace space;
        space.type = "Host";
        request = {.command = "ADD",
                   .container_id = "abc",
                   .netns = run(client.create(space)).value().id,
                   .interface = "eth0",
                   .network = network.name,
                   .version = "1.0.0"};
        request.config =
            schema::parse_json(R"({"name":")" + network.name + R"(","ipam":{"type":"host-local","subnet":"10.244.3.0/24"}})").value();
    }
    ~Node() { EXPECT_TRUE(run(emulated.close())); }

    template <class T>
    Result<T> run(Task<T> task) {
        return sim::run(loop, std::move(task));
    }
    std::vector<hcn::HostComputeEndpoint> endpoints() { return run(client.list<hcn::HostComputeEndpoint>()).value(); }
    std::vector<std::string> leases() {
        auto names = files.list("/leases/" + request.network).value_or(std::vector<std::string>());
        std::erase_if(names, [](const std::string& name) { return !name.starts_with("10."); });
        return names;
    }
    std::size_t wanted_leases() const { return request.network == "l2bridge" ? 0 : 1; }
};

/// What ends an attempt at once, what is tried again for a while, and a service that has gone.
constexpr Hresult Codes[] = {Hresult::Unexpected, Hresult::PortNotFound, Hresult::RpcServerUnavailable};

/// Runs `attempt(node)` with each call failing in turn, until one attempt has made fewer calls than that.
template <class F>
void with_each_call_failing(const char* type, F attempt) {
    for (const auto when : {FailingHns::When::Before, FailingHns::When::After}) {
        for (const Hresult code : Codes) {
            for (int passing = 0;; ++passing) {
                SCOPED_TRACE(std::string(type) + (when == FailingHns::When::Before ? ": before" : ": after") + " call " +
                             std::to_string(passing + 1) + " " + porthole::hns::hresult_name(code));
                Node node(type);
                if (!attempt(node, passing, when, code)) break;
                ASSERT_LT(passing, 100);
            }
        }
    }
}

class EachCallFails : public testing::TestWithParam<const char*> {};

TEST_P(EachCallFails, AFailedAddLeavesNothingAndTheNextOneWorks) {
    with_each_call_failing(GetParam(), [](Node& node, int passing, FailingHns::When when, Hresult code) {
        node.hns.fail_after(passing, when, code);
        const auto first = node.run(node.plugin->add(node.request));
        const bool reached = node.hns.failed();
        node.hns.stop_failing();
        if (!first) {
            if (when == FailingHns::When::After) EXPECT_TRUE(node.run(node.plugin->remove(node.request)));  // as runtimes do
            EXPECT_THAT(node.endpoints(), IsEmpty());
            EXPECT_THAT(node.leases(), IsEmpty());
        }
        const auto second = node.run(node.plugin->add(node.request));
        EXPECT_TRUE(second) << second.error().message;
        const auto endpoints = node.endpoints();
        EXPECT_THAT(endpoints, SizeIs(1));
        EXPECT_THAT(node.leases(), SizeIs(node.wanted_leases()));
        if (!endpoints.empty()) EXPECT_TRUE(porthole::hns::same_guid(endpoints[0].host_compute_namespace, node.request.netns));
        if (first && second) EXPECT_EQ(first->ips[0].address, second->ips[0].address);
        EXPECT_TRUE(node.run(node.plugin->check(node.request)));
        return reached;
    });
}

TEST_P(EachCallFails, ADelThatComesAgainFindsTheRest) {
    with_each_call_failing(GetParam(), [](Node& node, int passing, FailingHns::When when, Hresult code) {
        EXPECT_TRUE(node.run(node.plugin->add(node.request)));
        node.hns.fail_after(passing, when, code);
        const auto first = node.run(node.plugin->remove(node.request));
        const bool reached = node.hns.failed();
        node.hns.stop_failing();
        if (first) {
            EXPECT_THAT(node.endpoints(), IsEmpty()) << "it said that it was done";
        }
        EXPECT_TRUE(node.run(node.plugin->remove(node.request)));
        EXPECT_THAT(node.endpoints(), IsEmpty());
        EXPECT_THAT(node.leases(), IsEmpty());
        EXPECT_TRUE(node.run(node.plugin->add(node.request)));
        return reached;
    });
}

INSTANTIATE_TEST_SUITE_P(Plugins, EachCallFails, testing::Values("win-bridge", "win-overlay", "wincni"), [](const auto& info) {
    std::string name = info.param;
    std::erase(name, '-');
    return name;
});

}  // namespace
}  // namespace porthole::cni
