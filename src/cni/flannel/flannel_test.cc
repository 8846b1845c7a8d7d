#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "cni/flannel/daemon.h"
#include "cni/flannel/network_check.h"
#include "cni/flannel/options.h"
#include "hns/emulator/data_plane/remembering_data_plane.h"
#include "hns/emulator/emulator.h"
#include "hns/emulator/failing_hns.h"
#include "runtime/scope.h"
#include "runtime/sim/kept_log.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::cni::flannel {
namespace {

namespace core = api::core::v1;
namespace emulator = porthole::hns::emulator;
using porthole::hns::all_settings;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using namespace std::chrono_literals;

core::Node node(const std::string& name, const std::string& address, const std::string& pods) {
    core::Node object;
    object.metadata.name = name;
    object.spec.pod_cidr = pods;
    object.status.addresses = {{.type = "InternalIP", .address = address}};
    return object;
}

core::Node vxlan_node(const std::string& name, const std::string& address, const std::string& pods, const std::string& mac,
                      int vni = 4096) {
    core::Node object = node(name, address, pods);
    object.metadata.annotations = {
        {"flannel.alpha.coreos.com/backend-type", "vxlan"},
        {"flannel.alpha.coreos.com/backend-data", R"({"VNI":)" + std::to_string(vni) + R"(,"VtepMAC":")" + mac + R"("})"},
        {"flannel.alpha.coreos.com/public-ip", address}};
    return object;
}

/// The routes of a host that does not reach one of the other nodes.
class PartlyOutOfReach final : public HostRoutes {
public:
    explicit PartlyOutOfReach(std::unique_ptr<HostRoutes> inner) : inner_(std::move(inner)) {}
    Task<std::vector<HostRoute>> own() override { return inner_->own(); }
    Task<> add(HostRoute route) override {
        if (route.next_hop == out_of_reach) co_return Error(Reason::Io, "setting the route: error 1168");
        co_return co_await inner_->add(route);
    }
    Task<> remove(HostRoute route) override { return inner_->remove(route); }
    Task<> enable_forwarding(std::vector<IpAddress> addresses) override { return inner_->enable_forwarding(std::move(addresses)); }

    std::optional<IpAddress> out_of_reach;

private:
    std::unique_ptr<HostRoutes> inner_;
};

/// An emulated Windows host in a cluster.
struct Host {
    std::string told;
    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    SeededRandom random{1};
    Logger log{std::make_shared<sim::KeptLog>(told), "network"};
    client::Informers informers{{loop, client, random, log}};
    sim::MemoryFileSystem files{loop};
    emulator::RememberingDataPlane data_plane;
    emulator::Emulator emulated;
    porthole::hns::Client hns{emulated};
    emulator::FailingHns hns_calls{emulated};
    std::unique_ptr<PartlyOutOfReach> routes = std::make_unique<PartlyOutOfReach>(make_hns_host_routes(hns_calls));
    Scope scope{loop};
    std::unique_ptr<Daemon> daemon;
    std::optional<Result<void>> ended;  // of the daemon

    explicit Host(const std::string& network, const emulator::Profile& profile = *emulator::find_profile("2022"), Duration patience = 2min)
        : emulated({loop, files, random, data_plane, log}, {"/hns", profile}) {
        EXPECT_TRUE(sim::run(loop, emulated.start()));
        DaemonOptions options{.node_name = "win1",
                              .network = parse_network_config(network).value(),
                              .address = IpAddress::parse("192.0.2.13").value(),
                              .address_network = IpPrefix::parse("192.0.2.0/24").value(),
                              .subnet_file = "/run/flannel/subnet.env",
                              .cni_config_file = "/k/cni/config/10-porthole.conf",
                              .service_prefixes = {IpPrefix::parse("10.96.0.0/12").value()},
                              .network_patience = patience};
        daemon = std::make_unique<Daemon>(
            DaemonContext{loop, informers, client, hns_calls, *routes, files, log, [] { return "Ethernet (192.0.2.13)"; }},
            std::move(options));
        informers.start();
        scope.spawn(keep_end(daemon->run()));
    }
    ~Host() {
        EXPECT_TRUE(sim::run(loop, scope.close()));
        EXPECT_TRUE(sim::run(loop, informers.close()));
        EXPECT_TRUE(sim::run(loop, emulated.close()));
    }

    Task<> keep_end(Task<> run) {
        ended = co_await std::move(run);
        co_return {};
    }
    std::optional<hcn::HostComputeNetwork> network(const std::string& name) {
        return sim::run(loop, hns.find<hcn::HostComputeNetwork>(name)).value();
    }
    std::vector<std::string> ways() {
        std::vector<std::string> found;
        for (const HostRoute& route : sim::run(loop, routes->own()).value()) {
            found.push_back(route.destination.to_string() + " via " + route.next_hop.to_string());
        }
        return found;
    }
    std::vector<std::string> remote_subnets() {
        std::vector<std::string> found;
        for (const auto& remote : all_settings<hcn::RemoteSubnetRouteSettings>(network("flannel.4096")->policies, "RemoteSubnetRoute")) {
            found.push_back(remote.destination_prefix + " at " + remote.provider_address + " " + remote.distributed_router_mac_address);
        }
        return found;
    }
    std::string annotation(const std::string& name) {
        return api.find<core::Node>({"", "win1"})->metadata.annotations["flannel.alpha.coreos.com/" + name];
    }
};

const char* const HostGateway = R"({"Network":"10.244.0.0/16","Backend":{"Type":"host-gw"}})";
const char* const Vxlan = R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":4096,"Port":4789}})";

// NET-16, NET-17
TEST(Flannel, NET16_MakesTheBridgeOfANodeAndItsFiles) {
    Host host(HostGateway);
    host.api.put(node("win1", "192.0.2.13", ""));
    host.loop.advance(20s);
    EXPECT_FALSE(host.daemon->ready()) << "without a pod range";
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.loop.advance(15s);
    ASSERT_TRUE(host.daemon->ready());

    const auto network = host.network("cbr0");
    ASSERT_TRUE(network);
    EXPECT_EQ(network->type, "L2Bridge");
    EXPECT_EQ(network->ipams.at(0).subnets.at(0).ip_address_prefix, "10.244.3.0/24");
    EXPECT_EQ(network->ipams.at(0).subnets.at(0).routes.at(0).next_hop, "10.244.3.1");
    const auto leg = sim::run(host.loop, host.hns.find<hcn::HostComputeEndpoint>("cbr0_ep")).value();
    ASSERT_TRUE(leg);
    EXPECT_EQ(leg->ip_configurations.at(0).ip_address, "10.244.3.2");
    EXPECT_TRUE(host.data_plane.made().endpoints.at(leg->id)->on_host);
    EXPECT_EQ(host.files.read("/run/flannel/subnet.env").value(),
              "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n");
    EXPECT_EQ(host.annotation("backend-type"), "host-gw");
    EXPECT_EQ(host.annotation("backend-data"), "null");
    EXPECT_EQ(host.annotation("public-ip"), "192.0.2.13");
    EXPECT_EQ(host.annotation("kube-subnet-manager"), "true");
}

// NET-20, NET-22
TEST(Flannel, NET20_LeavesTheClustersOwnTrafficUntranslated) {
    Host host(HostGateway);
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.loop.advance(15s);
    const auto config = schema::parse_json(host.files.read("/k/cni/config/10-porthole.conf").value()).value();
    EXPECT_EQ(config.string_at({"type"}), "win-bridge");
    EXPECT_EQ(config.string_at({"ipam", "subnet"}), "10.244.3.0/24");
    EXPECT_TRUE(schema::at(config, "loopbackDSR").bool_or(false)) << "or no pod reaches itself by its service";
    const auto& policies = config.find("policies")->as_array();
    ASSERT_EQ(policies.size(), 3u);
    EXPECT_EQ(schema::to_json(*policies[0].at_path({"value", "Settings", "Exceptions"})),
              R"(["10.244.0.0/16","10.96.0.0/12","192.0.2.0/24"])");
    EXPECT_EQ(policies[1].string_at({"value", "Settings", "DestinationPrefix"}), "10.96.0.0/12");
    EXPECT_EQ(policies[2].string_at({"value", "Settings", "DestinationPrefix"}), "192.0.2.13/32");
}

// NET-21
TEST(Flannel, NET21_PublishesWhatIsExceptedFromTranslation) {
    Host host(HostGateway);
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.loop.advance(30s);
    const auto published = [&] { return host.api.find<core::Node>({"", "win1"})->metadata.annotations["porthole.dev/nat-exceptions"]; };
    EXPECT_EQ(published(), "10.244.0.0/16,10.96.0.0/12,192.0.2.0/24");
    const char* own = R"({"plugins":[{"type":"wincni","AdditionalArgs":[{"Name":"EndpointPolicy","Value":{"Type":"OutBoundNAT",
        "ExceptionList":["10.0.0.0/8"]}}]}]})";
    ASSERT_TRUE(host.files.write("/k/cni/config/05-own.conf", own, 0644));
    host.loop.advance(30s);
    EXPECT_EQ(published(), "10.0.0.0/8") << "the first by name counts";
    EXPECT_TRUE(nat_exceptions_of("{").empty());
    EXPECT_TRUE(nat_exceptions_of(R"({"policies":[7,{"value":{"Type":"OutBoundNAT","Settings":{"Exceptions":{}}}}]})").empty());
}

// NET-03, NET-04
TEST(Flannel, NET03_KeepsRoutesInStepWithTheNodes) {
    Host host(HostGateway);
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.api.put(node("lin1", "192.0.2.11", "10.244.1.0/24"));
    host.api.put(node("new", "192.0.2.12", ""));
    host.loop.advance(15s);
    EXPECT_THAT(host.ways(), ElementsAre("10.244.1.0/24 via 192.0.2.11"));
    host.api.put(node("new", "192.0.2.12", "10.244.2.0/24"));
    host.loop.advance(1s);
    EXPECT_THAT(host.ways(), UnorderedElementsAre("10.244.1.0/24 via 192.0.2.11", "10.244.2.0/24 via 192.0.2.12"));
    host.api.put(node("lin1", "192.0.2.21", "10.244.1.0/24"));
    host.api.erase<core::Node>({"", "new"});
    host.loop.advance(1s);
    EXPECT_THAT(host.ways(), ElementsAre("10.244.1.0/24 via 192.0.2.21"));
}

// NET-02
TEST(Flannel, NET02_LeavesTheRoutesToARouter) {
    Host host(R"({"Network":"10.244.0.0/16","Backend":{"Type":"alloc"}})");
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.api.put(node("lin1", "198.51.100.11", "10.244.1.0/24"));
    host.loop.advance(15s);
    ASSERT_TRUE(host.network("cbr0"));
    EXPECT_EQ(host.network("cbr0")->type, hcn::NetworkMode::L2Bridge);
    EXPECT_THAT(host.ways(), ElementsAre());
    EXPECT_EQ(host.annotation("backend-type"), "alloc");
}

TEST(Flannel, RepairsWhatWasTakenAway) {
    Host host(HostGateway);
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.api.put(node("lin1", "192.0.2.11", "10.244.1.0/24"));
    host.loop.advance(15s);
    for (const HostRoute& route : sim::run(host.loop, host.routes->own()).value()) {
        ASSERT_TRUE(sim::run(host.loop, host.routes->remove(route)));
    }
    ASSERT_TRUE(sim::run(host.loop, host.hns.remove<hcn::HostComputeNetwork>(host.network("cbr0")->id)));
    host.loop.advance(15s);
    EXPECT_TRUE(host.network("cbr0"));
    EXPECT_TRUE(sim::run(host.loop, host.hns.find<hcn::HostComputeEndpoint>("cbr0_ep")).value());
    EXPECT_THAT(host.ways(), ElementsAre("10.244.1.0/24 via 192.0.2.11"));
}

// LIM-16, SVC-09
TEST(Flannel, LIM16_AnOverlayOnServer2019WithoutItsUpdateIsToldTheUpdate) {
    emulator::Profile released = *emulator::find_profile("2019");
    released.version = {9, 1};
    Host host(Vxlan, released);
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.loop.advance(15s);
    EXPECT_THAT(host.told, HasSubstr("overlay networks need HNS 9.2 or later, here it is 9.1; install update KB4482887"));
}

// TRB-09, LIM-46
TEST(Flannel, TRB09_WaitsForItsNetworkWithinBoundsAndThenEnds) {
    Host host(HostGateway);
    host.hns_calls.fail_always(porthole::hns::Hresult::Unexpected);
    host.loop.advance(10min);
    EXPECT_FALSE(host.ended) << "before the node has a range there is no network to make";
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.loop.advance(100s);
    EXPECT_FALSE(host.ended);
    EXPECT_THAT(host.told, HasSubstr("Waiting for the Network to be created"));
    // TRB-20: the request, its result and what there is to make a network on
    EXPECT_THAT(host.told, HasSubstr("0x8000ffff"));
    EXPECT_THAT(host.told, HasSubstr("Ethernet (192.0.2.13)"));
    host.loop.advance(1min);
    ASSERT_TRUE(host.ended);
    ASSERT_FALSE(*host.ended);
    EXPECT_EQ(host.ended->error().reason, Reason::Timeout);
    EXPECT_THAT(host.ended->error().message, HasSubstr("the HNS network cbr0 could not be created"));
}

// TRB-09
TEST(Flannel, TRB09_EndsWhenItsTimeIsOverAndNotWithTheNextLookAtTheHost) {
    Host host(HostGateway, *emulator::find_profile("2022"), 25s);
    host.hns_calls.fail_always(porthole::hns::Hresult::Unexpected);
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.loop.advance(24s);
    EXPECT_FALSE(host.ended);
    host.loop.advance(2s);
    EXPECT_TRUE(host.ended);
}

// TRB-09
TEST(FlanneldOptions, TRB09_TheTimeForTheNetworkCanBeSet) {
    sim::SimLoop loop;
    sim::MemoryFileSystem files(loop);
    const auto parse = [&](const char* timeout) {
        return parse_program_options({"--kubeconfig-file=k", std::string("--network-timeout=") + timeout}, "win1", files);
    };
    EXPECT_EQ(parse("90s").value().daemon.network_patience, 90s);
    for (const char* wrong : {"", "0s", "-5s", "5"}) {
        SCOPED_TRACE(wrong);
        const auto refused = parse(wrong);
        ASSERT_FALSE(refused);
        EXPECT_THAT(refused.error().message, HasSubstr("network-timeout"));
    }
}

// TRB-12
TEST(Flannel, TRB12_SaysWhichPartOfThePodNetworkIsMissing) {
    Host host(HostGateway);
    const auto missing = [&](const char* name) { return sim::run(host.loop, missing_of_network(host.hns_calls, name)).value(); };
    EXPECT_EQ(missing("cbr0"), "the HNS network cbr0");
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.loop.advance(15s);
    ASSERT_TRUE(host.daemon->ready());
    EXPECT_EQ(missing("cbr0"), "");
    const auto leg = sim::run(host.loop, host.hns.find<hcn::HostComputeEndpoint>("cbr0_ep")).value();
    ASSERT_TRUE(sim::run(host.loop, host.hns.remove<hcn::HostComputeEndpoint>(leg->id)));
    EXPECT_EQ(missing("cbr0"), "the host's endpoint cbr0_ep, whose adapter is vEthernet (cbr0_ep)");

    Host overlay(Vxlan);
    overlay.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    overlay.loop.advance(15s);
    EXPECT_EQ(sim::run(overlay.loop, missing_of_network(overlay.hns_calls, "flannel.4096")).value(), "");
}

// TRB-09
TEST(Flannel, TRB09_ANetworkThatIsMadeInTheEndIsKept) {
    Host host(HostGateway);
    host.hns_calls.fail_always(porthole::hns::Hresult::Unexpected);
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.loop.advance(100s);
    host.hns_calls.stop_failing();
    host.loop.advance(15s);
    EXPECT_TRUE(host.daemon->ready());
    host.hns_calls.fail_always(porthole::hns::Hresult::Unexpected);
    host.loop.advance(100s);
    EXPECT_FALSE(host.ended) << "the time counts anew";
    host.hns_calls.stop_failing();
}

// IPM-07, LIM-45
TEST(Flannel, ANodeThatComesBackWithAnotherRangeHasNothingOfItsFormerOne) {
    for (const bool overlay : {false, true}) {
        SCOPED_TRACE(overlay ? "vxlan" : "host-gw");
        Host host(overlay ? Vxlan : HostGateway);
        const std::string name = overlay ? "flannel.4096" : "cbr0";
        host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
        host.loop.advance(15s);
        const std::string former = host.network(name)->id;
        hcn::HostComputeEndpoint pod;
        pod.host_compute_network = former;
        ASSERT_TRUE(sim::run(host.loop, host.hns.create(pod)));

        host.api.erase<core::Node>({"", "win1"});
        host.loop.advance(15s);
        EXPECT_EQ(host.network(name)->id, former) << "a node that is only missing for a while keeps its pods";
        host.api.put(node("win1", "192.0.2.13", "10.244.7.0/24"));
        host.loop.advance(15s);
        ASSERT_TRUE(host.network(name));
        EXPECT_NE(host.network(name)->id, former);
        EXPECT_EQ(host.network(name)->ipams.at(0).subnets.at(0).ip_address_prefix, "10.244.7.0/24");
        for (const auto& endpoint : sim::run(host.loop, host.hns.list<hcn::HostComputeEndpoint>()).value())
            EXPECT_EQ(endpoint.host_compute_network, host.network(name)->id);
        EXPECT_THAT(host.files.read("/run/flannel/subnet.env").value(), HasSubstr("FLANNEL_SUBNET=10.244.7.1/24"));
        EXPECT_THAT(host.files.read("/k/cni/config/10-porthole.conf").value(), testing::Not(HasSubstr("10.244.3.")));
        EXPECT_EQ(host.annotation("public-ip"), "192.0.2.13") << "the new Node object is told, too";
    }
}

// NET-35
TEST(Flannel, ANodeWithIpv6RangesAloneGetsNoNetwork) {
    Host host(HostGateway);
    core::Node self = node("win1", "192.0.2.13", "fd00:244:0:3::/64");
    self.spec.pod_cidrs = {"fd00:244:0:3::/64"};
    host.api.put(self);
    host.loop.advance(15s);
    EXPECT_FALSE(host.daemon->ready());
    EXPECT_FALSE(host.network("cbr0"));
    EXPECT_THAT(host.told, HasSubstr("single-stack IPv6 clusters are not supported with Windows nodes"));
    self.spec.pod_cidrs.push_back("10.244.3.0/24");
    host.api.put(self);
    host.loop.advance(15s);
    EXPECT_TRUE(host.daemon->ready()) << "dual stack";
}

// The issue's "HNS errors at every call"
TEST(Flannel, GetsThereWhicheverCallFails) {
    using When = emulator::FailingHns::When;
    for (const bool overlay : {false, true}) {
        for (const When when : {When::Before, When::After}) {
            for (const auto code : {porthole::hns::Hresult::Unexpected, porthole::hns::Hresult::RpcServerUnavailable}) {
                bool reached = true;
                for (int passing = 0; reached; ++passing) {
                    SCOPED_TRACE(std::string(overlay ? "vxlan" : "host-gw") + (when == When::Before ? " before" : " after") + " call " +
                                 std::to_string(passing + 1) + " " + porthole::hns::hresult_name(code));
                    Host host(overlay ? Vxlan : HostGateway);
                    host.hns_calls.fail_after(passing, when, code);
                    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
                    host.api.put(vxlan_node("lin1", "192.0.2.11", "10.244.1.0/24", "5e:00:00:00:00:01"));
                    if (!overlay) host.api.put(node("lin1", "192.0.2.11", "10.244.1.0/24"));
                    host.loop.advance(30s);
                    reached = host.hns_calls.failed();
                    host.hns_calls.stop_failing();
                    EXPECT_TRUE(host.daemon->ready());
                    const auto networks = sim::run(host.loop, host.hns.list<hcn::HostComputeNetwork>()).value();
                    EXPECT_EQ(networks.size(), 1u) << "not one for each attempt";
                    EXPECT_EQ(sim::run(host.loop, host.hns.list<hcn::HostComputeEndpoint>()).value().size(), overlay ? 0u : 1u);
                    if (overlay) {
                        EXPECT_THAT(host.remote_subnets(), ElementsAre("10.244.1.0/24 at 192.0.2.11 5E-00-00-00-00-01"));
                    } else {
                        EXPECT_THAT(host.ways(), ElementsAre("10.244.1.0/24 via 192.0.2.11"));
                    }
                    if (passing == 25) break;  // by then all is made; looks at the host go on for ever
                }
            }
        }
    }
}

// NET-06
TEST(Flannel, NET06_TellsAnOverlayWhereOtherPodsAre) {
    Host host(Vxlan);
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.api.put(vxlan_node("lin1", "192.0.2.11", "10.244.1.0/24", "5e:00:00:00:00:01"));
    host.api.put(vxlan_node("old", "192.0.2.12", "10.244.2.0/24", "5e:00:00:00:00:02", 1));
    host.loop.advance(15s);
    ASSERT_TRUE(host.daemon->ready());
    const auto network = host.network("flannel.4096");
    EXPECT_EQ(network->type, "Overlay");
    const auto router = porthole::hns::find_settings<hcn::DrMacAddressSettings>(network->policies, "DrMacAddress");
    const auto data = schema::parse_json(host.annotation("backend-data")).value();
    EXPECT_EQ(schema::at(data, "VNI").int_or(0), 4096);
    EXPECT_EQ(porthole::hns::canonical_mac(data.string_at({"VtepMAC"})), router->address);
    EXPECT_THAT(host.remote_subnets(), ElementsAre("10.244.1.0/24 at 192.0.2.11 5E-00-00-00-00-01"));
    EXPECT_THAT(host.files.read("/run/flannel/subnet.env").value(), HasSubstr("FLANNEL_MTU=1450"));
    EXPECT_THAT(host.files.read("/k/cni/config/10-porthole.conf").value(), HasSubstr("win-overlay"));

    host.api.put(vxlan_node("lin1", "192.0.2.11", "10.244.1.0/24", "5e:00:00:00:00:99"));
    host.loop.advance(1s);
    EXPECT_THAT(host.remote_subnets(), ElementsAre("10.244.1.0/24 at 192.0.2.11 5E-00-00-00-00-99"));
    host.api.erase<core::Node>({"", "lin1"});
    host.loop.advance(1s);
    EXPECT_THAT(host.remote_subnets(), IsEmpty());
}

TEST(Flannel, OneNodeThatSaysWhatItLikesHoldsUpNoOther) {
    Host host(HostGateway);
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    core::Node windows = node("win2", "192.0.2.14", "10.244.4.0/24");
    windows.metadata.annotations = {{"flannel.alpha.coreos.com/backend-type", "host-gw"}};
    host.api.put(windows);
    host.api.put(vxlan_node("odd", "192.0.2.11", "10.244.1.0/24", "5e:00:00:00:00:01"));
    host.loop.advance(30s);
    EXPECT_TRUE(host.daemon->ready());
    EXPECT_THAT(host.ways(), ElementsAre("10.244.4.0/24 via 192.0.2.14"));
    for (const char* range : {"0.0.0.0/1", "10.244.0.0/16", "10.244.3.128/25", "10.96.0.10/32", "192.0.2.0/24"}) {
        SCOPED_TRACE(range);
        host.api.put(node("thief", "192.0.2.15", range));
        host.loop.advance(15s);
        EXPECT_THAT(host.ways(), ElementsAre("10.244.4.0/24 via 192.0.2.14"));
    }
}

TEST(Flannel, OneNodeThatIsOutOfReachHoldsUpNoOther) {
    Host host(HostGateway);
    host.routes->out_of_reach = IpAddress::parse("172.16.0.9").value();
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.api.put(node("away", "172.16.0.9", "10.244.1.0/24"));
    host.api.put(node("lin1", "192.0.2.11", "10.244.2.0/24"));
    host.loop.advance(15s);
    EXPECT_TRUE(host.daemon->ready());
    EXPECT_THAT(host.ways(), ElementsAre("10.244.2.0/24 via 192.0.2.11"));
}

TEST(Flannel, ANodeThatSaysAnAddressOfNoStationIsNotReached) {
    Host host(Vxlan);
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    const char* unusable[] = {"01:00:5e:00:00:01", "00:00:00:00:00:00", "5e:0:0:0:0:1", "5e:00:00:00:00:0g"};
    for (int i = 0; i < 4; ++i)
        host.api.put(
            vxlan_node("odd" + std::to_string(i), "192.0.2.2" + std::to_string(i), "10.244.1" + std::to_string(i) + ".0/24", unusable[i]));
    host.api.put(vxlan_node("lin1", "192.0.2.11", "10.244.1.0/24", "5E-00-00-00-00-01"));
    host.loop.advance(15s);
    EXPECT_TRUE(host.daemon->ready());
    EXPECT_THAT(host.remote_subnets(), ElementsAre("10.244.1.0/24 at 192.0.2.11 5E-00-00-00-00-01"));
}

// SEC-01: below C:\\ every user may change what a program makes
TEST(Flannel, SEC01_TheRangeOfTheNodeIsTheAdministrators) {
    Host host(HostGateway);
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.loop.advance(15s);
    EXPECT_TRUE(host.files.exists("/run/flannel/subnet.env"));
    EXPECT_EQ(host.files.readers("/run/flannel"), std::set<std::string>());
}

// NET-11
TEST(Flannel, NET11_RefusesAnotherNetworkThanTheClusters) {
    Host host(HostGateway);
    host.api.put(node("win1", "192.0.2.13", "10.244.3.0/24"));
    host.api.put(vxlan_node("lin1", "192.0.2.11", "10.244.1.0/24", "5e:00:00:00:00:01"));
    host.loop.advance(30s);
    EXPECT_FALSE(host.daemon->ready());
    EXPECT_FALSE(host.network("cbr0"));
}

// NET-07, LIM-19
TEST(NetworkConfig, NET07_NamesWhatWindowsAllows) {
    const auto error = [](const std::string& json) { return parse_network_config(json).error().message; };
    EXPECT_THAT(error(R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","VNI":1}})"), HasSubstr("4096"));
    EXPECT_THAT(error(R"({"Network":"10.244.0.0/16","Backend":{"Type":"vxlan","Port":8472}})"), HasSubstr("4789"));
    EXPECT_THAT(error(R"({"Network":"10.244.0.0/16","Backend":{"Type":"wireguard"}})"), HasSubstr("host-gw, vxlan or alloc"));
    EXPECT_THAT(error(R"({"Network":"fd00::/48","Backend":{"Type":"host-gw"}})"), HasSubstr("IPv4"));
}

TEST(SubnetFile, IsReadAsItIsWritten) {
    SubnetFile file{.network = IpPrefix::parse("10.244.0.0/16").value(),
                    .subnet = IpPrefix::parse("10.244.4.0/24").value(),
                    .mtu = 1450,
                    .ip_masq = true};
    EXPECT_EQ(parse_subnet_file(to_text(file)).value(), file);
    EXPECT_EQ(
        parse_subnet_file("FLANNEL_NETWORK=10.244.0.0/16\r\nFLANNEL_SUBNET=10.244.4.1/24\r\nFLANNEL_MTU=1450\r\nFLANNEL_IPMASQ=true\r\n")
            .value(),
        file);
    EXPECT_THAT(parse_subnet_file("FLANNEL_NETWORK=10.244.0.0/16\n").error().message, HasSubstr("FLANNEL_SUBNET"));
    file.network_v6 = IpPrefix::parse("fd00:244::/48").value();
    file.subnet_v6 = IpPrefix::parse("fd00:244:0:4::/64").value();
    EXPECT_EQ(parse_subnet_file(to_text(file)).value(), file);
}

}  // namespace
}  // namespace porthole::cni::flannel
