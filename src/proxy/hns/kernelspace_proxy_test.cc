#include "proxy/hns/kernelspace_proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "hns/emulator/data_plane/remembering_data_plane.h"
#include "hns/emulator/emulator.h"
#include "hns/emulator/failing_hns.h"
#include "hns/guid.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::proxy::hns {
namespace {

namespace core = api::core::v1;
namespace discovery = api::discovery::v1;
namespace emulator = porthole::hns::emulator;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using namespace std::chrono_literals;

/// Counts the calls that reach the host network service.
class CountingHns final : public porthole::hns::Hns {
public:
    explicit CountingHns(porthole::hns::Hns& inner) : inner_(inner) {}
    using Kind = porthole::hns::ObjectKind;
    Task<std::string> enumerate(Kind kind, std::string query) override { return ++reads, inner_.enumerate(kind, std::move(query)); }
    Task<std::string> create(Kind kind, std::string parent, std::string settings) override {
        return ++writes, inner_.create(kind, std::move(parent), std::move(settings));
    }
    Task<std::string> query(Kind kind, std::string id, std::string query) override {
        return ++reads, inner_.query(kind, std::move(id), std::move(query));
    }
    Task<> modify(Kind kind, std::string id, std::string settings) override {
        return ++writes, inner_.modify(kind, std::move(id), std::move(settings));
    }
    Task<> remove(Kind kind, std::string id) override { return ++writes, inner_.remove(kind, std::move(id)); }
    Task<std::string> call_v1(std::string method, std::string path, std::string body) override {
        return inner_.call_v1(std::move(method), std::move(path), std::move(body));
    }
    Task<> subscribe(std::function<void(const porthole::hns::Notification&)> listener) override {
        return inner_.subscribe(std::move(listener));
    }
    int reads = 0, writes = 0;

private:
    porthole::hns::Hns& inner_;
};

class RecordingHealth final : public HealthListener {
public:
    void set_health(const std::map<std::uint16_t, ServiceTable::Health>& health) override { told = health; }
    std::map<std::uint16_t, ServiceTable::Health> told;
};

core::Node node(const std::string& name, const std::string& address) {
    core::Node object;
    object.metadata.name = name;
    object.status.addresses = {{.type = "InternalIP", .address = address}};
    return object;
}

core::Service service(const std::string& name = "web", const std::string& address = "10.96.0.20") {
    core::Service object;
    object.metadata.namespace_ = "default";
    object.metadata.name = name;
    object.spec.type = "ClusterIP";
    object.spec.cluster_ip = address;
    object.spec.cluster_ips = {address};
    object.spec.ports.push_back({.protocol = "TCP", .port = 80});
    return object;
}

/// Addresses in 10.244.3.0/24 are on this node.
discovery::EndpointSlice slice(const std::vector<std::string>& addresses, const std::string& name = "web") {
    discovery::EndpointSlice object;
    object.metadata.namespace_ = "default";
    object.metadata.name = name + "-1";
    object.metadata.labels = {{"kubernetes.io/service-name", name}};
    object.address_type = "IPv4";
    object.ports.push_back({.name = "", .protocol = "TCP", .port = 8080});
    for (const auto& address : addresses) {
        discovery::Endpoint endpoint;
        endpoint.addresses = {address};
        endpoint.node_name = address.starts_with("10.244.3.") ? "win1" : "lin1";
        object.endpoints.push_back(endpoint);
    }
    return object;
}

struct World {
    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    SeededRandom random{1};
    Logger log{make_null_sink(), "proxy"};
    client::Informers informers{{loop, client, random, log}};
    client::EventRecorder events{loop, client, log, "kube-proxy", "win1"};
    sim::MemoryFileSystem files{loop};
    emulator::RememberingDataPlane data_plane;
    emulator::Emulator emulated;
    emulator::FailingHns failing{emulated};
    CountingHns counted{failing};
    porthole::hns::Client hns{emulated};
    RecordingHealth health;
    std::unique_ptr<KernelspaceProxy> proxy;
    std::unique_ptr<Scope> scope;
    std::optional<Error> ended;
    std::function<Result<IpAddress>(const std::string&, const IpPrefix&)> reserve;

    explicit World(const char* release = "2022") : World(*emulator::find_profile(release)) {}
    explicit World(const emulator::Profile& profile) : emulated({loop, files, random, data_plane, log}, {"/hns", profile}) {
        EXPECT_TRUE(sim::run(loop, emulated.start()));
        informers.start();
        api.put(node("win1", "192.0.2.13"));
    }
    ~World() {
        stop();
        EXPECT_TRUE(sim::run(loop, informers.close()));
        EXPECT_TRUE(sim::run(loop, emulated.close()));
    }
    void start(KernelspaceOptions options = {}) {
        options.node_name = "win1";
        if (options.network_name.empty()) options.network_name = "cbr0";
        proxy = std::make_unique<KernelspaceProxy>(KernelspaceContext{loop, informers, counted, events, &health,
                                                                      [](const IpAddress&) { return "00-15-5D-00-00-13"; }, log, reserve},
                                                   options);
        scope = std::make_unique<Scope>(loop, [this](const Error& error) { ended = error; });
        scope->spawn(proxy->run());
        scope->spawn(proxy->listen());
        scope->spawn(events.run());
        loop.advance(2s);
    }
    void stop() {
        if (scope) EXPECT_TRUE(sim::run(loop, scope->close()));
        scope.reset();
        proxy.reset();
    }
    std::string make_network(const char* name = "cbr0", const char* type = "L2Bridge") {
        hcn::HostComputeNetwork network;
        network.name = name;
        network.type = type;
        hcn::Subnet subnet;
        subnet.ip_address_prefix = "10.244.3.0/24";
        subnet.routes = {{.next_hop = "10.244.3.1", .destination_prefix = "0.0.0.0/0"}};
        if (std::string(type) == "Overlay") {
            subnet.policies = {porthole::hns::make_policy("VSID", hcn::IsolationSettings{.isolation_id = 4096})};
            network.policies = {porthole::hns::make_policy(
                "RemoteSubnetRoute", hcn::RemoteSubnetRouteSettings{.destination_prefix = "10.244.4.0/24",
                                                                    .isolation_id = 4096,
                                                                    .provider_address = "192.0.2.14",
                                                                    .distributed_router_mac_address = "00-15-5D-00-00-0E"})};
        }
        network.ipams = {{.type = "Static", .subnets = {subnet}}};
        const auto created = sim::run(loop, hns.create(network));
        EXPECT_TRUE(created) << created.error().message;
        loop.advance(3s);
        return created->id;
    }
    std::string make_pod(const std::string& address, const char* network = "cbr0") {
        hcn::HostComputeEndpoint endpoint;
        endpoint.name = "pod" + address + "_" + network;
        endpoint.host_compute_network = sim::run(loop, hns.find<hcn::HostComputeNetwork>(network)).value()->id;
        endpoint.ip_configurations = {{.ip_address = address}};
        return sim::run(loop, hns.create(endpoint)).value().id;
    }
    std::vector<hcn::HostComputeEndpoint> endpoints() { return sim::run(loop, hns.list<hcn::HostComputeEndpoint>()).value(); }
    std::vector<hcn::HostComputeLoadBalancer> balancers() { return sim::run(loop, hns.list<hcn::HostComputeLoadBalancer>()).value(); }
    /// "vip:port->port [address,address]", sorted.
    std::vector<std::string> rules() {
        std::map<std::string, std::string> addresses;
        for (const auto& endpoint : endpoints())
            addresses[porthole::hns::canonical_guid(endpoint.id)] = endpoint.ip_configurations.at(0).ip_address;
        std::vector<std::string> lines;
        for (const auto& balancer : balancers()) {
            const auto& mapping = balancer.port_mappings.at(0);
            std::set<std::string> backends;
            for (const auto& id : balancer.host_compute_endpoints) backends.insert(addresses[porthole::hns::canonical_guid(id)]);
            std::string line = (balancer.frontend_vips.empty() ? "*" : balancer.frontend_vips[0]) + ":" +
                               std::to_string(mapping.external_port) + "->" + std::to_string(mapping.internal_port);
            for (const auto& backend : backends) line += " " + backend;
            lines.push_back(line);
        }
        std::ranges::sort(lines);
        return lines;
    }
    std::vector<std::string> event_reasons() {
        std::vector<std::string> reasons;
        for (const auto& event : api.list<core::Event>()) reasons.push_back(event.reason);
        return reasons;
    }
    void control(const std::string& request) { ASSERT_TRUE(sim::run(loop, emulated.control(request))); }
};

// SVC-02, SVC-01, SVC-24
TEST(KernelspaceProxy, SVC02_ProgramsServicesIntoHns) {
    World world;
    world.make_network();
    world.make_pod("10.244.3.7");
    core::Service web = service();
    web.spec.type = "NodePort";
    web.spec.ports[0].node_port = 30080;
    world.api.put(web);
    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    world.start();
    EXPECT_THAT(world.rules(), ElementsAre("*:30080->8080 10.244.3.7 10.244.4.9", "10.96.0.20:80->8080 10.244.3.7 10.244.4.9"));
    int remote = 0;
    for (const auto& endpoint : world.endpoints()) {
        if (!porthole::hns::is_remote(endpoint)) continue;
        ++remote;
        EXPECT_EQ(endpoint.mac_address, "02-11-0A-F4-04-09");
    }
    EXPECT_EQ(remote, 1) << "one for both load balancers";
    EXPECT_TRUE(world.proxy->in_step());
}

// SVC-07
TEST(KernelspaceProxy, SVC07_WaitsForTheNetwork) {
    World world;
    world.api.put(service());
    world.api.put(slice({"10.244.4.9"}));
    world.start();
    world.loop.advance(60s);
    EXPECT_FALSE(world.ended);
    EXPECT_THAT(world.rules(), IsEmpty());
    world.make_network();
    EXPECT_EQ(world.rules().size(), 1u);
}

// SVC-08, SVC-09, SVC-11
TEST(KernelspaceProxy, SVC08_SaysWhatAHostLacksForWhatIsAsked) {
    const IpAddress source = IpAddress::parse("10.244.3.254").value();
    const struct {
        const char* name;
        const char* release;
        const char* type;
        KernelspaceOptions options;
        const char* message;
    } rows[] = {
        {"overlay without a source", "2022", "Overlay", {}, "source-vip flag not set"},
        {"overlay without its gate",
         "2022",
         "Overlay",
         {.source_vip = source, .overlay_gate = false},
         "WinOverlay feature gate not enabled"},
        {"DSR on 1803", "1803", "L2Bridge", {.enable_dsr = true}, "needs 9.2 or later"},
        {"no version 2", "2016", "L2Bridge", {}, "needs 9.2 or later"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        World world(row.release);
        if (std::string(row.release) == "2022") world.make_network("cbr0", row.type);
        world.start(row.options);
        ASSERT_TRUE(world.ended);
        EXPECT_THAT(world.ended->message, HasSubstr(row.message));
    }
}

TEST(KernelspaceProxy, ChangesOnlyWhatAServiceChanges) {
    World world("2025");
    world.make_network();
    for (int i = 0; i < 50; ++i) {
        const std::string name = "s" + std::to_string(i);
        world.api.put(service(name, "10.96.1." + std::to_string(i)));
        world.api.put(slice({"10.244.4." + std::to_string(i + 1)}, name));
    }
    world.start();
    ASSERT_EQ(world.rules().size(), 50u);
    world.counted.reads = world.counted.writes = 0;
    world.api.put(slice({"10.244.4.200"}, "s7"));
    world.loop.advance(100ms);
    EXPECT_LE(world.counted.writes, 3) << "a remote endpoint made, the load balancer changed, a remote endpoint removed";
    EXPECT_LE(world.counted.reads, 3);
    EXPECT_THAT(world.rules(), testing::Contains("10.96.1.7:80->8080 10.244.4.200"));
    for (const auto& endpoint : world.endpoints()) EXPECT_NE(endpoint.ip_configurations[0].ip_address, "10.244.4.8");
    world.counted.writes = 0;
    world.loop.advance(60s);
    EXPECT_EQ(world.counted.writes, 0) << "nothing has changed";
}

TEST(KernelspaceProxy, RemovesWhatAServiceNeededWhenItGoes) {
    World world;
    world.make_network();
    world.make_pod("10.244.3.7");
    world.api.put(service());
    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    world.start();
    world.api.erase<core::Service>({"default", "web"});
    world.loop.advance(1s);
    EXPECT_THAT(world.rules(), IsEmpty());
    ASSERT_EQ(world.endpoints().size(), 1u) << "the pod's own endpoint stays";
    EXPECT_EQ(world.endpoints()[0].name, "pod10.244.3.7_cbr0");
}

// SVC-25
TEST(KernelspaceProxy, SVC25_NeverTakesALocalPodForARemoteOne) {
    World world;
    world.make_network();
    world.api.put(service());
    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    world.start();
    EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->8080 10.244.4.9")) << "the CNI plugin has not made it yet";
    world.make_pod("10.244.3.7");
    world.loop.advance(2s);
    EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->8080 10.244.3.7 10.244.4.9"));
    world.api.put(slice({}));
    world.loop.advance(1s);
    EXPECT_EQ(world.endpoints().size(), 1u);
}

TEST(KernelspaceProxy, SVC25_WaitsUntilItsNodeIsInTheApi) {
    World world;
    world.make_network();
    world.make_pod("10.244.3.7");
    world.api.erase<core::Node>({"", "win1"});
    world.api.put(service());
    world.api.put(slice({"10.244.3.7"}));
    world.start();
    EXPECT_THAT(world.rules(), IsEmpty());
    world.api.put(node("win1", "192.0.2.13"));
    world.loop.advance(3s);
    EXPECT_EQ(world.rules().size(), 1u);
}

// SVC-26
TEST(KernelspaceProxy, SVC26_AdoptsItsOwnAfterARestartAndRemovesWhatIsStale) {
    World world;
    world.make_network();
    world.api.put(service("web"));
    world.api.put(slice({"10.244.4.9"}, "web"));
    world.api.put(service("old", "10.96.0.30"));
    world.api.put(slice({"10.244.4.10"}, "old"));
    world.start();
    ASSERT_EQ(world.rules().size(), 2u);
    world.stop();
    world.api.erase<core::Service>({"default", "old"});
    world.counted.writes = 0;
    world.start();
    EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->8080 10.244.4.9"));
    EXPECT_EQ(world.endpoints().size(), 1u);
    EXPECT_EQ(world.counted.writes, 2) << "only the stale ones: traffic of the other goes on";
}

TEST(KernelspaceProxy, LeavesWhatOthersHaveMade) {
    World world;
    const std::string network = world.make_network();
    hcn::HostComputeLoadBalancer foreign;
    foreign.host_compute_endpoints = {world.make_pod("10.244.3.8")};
    foreign.frontend_vips = {"10.96.0.99"};
    foreign.port_mappings = {{.protocol = 6, .internal_port = 80, .external_port = 80}};
    ASSERT_TRUE(sim::run(world.loop, world.hns.create(foreign)));
    hcn::HostComputeEndpoint remote;
    remote.host_compute_network = network;
    remote.flags = porthole::hns::EndpointFlags::RemoteEndpoint;
    remote.ip_configurations = {{.ip_address = "10.244.9.9"}};
    ASSERT_TRUE(sim::run(world.loop, world.hns.create(remote)));
    world.start();
    world.loop.advance(30s);
    EXPECT_EQ(world.balancers().size(), 1u);
    EXPECT_EQ(world.endpoints().size(), 2u);
    ASSERT_TRUE(sim::run(world.loop, world.proxy->clean_up()));
    EXPECT_EQ(world.balancers().size(), 1u);
    EXPECT_EQ(world.endpoints().size(), 2u);
}

TEST(KernelspaceProxy, SaysWhoHoldsAPortAndTakesItOnceItIsFree) {
    World world;
    world.make_network();
    hcn::HostComputeLoadBalancer foreign;
    foreign.host_compute_endpoints = {world.make_pod("10.244.3.8")};
    foreign.frontend_vips = {"10.96.0.20"};
    foreign.port_mappings = {{.protocol = 6, .internal_port = 80, .external_port = 80}};
    const auto held = sim::run(world.loop, world.hns.create(foreign));
    world.api.put(service());
    world.api.put(slice({"10.244.4.9"}));
    world.api.put(service("other", "10.96.0.21"));
    world.api.put(slice({"10.244.4.9"}, "other"));
    world.start();
    EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->80 10.244.3.8", "10.96.0.21:80->8080 10.244.4.9")) << "the other service works";
    EXPECT_THAT(world.event_reasons(), ElementsAre("PortTaken"));
    ASSERT_TRUE(sim::run(world.loop, world.hns.remove<hcn::HostComputeLoadBalancer>(held->id)));
    world.loop.advance(10s);
    EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->8080 10.244.4.9", "10.96.0.21:80->8080 10.244.4.9"));
}

// HNS-14: lost, changed and foreign within ten seconds
TEST(KernelspaceProxy, RepairsWithinTenSeconds) {
    World world;
    world.make_network();
    world.make_pod("10.244.3.7");
    world.api.put(service());
    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    world.start();
    const std::vector<std::string> wanted{"10.96.0.20:80->8080 10.244.3.7 10.244.4.9"};
    ASSERT_EQ(world.rules(), wanted);

    ASSERT_TRUE(sim::run(world.loop, world.hns.remove<hcn::HostComputeLoadBalancer>(world.balancers()[0].id)));
    world.loop.advance(10s);
    EXPECT_EQ(world.rules(), wanted) << "a load balancer was deleted";

    for (const auto& endpoint : world.endpoints()) {
        if (porthole::hns::is_remote(endpoint)) ASSERT_TRUE(sim::run(world.loop, world.hns.remove<hcn::HostComputeEndpoint>(endpoint.id)));
    }
    world.loop.advance(10s);
    EXPECT_EQ(world.rules(), wanted) << "a remote endpoint was deleted";

    hcn::HostComputeLoadBalancer changed = world.balancers()[0];
    ASSERT_TRUE(sim::run(world.loop, world.hns.remove<hcn::HostComputeLoadBalancer>(changed.id)));
    changed.port_mappings[0].internal_port = 9999;
    ASSERT_TRUE(sim::run(world.loop, world.hns.create(changed)));
    world.loop.advance(10s);
    EXPECT_EQ(world.rules(), wanted) << "a load balancer was changed";
    EXPECT_EQ(world.proxy->counts().repaired, 3u);
}

TEST(KernelspaceProxy, SVC26_StartsOverWhenTheNetworkIsAnother) {
    World world;
    const std::string id = world.make_network();
    world.api.put(service());
    world.api.put(slice({"10.244.4.9"}));
    world.start();
    ASSERT_EQ(world.rules().size(), 1u);
    ASSERT_TRUE(sim::run(world.loop, world.hns.remove<hcn::HostComputeNetwork>(id)));
    world.loop.advance(20s);
    world.make_network();
    world.loop.advance(2s);
    EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->8080 10.244.4.9"));
    EXPECT_EQ(world.endpoints().size(), 1u);
}

TEST(KernelspaceProxy, OutlivesARestartOfTheService) {
    World world;
    world.make_network();
    world.api.put(service());
    world.api.put(slice({"10.244.4.9"}));
    world.start();
    world.control(R"({"service":"stop"})");
    world.api.put(slice({"10.244.4.10"}));
    world.loop.advance(30s);
    EXPECT_FALSE(world.ended);
    EXPECT_FALSE(world.proxy->in_step());
    world.control(R"({"service":"start"})");
    world.loop.advance(10s);
    EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->8080 10.244.4.10"));
    EXPECT_TRUE(world.proxy->in_step());
    EXPECT_EQ(world.endpoints().size(), 1u);
}

TEST(KernelspaceProxy, GetsThereWhateverCallFails) {
    for (const char* call : {"HcnCreateLoadBalancer", "HcnDeleteLoadBalancer", "HcnCreateEndpoint", "HcnDeleteEndpoint",
                             "HcnEnumerateEndpoints", "HcnEnumerateLoadBalancers", "HcnQueryNetworkProperties", "HcnModifyLoadBalancer"}) {
        for (const char* code : {"0x8000ffff", "0x800706ba", "0x803b0007"}) {
            SCOPED_TRACE(std::string(call) + " " + code);
            World world("2025");
            world.make_network();
            world.api.put(service());
            world.api.put(slice({"10.244.4.9"}));
            world.start();
            world.control(R"({"fail":[{"call":")" + std::string(call) + R"(","hresult":")" + code + R"(","times":3}]})");
            world.api.put(slice({"10.244.4.10", "10.244.4.11"}));
            world.api.put(service("other", "10.96.0.21"));
            world.loop.advance(1s);
            world.api.put(slice({"10.244.4.12"}, "other"));
            world.loop.advance(45s);
            EXPECT_THAT(world.rules(), ElementsAre("10.96.0.20:80->8080 10.244.4.10 10.244.4.11", "10.96.0.21:80->8080 10.244.4.12"));
            EXPECT_EQ(world.endpoints().size(), 3u);
        }
    }
}

/// Objects of the host that refer to nothing, or are half of something.
std::vector<std::string> half_made(World& world) {
    std::set<std::string> present;
    for (const auto& endpoint : world.endpoints()) present.insert(porthole::hns::canonical_guid(endpoint.id));
    std::vector<std::string> found;
    for (const auto& balancer : world.balancers()) {
        if (balancer.host_compute_endpoints.empty() || balancer.port_mappings.empty()) found.push_back(balancer.id);
        for (const auto& id : balancer.host_compute_endpoints) {
            if (!present.contains(porthole::hns::canonical_guid(id))) found.push_back(balancer.id + " -> " + id);
        }
    }
    return found;
}

// The issue's "HNS errors at every call": of everything that a change of services needs, each call in turn.
TEST(KernelspaceProxy, GetsThereWhicheverSingleCallFails) {
    using When = emulator::FailingHns::When;
    for (const char* release : {"2022", "2025"}) {  // without and with changes of load balancers in place
        for (const When when : {When::Before, When::After}) {
            for (const auto code : {porthole::hns::Hresult::Unexpected, porthole::hns::Hresult::RpcServerUnavailable}) {
                bool reached = true;
                for (int passing = 0; reached; ++passing) {
                    SCOPED_TRACE(std::string(release) + (when == When::Before ? " before" : " after") + " call " +
                                 std::to_string(passing + 1) + " " + porthole::hns::hresult_name(code));
                    World world(release);
                    world.make_network();
                    world.make_pod("10.244.3.7");
                    world.api.put(service());
                    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
                    world.api.put(service("gone", "10.96.0.30"));
                    world.api.put(slice({"10.244.4.20"}, "gone"));
                    world.start();
                    world.failing.fail_after(passing, when, code);
                    world.api.put(slice({"10.244.3.7", "10.244.4.10"}));
                    world.api.put(service("other", "10.96.0.21"));
                    world.api.put(slice({"10.244.4.11"}, "other"));
                    world.api.erase<core::Service>({"default", "gone"});
                    world.loop.advance(100ms);
                    reached = world.failing.failed();
                    EXPECT_THAT(half_made(world), IsEmpty());
                    world.loop.advance(20s);
                    world.failing.stop_failing();
                    EXPECT_THAT(world.rules(),
                                ElementsAre("10.96.0.20:80->8080 10.244.3.7 10.244.4.10", "10.96.0.21:80->8080 10.244.4.11"));
                    EXPECT_EQ(world.endpoints().size(), 3u) << "the pod's and two of other nodes";
                    EXPECT_FALSE(world.ended);
                    ASSERT_LT(passing, 60);
                }
            }
        }
    }
}

// SVC-17: the service and what people are told
TEST(KernelspaceProxy, LocalTrafficPolicyActsAsClusterWithoutDirectServerReturnAndSaysSo) {
    World world(emulator::Profile{"early 2019", 17763, {9, 2}, 0, 64, 256, false});
    world.make_network();
    world.make_pod("10.244.3.7");
    core::Service web = service();
    web.spec.type = "NodePort";
    web.spec.ports[0].node_port = 30080;
    web.spec.external_traffic_policy = "Local";
    world.api.put(web);
    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    world.start();
    EXPECT_THAT(world.rules(), ElementsAre("*:30080->8080 10.244.3.7 10.244.4.9", "10.96.0.20:80->8080 10.244.3.7 10.244.4.9"));
    EXPECT_THAT(world.event_reasons(), ElementsAre("LocalTrafficPolicyNeedsDSR"));
    const auto event = world.api.list<core::Event>().front();
    EXPECT_EQ(event.type, "Warning");
    EXPECT_EQ(event.involved_object.name, "web");
    EXPECT_THAT(event.message, HasSubstr("acts as Cluster on this node"));

    World able("2019");
    able.make_network();
    able.make_pod("10.244.3.7");
    able.api.put(web);
    able.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    able.start();
    EXPECT_THAT(able.rules(), ElementsAre("*:30080->8080 10.244.3.7", "10.96.0.20:80->8080 10.244.3.7 10.244.4.9"));
    EXPECT_THAT(able.event_reasons(), IsEmpty());
}

// SVC-14: told once a service, not with every change
TEST(KernelspaceProxy, AnAffinityTimeoutIsToldToHaveNoEffect) {
    World world;
    world.make_network();
    core::Service web = service();
    web.spec.session_affinity = "ClientIP";
    web.spec.session_affinity_config.emplace();
    web.spec.session_affinity_config->client_ip.emplace();
    web.spec.session_affinity_config->client_ip->timeout_seconds = 60;
    world.api.put(web);
    world.api.put(slice({"10.244.4.9"}));
    world.start();
    ASSERT_EQ(world.balancers().size(), 1u);
    EXPECT_EQ(world.balancers()[0].port_mappings[0].distribution_type, porthole::hns::Distribution::SourceIp);
    world.api.put(slice({"10.244.4.10"}));
    web.metadata.labels["changed"] = "yes";
    world.api.put(web);
    world.loop.advance(30s);
    EXPECT_THAT(world.event_reasons(), ElementsAre("SessionAffinityTimeoutIgnored"));
}

// SVC-21
TEST(KernelspaceProxy, SVC21_CapsBackendsOnOldBuildsAndSaysSo) {
    World world("2019");
    world.make_network();
    std::vector<std::string> many;
    for (int i = 1; i <= 80; ++i) many.push_back("10.244.4." + std::to_string(i));
    world.api.put(service());
    world.api.put(slice(many));
    world.start();
    ASSERT_EQ(world.balancers().size(), 1u);
    EXPECT_EQ(world.balancers()[0].host_compute_endpoints.size(), 64u);
    EXPECT_THAT(world.event_reasons(), ElementsAre("TooManyBackends"));
}

TEST(KernelspaceProxy, SVC21_LearnsTheLimitFromTheHost) {
    World world("2019");
    world.make_network();
    std::vector<std::string> many;
    for (int i = 1; i <= 80; ++i) many.push_back("10.244.4." + std::to_string(i));
    world.api.put(service());
    world.api.put(slice(many));
    world.start({.backend_limit = 1024});
    ASSERT_EQ(world.balancers().size(), 1u);
    EXPECT_EQ(world.balancers()[0].host_compute_endpoints.size(), 64u);
}

// SVC-10, SVC-12, SVC-16: flags as they reach the host
TEST(KernelspaceProxy, SVC10_AsksForDirectServerReturnAndAffinity) {
    World world;
    world.make_network();
    world.make_pod("10.244.3.7");
    core::Service web = service();
    web.spec.type = "LoadBalancer";
    web.spec.ports[0].node_port = 30080;
    web.spec.external_traffic_policy = "Local";
    web.spec.health_check_node_port = 32000;
    web.spec.session_affinity = "ClientIP";
    web.status.load_balancer.ingress = {{.ip = "203.0.113.5"}};
    world.api.put(web);
    world.api.put(slice({"10.244.3.7", "10.244.4.9"}));
    world.start({.enable_dsr = true});
    EXPECT_THAT(world.rules(),
                ElementsAre("*:30080->8080 10.244.3.7", "10.96.0.20:80->8080 10.244.3.7 10.244.4.9", "203.0.113.5:80->8080 10.244.3.7"));
    for (const auto& balancer : world.balancers()) {
        EXPECT_EQ(balancer.flags, porthole::hns::LoadBalancerFlags::EnableDirectServerReturn);
        EXPECT_EQ(balancer.port_mappings[0].distribution_type, porthole::hns::Distribution::SourceIp);
    }
    ASSERT_TRUE(world.health.told.contains(32000));
    EXPECT_EQ(world.health.told.at(32000).local_endpoints, 1u);
}

// SVC-08 (overlay), SVC-24
TEST(KernelspaceProxy, SVC24_RepresentsPodsOfOtherNodesOnAnOverlay) {
    World world;
    world.make_network("vxlan0", "Overlay");
    world.api.put(service());
    world.api.put(slice({"10.244.4.9"}));
    world.start({.network_name = "vxlan0", .source_vip = IpAddress::parse("10.244.3.254").value()});
    ASSERT_EQ(world.balancers().size(), 1u);
    EXPECT_EQ(world.balancers()[0].source_vip, "10.244.3.254");
    std::map<std::string, std::string> providers;
    for (const auto& endpoint : world.endpoints()) {
        const auto settings = porthole::hns::find_settings<hcn::ProviderAddressSettings>(endpoint.policies, "ProviderAddress");
        providers[endpoint.ip_configurations[0].ip_address] = settings ? settings->provider_address : "";
    }
    EXPECT_EQ(providers["10.244.4.9"], "192.0.2.14") << "the node that has its subnet";
    EXPECT_EQ(providers["10.96.0.20"], "192.0.2.13") << "the service's address is here";
    EXPECT_TRUE(providers.contains("10.244.3.254")) << "the source address has an endpoint";
    ASSERT_TRUE(sim::run(world.loop, world.proxy->clean_up()));
    EXPECT_THAT(world.balancers(), IsEmpty());
    EXPECT_THAT(world.endpoints(), IsEmpty());
}

// SVC-08 (overlay)
TEST(KernelspaceProxy, SVC08_ReservesASourceAddressOnAnOverlayUnlessOneIsGiven) {
    World world;
    world.make_network("vxlan0", "Overlay");
    world.api.put(service());
    world.api.put(slice({"10.244.4.9"}));
    std::vector<std::string> asked;
    int failures = 1;
    world.reserve = [&](const std::string& network, const IpPrefix& range) -> Result<IpAddress> {
        asked.push_back(network + " " + range.to_string());
        if (failures-- > 0) return Error(Reason::Io, "disk full");
        return range.base().plus(7);
    };
    world.start({.network_name = "vxlan0"});
    world.loop.advance(10s);
    EXPECT_FALSE(world.ended) << "a failed reservation is tried again";
    EXPECT_THAT(asked, ElementsAre("vxlan0 10.244.3.0/24", "vxlan0 10.244.3.0/24")) << "once it has one, it keeps it";
    ASSERT_EQ(world.balancers().size(), 1u);
    EXPECT_EQ(world.balancers()[0].source_vip, "10.244.3.7");
    world.stop();
    world.start({.network_name = "vxlan0", .source_vip = IpAddress::parse("10.244.3.254").value()});
    EXPECT_EQ(asked.size(), 2u);
    EXPECT_EQ(world.balancers()[0].source_vip, "10.244.3.254");
}

// SVC-31
TEST(KernelspaceProxy, SVC31_IgnoresServicesThatAreNotProxied) {
    World world;
    world.make_network();
    core::Service external = service("external");
    external.spec.type = "ExternalName";
    core::Service headless = service("headless");
    headless.spec.cluster_ip = "None";
    world.api.put(external);
    world.api.put(headless);
    world.api.put(slice({"10.244.4.9"}, "headless"));
    world.start();
    EXPECT_THAT(world.rules(), IsEmpty());
}

// The issue's bench in small: churn leaves nothing stale.
TEST(KernelspaceProxy, SettlesAfterChurn) {
    World world("2025");
    world.make_network();
    world.start();
    SeededRandom random(5);
    std::map<std::string, std::vector<std::string>> wanted;
    for (int step = 0; step < 400; ++step) {
        const auto number = std::to_string(random.below(20));
        std::vector<std::string> addresses;
        for (std::uint64_t i = 0; i < random.below(6); ++i) addresses.push_back("10.244.4." + std::to_string(1 + random.below(40)));
        world.api.put(service("s" + number, "10.96.1." + number));
        world.api.put(slice(addresses, "s" + number));
        wanted[number] = addresses;
        if (random.below(4) == 0) world.loop.advance(50ms);
    }
    world.loop.advance(30s);
    std::set<std::string> used;
    std::size_t rules = 0;
    for (const auto& [number, addresses] : wanted) {
        used.insert(addresses.begin(), addresses.end());
        rules += !addresses.empty();
    }
    EXPECT_EQ(world.rules().size(), rules);
    EXPECT_EQ(world.endpoints().size(), used.size());
}

}  // namespace
}  // namespace porthole::proxy::hns
