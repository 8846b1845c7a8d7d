#include "node_network/node_network.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "client/fake/fake_api.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::cni {
namespace {

namespace core = api::core::v1;
using namespace std::chrono_literals;

class FakeStack final : public net::NetworkStack {
public:
    Result<std::vector<net::Route>> own_routes() override { return routes; }
    Result<void> set_route(const net::Route& route) override {
        if (route.gateway && unreachable_gateways.contains(*route.gateway)) return Error(Reason::Io, "Network is unreachable");
        std::erase_if(routes, [&](const net::Route& other) { return other.destination == route.destination; });
        routes.push_back(route);
        return {};
    }
    Result<void> remove_route(const net::Route& route) override {
        std::erase(routes, route);
        return {};
    }
    Result<std::vector<net::InterfaceAddress>> addresses() override { return std::vector<net::InterfaceAddress>(); }
    int uplink_mtu() override { return 1400; }
    Result<void> remove_device(const std::string& name) override {
        removed_devices.push_back(name);
        return {};
    }
    Result<std::string> setting(const std::string& name) override { return settings[name]; }
    Result<void> set_setting(const std::string& name, const std::string& value) override {
        if (absent.contains(name)) return Error(Reason::NotFound, "no");
        settings[name] = value;
        return {};
    }
    std::string text() const {
        std::vector<std::string> lines;
        for (const net::Route& route : routes) {
            const char* kind = route.kind == net::Route::Kind::Local         ? "local "
                               : route.kind == net::Route::Kind::Unreachable ? "unreachable "
                                                                             : "";
            lines.push_back(kind + route.destination.to_string() + (route.gateway ? " via " + route.gateway->to_string() : ""));
        }
        std::ranges::sort(lines);
        std::string text;
        for (const auto& line : lines) text += line + "\n";
        return text;
    }

    std::vector<net::Route> routes;
    std::set<IpAddress> unreachable_gateways;
    std::vector<std::string> removed_devices;
    std::map<std::string, std::string> settings;
    std::set<std::string> absent;
};

class FakeNft final : public net::NftExecutor {
public:
    Task<> run(std::string commands) override {
        texts.push_back(std::move(commands));
        if (meanwhile) co_return co_await meanwhile();
        co_return {};
    }
    Task<> change(std::string, std::vector<net::NftChange>) override { co_return {}; }
    Task<net::NftTable> read(std::string, std::vector<std::string>) override { co_return net::NftTable(); }
    std::optional<std::uint32_t> generation() override { return std::nullopt; }
    std::vector<std::string> texts;
    std::function<Task<>()> meanwhile;  ///< what happens while commands run
};

core::Node api_node(const std::string& name, const std::string& address, const std::string& range) {
    core::Node node;
    node.metadata.name = name;
    node.status.addresses = {{.type = "InternalIP", .address = address}};
    if (!range.empty()) node.spec.pod_cidrs = {range};
    return node;
}

IpPrefix prefix(const char* text) { return IpPrefix::parse(text).value(); }

class FakeOverlay final : public net::Overlay {
public:
    Result<void> ensure(const net::OverlayDevice& device) override {
        devices[device.name] = device;
        return {};
    }
    Result<void> set_peer(const std::string&, const net::OverlayPeer& peer) override {
        ++sets;
        if (refused.contains(peer.mac)) return Error(Reason::Io, "Operation not supported");
        peers.insert(peer);
        return {};
    }
    Result<void> remove_peer(const std::string&, const net::OverlayPeer& peer) override {
        peers.erase(peer);
        return {};
    }
    std::map<std::string, net::OverlayDevice> devices;
    std::set<net::OverlayPeer> peers;
    std::set<std::string> refused;
    int sets = 0;
};

core::Node overlay_node(const std::string& name, const std::string& address, const std::string& range, const std::string& mac) {
    core::Node node = api_node(name, address, range);
    node.metadata.annotations = {{"flannel.alpha.coreos.com/backend-type", "vxlan"},
                                 {"flannel.alpha.coreos.com/backend-data", R"({"VNI":4096,"VtepMAC":")" + mac + R"("})"},
                                 {"flannel.alpha.coreos.com/public-ip", address}};
    return node;
}

struct NetworkWorld {
    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    SeededRandom random{1};
    Logger log{make_null_sink(), "network"};
    client::Informers informers{{loop, client, random, log}};
    FakeStack stack;
    FakeNft nft;
    FakeOverlay overlay;
    sim::MemoryFileSystem files{loop};
    flannel::Backend backend = flannel::Backend::HostGateway;
    NodeNetwork network{{loop, informers, stack, nft, files, client, overlay, log},
                        {.node_name = "n1",
                         .node_address = IpAddress::parse("192.168.0.1").value(),
                         .cluster_prefixes = {prefix("10.244.0.0/16")},
                         .service_prefixes = {prefix("10.96.0.0/12")},
                         .cni_conf_dir = "/cni",
                         .ipam_dir = "/ipam",
                         .backend = backend}};
    Scope scope{loop};

    explicit NetworkWorld(flannel::Backend chosen = flannel::Backend::HostGateway) : backend(chosen) {
        EXPECT_TRUE(network.prepare().has_value());
        informers.start();
        scope.spawn(network.run());
    }
    ~NetworkWorld() {
        sim::run(loop, scope.close()).value();
        sim::run(loop, informers.close()).value();
    }
};

TEST(NodeNetwork, PreparesTheNodeBeforeTheApiIsThere) {
    NetworkWorld world;
    EXPECT_EQ(world.stack.settings["net/ipv4/ip_forward"], "1");
    EXPECT_TRUE(world.network.bridge_netfilter());
    EXPECT_EQ(world.stack.text(), "local 10.96.0.0/12\nunreachable 10.244.0.0/16\n");
    world.stack.absent = {"net/bridge/bridge-nf-call-iptables"};
    EXPECT_TRUE(world.network.prepare().has_value());
    EXPECT_FALSE(world.network.bridge_netfilter());
}

TEST(NodeNetwork, ConfiguresPodsOnceTheNodeHasARange) {
    NetworkWorld world;
    world.api.put(api_node("n1", "192.168.0.1", ""));
    world.loop.advance(1s);
    EXPECT_FALSE(world.network.ready());
    EXPECT_FALSE(world.files.exists("/cni/10-porthole.conflist"));
    world.api.put(api_node("n1", "192.168.0.1", "10.244.1.0/24"));
    world.loop.advance(1s);
    EXPECT_TRUE(world.network.ready());
    const std::string configuration = world.files.read("/cni/10-porthole.conflist").value();
    EXPECT_NE(configuration.find("\"subnet\": \"10.244.1.0/24\""), std::string::npos);
    EXPECT_NE(configuration.find("\"mtu\": 1400"), std::string::npos);
    ASSERT_EQ(world.nft.texts.size(), 1u);
    EXPECT_NE(world.nft.texts[0].find("elements = { 10.244.1.0/24 }"), std::string::npos);
}

TEST(NodeNetwork, BearsThatTheNodeIsDeletedWhilePodsAreConfigured) {
    NetworkWorld world;
    world.nft.meanwhile = [&]() -> Task<> {
        world.api.erase<core::Node>({"", "n1"});
        return world.loop.sleep(1s);
    };
    world.api.put(api_node("n1", "192.168.0.1", "10.244.1.0/24"));
    world.loop.advance(5s);
    EXPECT_EQ(world.nft.texts.size(), 1u);
    world.nft.meanwhile = nullptr;
    world.api.put(api_node("n1", "192.168.0.1", "10.244.2.0/24"));
    world.loop.advance(5s);
    EXPECT_TRUE(world.network.ready());
    EXPECT_NE(world.files.read("/cni/10-porthole.conflist").value().find("\"subnet\": \"10.244.2.0/24\""), std::string::npos);
}

// NET-06, NET-16
TEST(NodeNetwork, NET06_SpeaksVxlanAsWindowsNodesDo) {
    NetworkWorld world(flannel::Backend::Vxlan);
    world.api.put(api_node("n1", "192.168.0.1", "10.244.1.0/24"));
    core::Node windows = api_node("win", "192.168.0.3", "10.244.3.0/24");
    windows.metadata.annotations = {{"flannel.alpha.coreos.com/backend-type", "vxlan"},
                                    {"flannel.alpha.coreos.com/backend-data", R"({"VNI":4096,"VtepMAC":"00:15:5d:00:00:03"})"},
                                    {"flannel.alpha.coreos.com/public-ip", "192.168.0.3"}};
    world.api.put(windows);
    world.api.put(api_node("silent", "192.168.0.4", "10.244.4.0/24"));
    world.loop.advance(1s);
    const net::OverlayDevice device = world.overlay.devices["flannel.4096"];
    EXPECT_EQ(device.vni, 4096u);
    EXPECT_EQ(device.port, 4789);
    EXPECT_EQ(device.address.to_string(), "10.244.1.0");
    EXPECT_EQ(device.mtu, 1350);
    ASSERT_EQ(world.overlay.peers.size(), 1u) << "who publishes nothing cannot be reached";
    EXPECT_EQ(world.overlay.peers.begin()->mac, "00:15:5d:00:00:03");
    EXPECT_EQ(world.stack.text(), "10.244.3.0/24 via 10.244.3.0\nlocal 10.96.0.0/12\nunreachable 10.244.0.0/16\n");
    const auto published = world.api.find<core::Node>({"", "n1"})->metadata.annotations;
    EXPECT_EQ(published.at("flannel.alpha.coreos.com/backend-type"), "vxlan");
    EXPECT_EQ(published.at("flannel.alpha.coreos.com/backend-data"), "{\"VNI\":4096,\"VtepMAC\":\"" + device.mac + "\"}");
    EXPECT_NE(world.files.read("/cni/10-porthole.conflist").value().find("\"mtu\": 1350"), std::string::npos);
    world.api.erase<core::Node>({"", "win"});
    world.loop.advance(1s);
    EXPECT_TRUE(world.overlay.peers.empty());
}

TEST(NodeNetwork, RoutesToThePodsOfOtherNodesAsTheyComeAndGo) {
    NetworkWorld world;
    world.api.put(api_node("n1", "192.168.0.1", "10.244.1.0/24"));
    world.api.put(api_node("n2", "192.168.0.2", "10.244.2.0/24"));
    world.api.put(api_node("n3", "192.168.0.3", ""));
    world.loop.advance(1s);
    const std::string base = "local 10.96.0.0/12\nunreachable 10.244.0.0/16\n";
    EXPECT_EQ(world.stack.text(), "10.244.2.0/24 via 192.168.0.2\n" + base);
    world.api.put(api_node("n3", "192.168.0.3", "10.244.3.0/24"));
    world.api.put(api_node("n2", "192.168.0.22", "10.244.2.0/24"));
    world.loop.advance(1s);
    EXPECT_EQ(world.stack.text(), "10.244.2.0/24 via 192.168.0.22\n10.244.3.0/24 via 192.168.0.3\n" + base);
    world.api.erase<core::Node>({"", "n2"});
    world.loop.advance(1s);
    EXPECT_EQ(world.stack.text(), "10.244.3.0/24 via 192.168.0.3\n" + base);
}

TEST(NodeNetwork, ANodeTakesNoTrafficByTheRangeThatItNames) {
    const std::string base = "local 10.96.0.0/12\nunreachable 10.244.0.0/16\n";
    for (const char* range :
         {"0.0.0.0/1", "192.0.2.10/32", "10.96.0.0/12", "10.96.0.10/32", "10.244.1.0/24", "10.244.1.7/32", "10.244.0.0/16"}) {
        SCOPED_TRACE(range);
        for (const auto backend : {flannel::Backend::HostGateway, flannel::Backend::Vxlan}) {
            NetworkWorld world(backend);
            world.api.put(api_node("n1", "192.168.0.1", "10.244.1.0/24"));
            core::Node thief = api_node("thief", "192.168.0.2", range);
            thief.metadata.annotations = {{"flannel.alpha.coreos.com/backend-type", "vxlan"},
                                          {"flannel.alpha.coreos.com/backend-data", R"({"VNI":4096,"VtepMAC":"00:15:5d:00:00:03"})"},
                                          {"flannel.alpha.coreos.com/public-ip", "192.168.0.2"}};
            world.api.put(thief);
            world.loop.advance(1s);
            EXPECT_EQ(world.stack.text(), base);
            EXPECT_TRUE(world.overlay.peers.empty());
        }
    }
}

TEST(NodeNetwork, ANodeThatCannotBeReachedKeepsNoOtherFromIt) {
    for (const char* mac : {"nonsense", "01:00:5e:00:00:01", "00:00:00:00:00:00", "02:00:00:00:00:09"}) {
        SCOPED_TRACE(mac);
        NetworkWorld world(flannel::Backend::Vxlan);
        world.overlay.refused = {mac};
        world.api.put(api_node("n1", "192.168.0.1", "10.244.1.0/24"));
        world.api.put(overlay_node("bad", "192.168.0.2", "10.244.2.0/24", mac));
        world.api.put(overlay_node("good", "192.168.0.3", "10.244.3.0/24", "02:00:00:00:00:03"));
        world.loop.advance(1s);
        EXPECT_TRUE(world.network.ready());
        ASSERT_EQ(world.overlay.peers.size(), 1u);
        EXPECT_EQ(world.overlay.peers.begin()->mac, "02:00:00:00:00:03");
        EXPECT_NE(world.stack.text().find("10.244.3.0/24 via 10.244.3.0\n"), std::string::npos) << world.stack.text();
    }
}

TEST(NodeNetwork, ANodeThatChangesAllTheTimeIsNotFollowedEachTime) {
    NetworkWorld world(flannel::Backend::Vxlan);
    world.api.put(api_node("n1", "192.168.0.1", "10.244.1.0/24"));
    const auto change = [&](int number) {
        world.api.put(overlay_node("n2", "192.168.0.2", "10.244.2.0/24", "02:00:00:00:00:" + std::to_string(10 + number)));
    };
    change(0);
    world.loop.advance(1s);
    world.overlay.sets = 0;
    for (int i = 1; i < 90; ++i) {
        change(i);
        world.loop.advance(10ms);
    }
    EXPECT_LE(world.overlay.sets, 6);
    world.loop.advance(1s);
    EXPECT_EQ(world.overlay.peers.begin()->mac, "02:00:00:00:00:99");
}

// NET-02
TEST(NodeNetwork, NET02_LeavesTheRoutesToARouter) {
    NetworkWorld world(flannel::Backend::Alloc);
    world.api.put(api_node("n1", "192.168.0.1", "10.244.1.0/24"));
    world.api.put(api_node("n2", "192.168.7.2", "10.244.2.0/24"));
    world.loop.advance(1s);
    EXPECT_EQ(world.stack.text(), "local 10.96.0.0/12\n") << "all else leaves by the default route";
    EXPECT_EQ(world.api.find<core::Node>({"", "n1"})->metadata.annotations["flannel.alpha.coreos.com/backend-type"], "alloc");
}

TEST(NodeNetwork, SetsRightWhatOthersChangedAndSurvivesNodesOutOfReach) {
    NetworkWorld world;
    world.stack.unreachable_gateways = {IpAddress::parse("172.16.0.9").value()};
    world.api.put(api_node("away", "172.16.0.9", "10.244.9.0/24"));
    world.api.put(api_node("n2", "192.168.0.2", "10.244.2.0/24"));
    world.loop.advance(1s);
    const std::string expected = "10.244.2.0/24 via 192.168.0.2\nlocal 10.96.0.0/12\nunreachable 10.244.0.0/16\n";
    EXPECT_EQ(world.stack.text(), expected);
    world.stack.routes.clear();
    world.loop.advance(2min);
    EXPECT_EQ(world.stack.text(), expected);
    EXPECT_TRUE(sim::run(world.loop, world.network.remove()).has_value());
    EXPECT_EQ(world.stack.text(), "");
    EXPECT_EQ(world.stack.removed_devices, std::vector<std::string>{"cni0"});
}

}  // namespace
}  // namespace porthole::cni
