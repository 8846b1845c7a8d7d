#include "base/strings.h"
#include "hns/emulator/emulator_fixture.h"

namespace porthole::hns::emulator {
namespace {

class LoadBalancersTest : public EmulatorFixture {
protected:
    void start_with_pods(const char* release, int pods = 2) {
        start(release);
        bridge = get(client().create(network("cbr0", "L2Bridge", "10.9.0.0/16", "10.9.0.1")));
        for (int i = 0; i < pods; ++i) ids.push_back(make_endpoint(bridge.id).id);
    }
    hcn::HostComputeNetwork bridge;
    std::vector<std::string> ids;
};

// HNS-06: ids come back in upper case, as clients hash them.
TEST_F(LoadBalancersTest, ShowsBackendsInUpperCase) {
    start_with_pods("2022");
    const auto made = get(client().create(balancer({to_lower(ids[0]), to_lower(ids[1])}, {"10.96.7.8"})));
    EXPECT_EQ(made.host_compute_endpoints, ids);
    EXPECT_EQ(made.port_mappings.at(0).internal_port, 8080u);
    const auto listed = get(client().list<hcn::HostComputeLoadBalancer>());
    ASSERT_EQ(listed.size(), 1u);
    EXPECT_EQ(listed[0], made);
}

TEST_F(LoadBalancersTest, RefusesWhatTheServiceRefuses) {
    start_with_pods("2022");
    get(client().create(balancer(ids, {"10.96.7.8"}, 80)));
    const auto changed = [&](auto change) {
        auto document = balancer(ids, {"10.96.7.9"}, 80);
        change(document);
        return client().create(document);
    };
    EXPECT_EQ(code_of(changed([](auto& d) { d.frontend_vips = {"10.96.7.8"}; })), Hresult::PortAlreadyExists);
    EXPECT_EQ(code_of(changed([](auto& d) { d.host_compute_endpoints = {"00000000-0000-0000-0000-000000000001"}; })),
              Hresult::EndpointNotFound);
    EXPECT_EQ(code_of(changed([](auto& d) { d.host_compute_endpoints.clear(); })), Hresult::InvalidParameter);
    EXPECT_EQ(code_of(changed([](auto& d) { d.port_mappings[0].internal_port = 0; })), Hresult::InvalidInternalPort);
    EXPECT_EQ(code_of(changed([](auto& d) { d.port_mappings[0].protocol = Protocol::Sctp; })), Hresult::InvalidPolicy);
    EXPECT_EQ(code_of(changed([](auto& d) { d.frontend_vips = {"fd00::1"}; })), Hresult::InvalidIp);
    EXPECT_EQ(code_of(changed([](auto& d) { d.frontend_vips = {"here"}; })), Hresult::InvalidIp);
    EXPECT_EQ(code_of(changed([](auto& d) {
                  d.port_mappings.push_back(d.port_mappings[0]);
                  d.port_mappings[1].internal_port = 8081;
                  d.port_mappings[1].external_port = 81;
              })),
              Hresult::InvalidParameter);
    EXPECT_EQ(code_of(changed([](auto& d) { d.port_mappings[0].protocol = Protocol::Udp; })), Hresult::Ok);
}

// A node port takes the port of every address of the host.
TEST_F(LoadBalancersTest, ReservesNodePortsOnAllAddresses) {
    start_with_pods("2022");
    const auto held = get(client().create(balancer(ids, {}, 30080)));
    EXPECT_EQ(code_of(client().create(balancer(ids, {}, 30080))), Hresult::PortAlreadyExists);
    EXPECT_EQ(code_of(client().create(balancer(ids, {"192.0.2.13"}, 30080))), Hresult::PortAlreadyExists);
    EXPECT_EQ(code_of(client().create(balancer(ids, {"10.96.0.1"}, 30080))), Hresult::Ok);
    done(client().remove<hcn::HostComputeLoadBalancer>(held.id));
    EXPECT_EQ(code_of(client().remove<hcn::HostComputeLoadBalancer>(held.id)), Hresult::ElementNotFound);
    EXPECT_EQ(code_of(client().create(balancer(ids, {}, 30080))), Hresult::Ok);
}

// EMU-04
TEST_F(LoadBalancersTest, Has64BackendsOnServer2019) {
    start_with_pods("2019", 65);
    const auto too_many = run(client().create(balancer(ids, {"10.96.7.8"})));
    ASSERT_FALSE(too_many);
    EXPECT_EQ(hresult_of(too_many.error()), Hresult::InvalidParameter);
    EXPECT_NE(record_text(too_many.error()).find("invalid number of destinations"), std::string::npos);
    EXPECT_TRUE(get(client().list<hcn::HostComputeLoadBalancer>()).empty());
    ids.pop_back();
    EXPECT_EQ(code_of(client().create(balancer(ids, {"10.96.7.8"}))), Hresult::Ok);
    ids.push_back(ids[0]);  // the same destination again does not count
    EXPECT_EQ(code_of(client().create(balancer(ids, {"10.96.7.9"}))), Hresult::Ok);
}

// EMU-04
TEST_F(LoadBalancersTest, EMU04_EachBuildHasItsLimits) {
    const struct {
        const char* build;
        bool api_v2, direct_server_return, affinity, dual_stack;
        std::uint32_t backends;
    } rows[] = {
        {"14393", false, false, false, false, 64}, {"16299", false, false, false, false, 64}, {"17134", false, false, false, false, 64},
        {"17763", true, true, false, false, 64},   {"18362", true, true, false, false, 64},   {"19041", true, true, false, true, 1024},
        {"19042", true, true, false, true, 1024},  {"19551", true, true, true, true, 1024},   {"20348", true, true, true, true, 1024},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.build);
        files.remove_all("/var/lib/hns").value();
        ids.clear();
        stop();
        if (!row.api_v2) {
            start(row.build);
            EXPECT_EQ(code_of(client().create(network("cbr0", "L2Bridge", "10.9.0.0/16", "10.9.0.1"))), Hresult::NotImplemented);
            continue;
        }
        start_with_pods(row.build, 65);
        EXPECT_EQ(code_of(client().create(balancer(ids, {"10.96.7.8"}))), row.backends == 64 ? Hresult::InvalidParameter : Hresult::Ok);
        EXPECT_EQ(find_profile(row.build)->backend_limit, row.backends);
        auto direct = balancer({ids[0]}, {"10.96.7.9"});
        direct.flags = LoadBalancerFlags::EnableDirectServerReturn;
        direct.port_mappings[0].distribution_type = Distribution::SourceIp;
        const auto made = run(client().create(direct));
        ASSERT_EQ(made.has_value(), row.direct_server_return);
        EXPECT_EQ(made->port_mappings.at(0).distribution_type, row.affinity ? Distribution::SourceIp : Distribution::FiveTuple);
        auto six = balancer({ids[0]}, {"fd00::1"});
        six.flags = LoadBalancerFlags::Ipv6;
        EXPECT_EQ(code_of(client().create(six)), row.dual_stack ? Hresult::Ok : Hresult::RequestUnsupported);
    }
}

// EMU-04
TEST_F(LoadBalancersTest, EMU04_Server2019BeforeItsLaterUpdatesHasNoDirectServerReturn) {
    start_with_pods("1809", 1);
    auto direct = balancer({ids[0]}, {"10.96.7.8"});
    EXPECT_EQ(code_of(client().create(direct)), Hresult::Ok);
    direct.frontend_vips = {"10.96.7.9"};
    direct.flags = LoadBalancerFlags::EnableDirectServerReturn;
    EXPECT_EQ(code_of(client().create(direct)), Hresult::RequestUnsupported);
}

// HNS-09, EMU-04: what each release can do.
TEST_F(LoadBalancersTest, FollowsTheRelease) {
    const struct {
        const char* release;
        Hresult modify, ipv6;
        std::uint32_t distribution;
    } rows[] = {
        {"2019", Hresult::NotImplemented, Hresult::RequestUnsupported, Distribution::FiveTuple},
        {"2022", Hresult::NotImplemented, Hresult::Ok, Distribution::SourceIp},
        {"2025", Hresult::Ok, Hresult::Ok, Distribution::SourceIp},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.release);
        files.remove_all("/var/lib/hns").value();
        ids.clear();
        stop();
        start_with_pods(row.release);
        auto affine = balancer(ids, {"10.96.7.8"});
        affine.port_mappings[0].distribution_type = Distribution::SourceIp;
        const auto made = get(client().create(affine));
        EXPECT_EQ(made.port_mappings.at(0).distribution_type, row.distribution);
        EXPECT_EQ(code_of(client().modify_load_balancer(made.id, balancer({ids[0]}, {"10.96.7.8"}))), row.modify);
        auto six = balancer(ids, {"fd00::1"});
        six.flags = LoadBalancerFlags::Ipv6;
        EXPECT_EQ(code_of(client().create(six)), row.ipv6);
    }
}

TEST_F(LoadBalancersTest, IsReplacedAsAWholeFrom2025) {
    start_with_pods("2025");
    const auto made = get(client().create(balancer(ids, {"10.96.7.8"})));
    done(client().modify_load_balancer(made.id, balancer({ids[1]}, {"10.96.7.8"})));
    EXPECT_EQ(get(client().get<hcn::HostComputeLoadBalancer>(made.id)).host_compute_endpoints, std::vector<std::string>{ids[1]});
}

TEST_F(LoadBalancersTest, RefusesDirectServerReturnWhereTheVersionLacksIt) {
    start_with_pods("2022");
    auto dsr = balancer(ids, {"10.96.7.8"});
    dsr.flags = LoadBalancerFlags::EnableDirectServerReturn;
    EXPECT_EQ(code_of(client().create(dsr)), Hresult::Ok);
    Profile odd = *find_profile("1903");
    odd.version = {10, 1};
    const Host host{odd, odd.features(), {}, random};
    EXPECT_FALSE(host.features.direct_server_return);
}

// Each one without DSR takes ports of the host for its SNAT.
TEST_F(LoadBalancersTest, RunsOutOfPortsUnlessServersReturnDirectly) {
    start_with_pods("2022", 1);
    for (std::uint32_t i = 0; i < 256; ++i) get(client().create(balancer(ids, {"10.96.7.8"}, 1000 + i)));
    EXPECT_EQ(code_of(client().create(balancer(ids, {"10.96.7.8"}, 2000))), Hresult::PortAlreadyExists);
    auto dsr = balancer(ids, {"10.96.7.8"}, 2000);
    dsr.flags = LoadBalancerFlags::EnableDirectServerReturn;
    EXPECT_EQ(code_of(client().create(dsr)), Hresult::Ok);
}

TEST_F(LoadBalancersTest, KeepsTheIdOfAnEndpointThatIsGone) {
    start_with_pods("2022");
    const auto made = get(client().create(balancer(ids, {"10.96.7.8"})));
    done(client().remove<hcn::HostComputeEndpoint>(ids[0]));
    EXPECT_EQ(get(client().get<hcn::HostComputeLoadBalancer>(made.id)).host_compute_endpoints, ids);
}

TEST_F(LoadBalancersTest, RoutesAreMadeAndRemovedButNotChanged) {
    start_with_pods("2022");
    hcn::HostComputeRoute route;
    route.host_compute_endpoints = ids;
    route.setting.emplace_back();
    route.setting[0].destination_prefix = "10.96.0.0/12";
    route.setting[0].need_encap = true;
    const auto made = get(client().create(route));
    EXPECT_EQ(code_of(emulator().modify(ObjectKind::SdnRoute, made.id, "{}")), Hresult::NotImplemented);
    done(client().remove<hcn::HostComputeRoute>(made.id));
    EXPECT_EQ(code_of(client().remove<hcn::HostComputeRoute>(made.id)), Hresult::ElementNotFound);
}

}  // namespace
}  // namespace porthole::hns::emulator
