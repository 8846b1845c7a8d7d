#include "cni/plugin/flannel/flannel_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cni/plugin/errors.h"
#include "cni/plugin/hns/hns_plugin.h"
#include "cni/plugin/host_local/host_local.h"
#include "hns/emulator/data_plane/remembering_data_plane.h"
#include "hns/emulator/emulator.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::cni {
namespace {

namespace emulator = porthole::hns::emulator;
using schema::Value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

constexpr const char* SubnetEnv = "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n";

Value json(const std::string& text) { return schema::parse_json(text).value(); }

CniRequest request(const std::string& config, const std::string& id = "abc", const std::string& netns = "/proc/1/ns/net") {
    CniRequest request{.command = "ADD", .container_id = id, .netns = netns, .interface = "eth0", .version = "1.0.0"};
    request.config = json(config);
    request.network = request.config.string_at({"name"});
    return request;
}

/// Remembers what it was called with, as "ADD {…}".
class RecordingPlugin final : public Plugin {
public:
    Task<CniResult> add(CniRequest request) override {
        note(request);
        if (failure) co_return *failure;
        co_return CniResult{.ips = {{.address = IpAddress::parse("10.244.3.3").value(), .prefix_length = 24}}};
    }
    Task<> remove(CniRequest request) override {
        note(request);
        if (removal_failure) co_return *removal_failure;
        co_return {};
    }
    Task<> check(CniRequest request) override { return note(request), nothing(); }
    Task<> status(CniRequest request) override { return note(request), nothing(); }
    Task<> collect(CniRequest request) override { return note(request), nothing(); }

    Value last_config() const { return json(calls.back().substr(calls.back().find('{'))); }

    std::vector<std::string> calls;
    std::optional<Error> failure, removal_failure;

private:
    void note(const CniRequest& request) { calls.push_back(request.command + " " + schema::to_json(request.config)); }
    static Task<> nothing() { co_return {}; }
};

struct LinuxNode {
    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
    RecordingPlugin bridge;
    Delegates delegates{files, nullptr, ""};
    FlannelPlugin plugin{files, delegates, {.style = DelegateStyle::Linux, .subnet_file = "/run/flannel/subnet.env", .data_dir = "/kept"}};

    LinuxNode() {
        delegates.add("bridge", bridge);
        write_subnet(SubnetEnv);
    }
    void write_subnet(const std::string& text) {
        ASSERT_TRUE(files.create_directories("/run/flannel", 0755));
        ASSERT_TRUE(files.write("/run/flannel/subnet.env", text, 0644));
    }
    template <class T>
    Result<T> run(Task<T> task) {
        return sim::run(loop, std::move(task));
    }
    std::vector<std::string> kept() { return files.list("/kept").value_or(std::vector<std::string>()); }
};

// NET-15 (Linux half)
TEST(FlannelPlugin, GivesABridgeWhatTheDaemonKnows) {
    LinuxNode node;
    const auto result = node.run(node.plugin.add(request(R"({"name":"cbr0","type":"flannel","delegate":{"hairpinMode":true}})")));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->ips.at(0).address.to_string(), "10.244.3.3");
    EXPECT_EQ(node.bridge.last_config(), json(R"({"name":"cbr0","cniVersion":"1.0.0","type":"bridge","hairpinMode":true,"isGateway":true,
        "ipMasq":false,"mtu":1450,"ipam":{"type":"host-local","ranges":[[{"subnet":"10.244.3.0/24"}]],"routes":[{"dst":"10.244.0.0/16"}]}})"));
}

// NET-15: the rows of the merge
TEST(FlannelPlugin, MergesWhatTheAdministratorSaid) {
    const struct {
        const char* name;
        const char* config;
        std::vector<std::string_view> path;
        const char* expected;
    } rows[] = {
        {"own MTU", R"({"name":"n","delegate":{"mtu":1400}})", {"mtu"}, "1400"},
        {"own translation", R"({"name":"n","delegate":{"ipMasq":true}})", {"ipMasq"}, "true"},
        {"another plugin has no gateway", R"({"name":"n","delegate":{"type":"ptp"}})", {"isGateway"}, "null"},
        {"port mappings of the runtime",
         R"({"name":"n","runtimeConfig":{"portMappings":[{"hostPort":80}]}})",
         {"runtimeConfig"},
         R"({"portMappings":[{"hostPort":80}]})"},
        {"own routes",
         R"({"name":"n","ipam":{"routes":[{"dst":"10.96.0.0/12"}]}})",
         {"ipam", "routes"},
         R"([{"dst":"10.96.0.0/12"},{"dst":"10.244.0.0/16"}])"},
        {"own folder of leases", R"({"name":"n","ipam":{"dataDir":"/leases"}})", {"ipam", "dataDir"}, R"("/leases")"},
    };
    const auto subnet = flannel::parse_subnet_file(SubnetEnv).value();
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto config = delegated_config(request(row.config), subnet, DelegateStyle::Linux);
        ASSERT_TRUE(config);
        const Value* found = &*config;
        for (const auto step : row.path) found = &schema::at(*found, step);
        EXPECT_EQ(schema::to_json(*found), row.expected);
    }
}

TEST(FlannelPlugin, SaysWhatADelegateMustNotSay) {
    const struct {
        const char* config;
        const char* message;
    } rows[] = {
        {R"({"name":"n","delegate":"bridge"})", "must be an object"},
        {R"({"name":"n","delegate":{"type":7}})", "(string) 'type' field"},
        {R"({"name":"n","delegate":{"name":"x"}})", "must not have 'name'"},
        {R"({"name":"n","delegate":{"ipam":{}}})", "must not have 'ipam'"},
        {R"({"name":"n","delegate":{"type":"flannel"}})", "call itself"},
    };
    LinuxNode node;
    for (const auto& row : rows) {
        const auto result = node.run(node.plugin.add(request(row.config)));
        ASSERT_FALSE(result);
        EXPECT_THAT(result.error().message, HasSubstr(row.message));
    }
    EXPECT_THAT(node.kept(), IsEmpty());
    EXPECT_THAT(node.bridge.calls, IsEmpty());
}

// TRB-10: the issue's "missing subnet.env"
TEST(FlannelPlugin, AsksToTryAgainUntilTheDaemonHasWrittenItsFile) {
    LinuxNode node;
    ASSERT_TRUE(node.files.remove("/run/flannel/subnet.env"));
    const auto result = node.run(node.plugin.add(request(R"({"name":"n"})")));
    ASSERT_FALSE(result);
    EXPECT_EQ(code_of(result.error()), static_cast<unsigned>(CniCode::TryAgainLater));
    EXPECT_THAT(result.error().message, HasSubstr("/run/flannel/subnet.env"));
    EXPECT_THAT(result.error().message, HasSubstr("flanneld) has not written it: see its log"));
    EXPECT_THAT(result.error().message, HasSubstr("By hand: write /run/flannel/subnet.env with FLANNEL_NETWORK"));
    ASSERT_TRUE(node.files.remove_all("/run/flannel"));
    EXPECT_THAT(node.run(node.plugin.add(request(R"({"name":"n"})"))).error().message, HasSubstr("flanneld) has never run here"));
    ASSERT_TRUE(node.files.create_directories("/run/flannel", 0755));
    const auto status = node.run(node.plugin.status(request(R"({"name":"n"})")));
    ASSERT_FALSE(status);
    EXPECT_EQ(code_of(status.error()), static_cast<unsigned>(CniCode::NotAvailable));
    node.write_subnet("FLANNEL_NETWORK=ten\n");
    EXPECT_THAT(node.run(node.plugin.add(request(R"({"name":"n"})"))).error().message, HasSubstr("FLANNEL_NETWORK"));
}

TEST(FlannelPlugin, UndoesWhatItDelegatedThoughTheSubnetHasChanged) {
    LinuxNode node;
    ASSERT_TRUE(node.run(node.plugin.add(request(R"({"name":"n"})"))));
    EXPECT_THAT(node.kept(), ElementsAre("abc"));
    node.write_subnet("FLANNEL_NETWORK=10.0.0.0/8\nFLANNEL_SUBNET=10.9.9.1/24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n");
    ASSERT_TRUE(node.run(node.plugin.check(request(R"({"name":"n"})"))));
    ASSERT_TRUE(node.run(node.plugin.remove(request(R"({"name":"n"})"))));
    EXPECT_THAT(node.bridge.calls.back(), testing::StartsWith("DEL "));
    EXPECT_THAT(node.bridge.calls.back(), HasSubstr("10.244.3.0/24"));
    EXPECT_THAT(node.kept(), IsEmpty());
    const auto calls = node.bridge.calls.size();
    EXPECT_TRUE(node.run(node.plugin.remove(request(R"({"name":"n"})")))) << "nothing is left";
    EXPECT_EQ(node.bridge.calls.size(), calls);
}

TEST(FlannelPlugin, UndoesWhatItDelegatedAfterAPowerCut) {
    LinuxNode node;
    ASSERT_TRUE(node.run(node.plugin.add(request(R"({"name":"n"})"))));
    node.files.cut_power();
    ASSERT_TRUE(node.run(node.plugin.remove(request(R"({"name":"n"})"))));
    EXPECT_THAT(node.bridge.calls.back(), testing::StartsWith("DEL "));
    EXPECT_THAT(node.kept(), IsEmpty());
}

TEST(FlannelPlugin, LeavesNothingOfAFailedAddAndCanRepeatAFailedDel) {
    LinuxNode node;
    node.bridge.failure = cni_error(CniCode::Internal, "no");
    EXPECT_FALSE(node.run(node.plugin.add(request(R"({"name":"n"})"))));
    EXPECT_THAT(node.bridge.calls.back(), testing::StartsWith("DEL "));
    EXPECT_THAT(node.kept(), IsEmpty());
    node.bridge.removal_failure = cni_error(CniCode::Internal, "busy");
    EXPECT_FALSE(node.run(node.plugin.add(request(R"({"name":"n"})"))));
    EXPECT_THAT(node.kept(), ElementsAre("abc")) << "what could not be undone is not forgotten";
    node.bridge.removal_failure.reset();
    EXPECT_TRUE(node.run(node.plugin.remove(request(R"({"name":"n"})"))));
    EXPECT_THAT(node.kept(), IsEmpty());
}

TEST(FlannelPlugin, ForgetsWhatNoAttachmentNeeds) {
    LinuxNode node;
    for (const char* id : {"abc", "def"}) ASSERT_TRUE(node.run(node.plugin.add(request(R"({"name":"n"})", id))));
    CniRequest collect = request(R"({"name":"n","cni.dev/valid-attachments":[{"containerID":"def","ifname":"eth0"}]})", "");
    ASSERT_TRUE(node.run(node.plugin.collect(collect)));
    EXPECT_THAT(node.kept(), ElementsAre("def"));
    EXPECT_THAT(node.bridge.calls.back(), testing::StartsWith("GC "));
    EXPECT_THAT(node.bridge.calls.back(), HasSubstr("valid-attachments"));
}

class NoLocks final : public FileLocks {
public:
    Result<std::unique_ptr<FileLock>> lock(const std::string&) override { return std::unique_ptr<FileLock>(); }
};

struct WindowsNode {
    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
    SeededRandom random{7};
    Logger log{make_null_sink(), "hns"};
    emulator::RememberingDataPlane data_plane;
    emulator::Emulator hns{{loop, files, random, data_plane, log}, {"/hns", *emulator::find_profile("2022")}};
    porthole::hns::Client client{hns};
    NoLocks locks;
    HostLocal host_local{files, locks, {.data_dir = "/leases", .colons = false}};
    Delegates delegates{files, nullptr, ".exe"};
    HnsPlugin bridge{{loop, hns, delegates}, NetworkStyle::Bridge}, overlay{{loop, hns, delegates}, NetworkStyle::Overlay};
    FlannelPlugin plugin{files, delegates, {.style = DelegateStyle::Windows, .subnet_file = "/subnet.env", .data_dir = "/kept"}};

    WindowsNode() {
        delegates.add("host-local", host_local);
        delegates.add("win-bridge", bridge);
        delegates.add("win-overlay", overlay);
        EXPECT_TRUE(files.write("/subnet.env", SubnetEnv, 0644));
        EXPECT_TRUE(run(hns.start()));
    }
    ~WindowsNode() { EXPECT_TRUE(run(hns.close())); }
    template <class T>
    Result<T> run(Task<T> task) {
        return sim::run(loop, std::move(task));
    }
    void make_network(const char* name, const char* type) {
        hcn::HostComputeNetwork network;
        network.name = name;
        network.type = type;
        hcn::Subnet subnet;
        subnet.ip_address_prefix = "10.244.3.0/24";
        subnet.routes = {{.next_hop = "10.244.3.1", .destination_prefix = "0.0.0.0/0"}};
        if (std::string(type) == "Overlay")
            subnet.policies = {porthole::hns::make_policy("VSID", hcn::IsolationSettings{.isolation_id = 4096})};
        network.ipams = {{.type = "Static", .subnets = {subnet}}};
        ASSERT_TRUE(run(client.create(network)));
        loop.advance(5s);
    }
    std::string make_namespace() {
        hcn::HostComputeNamespace space;
        space.type = "Host";
        return run(client.create(space)).value().id;
    }
};

// NET-15
TEST(FlannelPlugin, MakesEndpointsByWinBridgeAndWinOverlayWithTheNodesRange) {
    const struct {
        const char* network;
        const char* type;
        const char* delegate;
        const char* address;
    } rows[] = {{"cbr0", "L2Bridge", "win-bridge", "10.244.3.3"}, {"vxlan0", "Overlay", "win-overlay", "10.244.3.2"}};
    for (const auto& row : rows) {
        SCOPED_TRACE(row.network);
        WindowsNode node;
        node.make_network(row.network, row.type);
        const std::string space = node.make_namespace();
        const CniRequest call = request(R"({"name":")" + std::string(row.network) + R"(","type":"flannel","capabilities":{"dns":true},
            "runtimeConfig":{"dns":{"servers":["10.96.0.10"],"searches":["default.svc.cluster.local"]}},
            "delegate":{"type":")" + row.delegate +
                                            R"(","apiVersion":2,"policies":[{"name":"EndpointPolicy",
                "value":{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.96.0.0/12"]}}}]}})",
                                        "abc", space);
        const auto result = node.run(node.plugin.add(call));
        ASSERT_TRUE(result) << result.error().message;
        EXPECT_EQ(result->ips.at(0).address.to_string(), row.address);
        const auto endpoint = node.run(node.client.find<hcn::HostComputeEndpoint>("abc_" + std::string(row.network))).value();
        ASSERT_TRUE(endpoint);
        EXPECT_EQ(endpoint->host_compute_namespace, space);
        EXPECT_THAT(endpoint->dns.search, ElementsAre("default.svc.cluster.local"));
        std::set<std::string> exceptions;
        for (const auto& nat : porthole::hns::all_settings<hcn::OutboundNatSettings>(endpoint->policies, "OutBoundNAT"))
            exceptions.insert(nat.exceptions.begin(), nat.exceptions.end());
        EXPECT_TRUE(exceptions.contains("10.96.0.0/12"));
        EXPECT_EQ(exceptions.size(), 2u) << "translation is the endpoint's: pods' own range is exempt";
        ASSERT_TRUE(node.run(node.plugin.check(call)));
        ASSERT_TRUE(node.run(node.plugin.remove(call)));
        EXPECT_FALSE(node.run(node.client.find<hcn::HostComputeEndpoint>("abc_" + std::string(row.network))).value());
        EXPECT_THAT(node.files.list("/kept").value(), IsEmpty());
    }
}

}  // namespace
}  // namespace porthole::cni
