#include "hns/emulator/emulator_fixture.h"
#include "runtime/scope.h"

namespace porthole::hns::emulator {
namespace {

class EmulatorTest : public EmulatorFixture {
protected:
    /// Listens until the service disconnects.
    void listen(Scope& scope) {
        scope.spawn(emulator().subscribe([this](const Notification& notification) { heard.push_back(notification); }));
        loop.run_ready();
    }
    std::vector<std::uint32_t> types() const {
        std::vector<std::uint32_t> types;
        for (const Notification& notification : heard) types.push_back(notification.type);
        return types;
    }
    std::vector<Notification> heard;
};

// EMU-02: nothing is left when the kernel refuses.
TEST_F(EmulatorTest, LeavesNothingWhenTheDataPlaneFails) {
    start();
    const auto bridge = make_bridge();
    loop.advance(std::chrono::seconds(2));
    data_plane.fail_next_apply(Hresult::PortNotFound);
    EXPECT_EQ(code_of(client().create(endpoint(bridge.id, "10.9.3.7"))), Hresult::PortNotFound);
    EXPECT_TRUE(emulator().model().endpoints.empty());
    restart();
    EXPECT_TRUE(emulator().model().endpoints.empty());
    EXPECT_EQ(code_of(client().create(endpoint(bridge.id, "10.9.3.7"))), Hresult::Ok);
}

TEST_F(EmulatorTest, TakesAChangeBackThatCannotBeStored) {
    start();
    const auto bridge = make_bridge();
    files.fail_writes(true);
    EXPECT_NE(code_of(client().create(endpoint(bridge.id))), Hresult::Ok);
    EXPECT_TRUE(data_plane.made().endpoints.empty());
    files.fail_writes(false);
    EXPECT_EQ(code_of(client().create(endpoint(bridge.id))), Hresult::Ok);
}

TEST_F(EmulatorTest, CarriesACallThroughWhoseCallerHasGone) {
    start();
    control(R"({"delayMilliseconds":500})");
    Scope caller(loop);
    caller.spawn([](Emulator& emulator) -> Task<> {
        CO_TRY_VOID(co_await emulator.create(ObjectKind::Namespace, "", R"({"Type":"Host"})"));
        co_return {};
    }(emulator()));
    loop.advance(std::chrono::milliseconds(100));
    done(caller.close());
    loop.advance(std::chrono::seconds(1));
    EXPECT_EQ(emulator().model().namespaces.size(), 1u);
}

// Persistence: the same ids after a restart; EnableNonPersistent networks are gone with their endpoints.
TEST_F(EmulatorTest, SurvivesARestartWithTheSameIds) {
    start();
    const auto bridge = make_bridge();
    const auto lasting = make_endpoint(bridge.id);
    const auto space = make_namespace();
    done(client().attach_endpoint(space.id, lasting.id));
    const auto held = get(client().create(balancer({lasting.id}, {"10.96.7.8"})));
    loop.advance(std::chrono::seconds(2));
    const auto before = get(client().get<hcn::HostComputeEndpoint>(lasting.id));
    restart();
    EXPECT_EQ(get(client().get<hcn::HostComputeEndpoint>(lasting.id)), before);
    EXPECT_EQ(get(client().get<hcn::HostComputeNamespace>(space.id)).resources.size(), 1u);
    EXPECT_EQ(get(client().get<hcn::HostComputeLoadBalancer>(held.id)), held);
    EXPECT_EQ(data_plane.made().endpoints.size(), 1u);
    EXPECT_EQ(get(client_v1().network(bridge.id)).management_ip, "192.0.2.13");
}

TEST_F(EmulatorTest, ForgetsNetworksThatAreNotPersistent) {
    start();
    const auto overlay = make_overlay(NetworkFlags::EnableNonPersistent);
    const auto pod = make_endpoint(overlay.id);
    const auto space = make_namespace();
    done(client().attach_endpoint(space.id, pod.id));
    restart();
    EXPECT_TRUE(emulator().model().networks.empty());
    EXPECT_TRUE(emulator().model().endpoints.empty());
    EXPECT_TRUE(get(client().get<hcn::HostComputeNamespace>(space.id)).resources.empty());
}

TEST_F(EmulatorTest, RebootDropsNamespacesAndKeepsPersistentEndpoints) {
    start();
    const auto pod = make_endpoint(make_bridge().id);
    done(client().attach_endpoint(make_namespace().id, pod.id));
    done(emulator().reboot());
    EXPECT_TRUE(emulator().model().namespaces.empty());
    EXPECT_EQ(get(client().get<hcn::HostComputeEndpoint>(pod.id)).host_compute_namespace, "");
    restart();
    EXPECT_TRUE(emulator().model().namespaces.empty());
    EXPECT_EQ(emulator().model().endpoints.size(), 1u);
}

TEST_F(EmulatorTest, NetworksAndEndpointsOutliveAPowerCut) {
    start();
    make_endpoint(make_bridge().id);
    stop();
    files.cut_power();
    start();
    EXPECT_EQ(emulator().model().networks.size(), 1u);
    EXPECT_EQ(emulator().model().endpoints.size(), 1u);
}

// To wait for the disk for each of thousands would be most of what they cost.
TEST_F(EmulatorTest, WhatAProxyMakesAgainMayBeLostByAPowerCut) {
    start();
    const auto bridge = make_bridge();
    make_endpoint(bridge.id);
    auto wanted = remote_endpoint(bridge.id, "10.9.4.5");
    wanted.id = "11111111-2222-8333-A444-555555555555";
    const auto backend = get(client().create(wanted));
    const auto held = get(client().create(balancer({backend.id}, {"10.96.7.8"})));
    restart();
    EXPECT_EQ(emulator().model().endpoints.size(), 2u) << "another process finds all";
    EXPECT_EQ(emulator().model().load_balancers.size(), 1u);
    stop();
    files.cut_power();
    start();
    EXPECT_EQ(emulator().model().endpoints.size(), 1u);
    EXPECT_TRUE(emulator().model().load_balancers.empty());
    EXPECT_EQ(get(client().create(wanted)).id, wanted.id);
}

TEST_F(EmulatorTest, LeavesOutADamagedFile) {
    start();
    const auto bridge = make_bridge();
    const auto pod = make_endpoint(bridge.id);
    stop();
    ASSERT_TRUE(files.write("/var/lib/hns/endpoints/" + pod.id + ".json", "{", 0600));
    ASSERT_TRUE(files.write("/var/lib/hns/networks/half.json.new", "{", 0600));
    start();
    EXPECT_EQ(emulator().model().networks.size(), 1u);
    EXPECT_TRUE(emulator().model().endpoints.empty());
}

// HNS-14: listeners hear of changes and of the service's end.
TEST_F(EmulatorTest, NotifiesAndDisconnects) {
    start();
    Scope scope(loop);
    listen(scope);
    const auto bridge = make_bridge();
    const auto pod = make_endpoint(bridge.id);
    const auto space = make_namespace();
    done(client().attach_endpoint(space.id, pod.id));
    done(client().remove<hcn::HostComputeEndpoint>(pod.id));
    done(client().remove<hcn::HostComputeNamespace>(space.id));
    done(client().remove<hcn::HostComputeNetwork>(bridge.id));
    EXPECT_EQ(types(), (std::vector<std::uint32_t>{2, 5, 9, 0x10, 6, 4}));
    EXPECT_EQ(heard[2].data, R"({"ID":")" + pod.id + R"(","Data":{"NamespaceID":")" + space.id + R"("}})");
    control(R"({"service":"stop"})");
    loop.run_ready();
    EXPECT_EQ(heard.back().type, NotificationType::ServiceDisconnect);
    EXPECT_TRUE(scope.empty());
    done(scope.close());
}

// EMU-07: the service is away, and comes back with its objects under the same ids.
TEST_F(EmulatorTest, AnswersRpcErrorsWhileItIsDownAndRehydrates) {
    start();
    const auto pod = make_endpoint(make_bridge().id);
    const auto held = get(client().create(balancer({pod.id}, {"10.96.7.8"})));
    control(R"({"service":"stop"})");
    EXPECT_EQ(code_of(client().list<hcn::HostComputeNetwork>()), Hresult::RpcServerUnavailable);
    EXPECT_EQ(code_of(client_v1().version()), Hresult::RpcServerUnavailable);
    EXPECT_EQ(code_of(emulator().subscribe([](const Notification&) {})), Hresult::RpcServerUnavailable);
    EXPECT_EQ(code_of(client().features()), Hresult::RpcServerUnavailable);
    control(R"({"service":"start"})");
    EXPECT_EQ(get(client().get<hcn::HostComputeLoadBalancer>(held.id)), held);
    EXPECT_EQ(code_of(client().create(balancer({pod.id}, {"10.96.7.8"}))), Hresult::AlreadyExists);
    EXPECT_EQ(data_plane.restored(), 2u);
}

// EMU-07
TEST_F(EmulatorTest, EMU07_AnAdapterCanGetAnotherName) {
    start();
    const auto on = [&](const std::string& adapter) {
        auto document = network("cbr0", hcn::NetworkMode::L2Bridge, "10.9.3.0/24", "10.9.3.1");
        hcn::NetAdapterNameSettings name;
        name.network_adapter_name = adapter;
        document.policies.push_back(make_policy("NetAdapterName", name));
        return client().create(document);
    };
    control(R"({"renameAdapters":{"Ethernet":"Ethernet 2"}})");
    EXPECT_EQ(code_of(on("Ethernet")), Hresult::AdapterNotFound);
    const auto made = get(on("Ethernet 2"));
    done(client().remove<hcn::HostComputeNetwork>(made.id));
    control(R"({"clear":true})");
    EXPECT_EQ(code_of(on("Ethernet 2")), Hresult::AdapterNotFound);
    EXPECT_EQ(code_of(on("vEthernet (Ethernet)")), Hresult::Ok);
    EXPECT_FALSE(run(emulator().control(R"({"renameAdapters":{"Ethernet":""}})")));
    EXPECT_FALSE(run(emulator().control(R"({"renameAdapters":[]})")));
}

TEST_F(EmulatorTest, FailsCallsOnRequest) {
    start();
    const auto bridge = make_bridge();
    const auto pod = make_endpoint(bridge.id);
    control(R"({"fail":[{"call":"HcnDelete*","hresult":"0x803b0007","times":1}]})");
    EXPECT_EQ(code_of(client().remove<hcn::HostComputeEndpoint>(pod.id)), Hresult::PortNotFound);
    EXPECT_EQ(code_of(client().remove<hcn::HostComputeEndpoint>(pod.id)), Hresult::Ok);
    for (const char* wrong :
         {R"({"sevice":"stop"})", R"({"service":"halt"})", R"({"fail":[{"call":"x"}]})", R"({"delayMilliseconds":-1})", "[]"}) {
        EXPECT_FALSE(run(emulator().control(wrong))) << wrong;
    }
}

TEST_F(EmulatorTest, DoesNotFindTheSwitchPortOfAnEndpointJustAttached) {
    start();
    control(R"({"portRaceMilliseconds":3000})");
    const auto pod = make_endpoint(make_bridge().id);
    done(client().attach_endpoint(make_namespace().id, pod.id));
    EXPECT_EQ(code_of(client().create(balancer({pod.id}, {"10.96.7.8"}))), Hresult::PortNotFound);
    loop.advance(std::chrono::seconds(3));
    EXPECT_EQ(code_of(client().create(balancer({pod.id}, {"10.96.7.8"}))), Hresult::Ok);
}

TEST_F(EmulatorTest, CanBeSlowAndGiveANetworkAnotherId) {
    start();
    const auto bridge = make_bridge();
    make_endpoint(bridge.id);
    control(R"({"delayMilliseconds":250,"remakeNetwork":"cbr0","loseRules":true})");
    EXPECT_TRUE(data_plane.rules_lost());
    const auto began = loop.now();
    const auto found = get(client().find<hcn::HostComputeNetwork>("cbr0"));
    EXPECT_EQ(loop.now() - began, std::chrono::milliseconds(500));  // list and query
    ASSERT_TRUE(found);
    EXPECT_NE(found->id, bridge.id);
    EXPECT_TRUE(emulator().model().endpoints.empty());
    control(R"({"clear":true})");
}

TEST_F(EmulatorTest, HasNoVersion2BeforeItCame) {
    start("1803");
    EXPECT_EQ(code_of(client().list<hcn::HostComputeNetwork>()), Hresult::NotImplemented);
    const Features features = get(client().features());
    EXPECT_EQ(features.version.to_string(), "7.2");
    EXPECT_FALSE(features.api_v2);
}

TEST_F(EmulatorTest, FiltersAsTheServiceDoes) {
    start();
    const auto bridge = make_bridge();
    const auto ids = [&](ObjectKind kind, const std::string& query) { return get(emulator().enumerate(kind, query)); };
    EXPECT_EQ(ids(ObjectKind::Network, ""), "[\"" + bridge.id + "\"]");
    EXPECT_EQ(ids(ObjectKind::Network, R"({"Filter":"{\"Name\":\"cbr0\"}"})"), "[\"" + bridge.id + "\"]");
    EXPECT_EQ(ids(ObjectKind::Network, R"({"Filter":"{\"Name\":\"Cbr0\"}"})"), "[]");
    EXPECT_EQ(ids(ObjectKind::LoadBalancer, ""), "[]");
    EXPECT_EQ(code_of(emulator().enumerate(ObjectKind::Network, R"({"Filter":"{"})")), Hresult::InvalidJson);
}

}  // namespace
}  // namespace porthole::hns::emulator
