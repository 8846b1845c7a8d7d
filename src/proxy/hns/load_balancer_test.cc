#include "proxy/hns/load_balancer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace porthole::proxy::hns {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

IpAddress ip(const std::string& text) { return IpAddress::parse(text).value(); }
IpPrefix prefix(const std::string& text) { return IpPrefix::parse(text).value(); }

HostFacts server_2022() { return {.dsr_supported = true, .session_affinity = true, .backend_limit = 1024, .node_ip = ip("192.0.2.13")}; }

HostFacts overlay_2022() {
    HostFacts host = server_2022();
    host.overlay = true;
    host.source_vip = ip("10.244.3.254");
    host.own_subnets = {prefix("10.244.3.0/24")};
    host.remote_subnets = {{prefix("10.244.4.0/24"), ip("192.0.2.14")}};
    return host;
}

ServiceInfo web() { return {.key = "default/web", .cluster_ips = {ip("10.96.0.20")}}; }

Frontend answered_by(std::vector<Backend> backends, Frontend::Kind kind = Frontend::Kind::ClusterIp) {
    return {.kind = kind, .backends = std::move(backends)};
}

const FrontendKey ClusterAddress{IpAddress::parse("10.96.0.20").value(), Protocol::Tcp, 80};
const FrontendKey NodePort{IpAddress(), Protocol::Tcp, 30080};
const FrontendKey Ingress{IpAddress::parse("203.0.113.5").value(), Protocol::Tcp, 80};

LoadBalancer balancer(const FrontendKey& key, const Frontend& frontend, const ServiceInfo& service, const HostFacts& host,
                      const std::set<IpAddress>& local = {}) {
    return plan_load_balancer(key, frontend, service, local, host).load_balancer.value_or(LoadBalancer{});
}

std::vector<std::string> reasons(const std::vector<Advice>& advice) {
    std::vector<std::string> names;
    for (const Advice& one : advice) names.push_back(one.reason);
    return names;
}

TEST(LoadBalancerPlan, SVC05_TranslatesAClusterAddressToItsBackends) {
    const LoadBalancer planned =
        balancer(ClusterAddress, answered_by({{ip("10.244.3.7"), 8080}, {ip("10.244.4.9"), 8080}}), web(), server_2022());
    EXPECT_EQ(planned.internal_port, 8080);
    EXPECT_THAT(planned.backends, ElementsAre(ip("10.244.3.7"), ip("10.244.4.9")));
    EXPECT_EQ(planned.flags, 0u);
    EXPECT_EQ(planned.mapping_flags, 0u);
    EXPECT_FALSE(planned.source_vip);
}

TEST(LoadBalancerPlan, NeedsBackends) {
    EXPECT_FALSE(plan_load_balancer(ClusterAddress, answered_by({}), web(), {}, server_2022()).load_balancer);
}

TEST(LoadBalancerPlan, SVC10_UsesDirectServerReturnForClusterAddressesWhenAsked) {
    HostFacts host = server_2022();
    host.dsr_enabled = true;
    EXPECT_EQ(balancer(ClusterAddress, answered_by({{ip("10.244.3.7"), 80}}), web(), host).flags, 1u);
    host.dsr_supported = false;
    EXPECT_EQ(balancer(ClusterAddress, answered_by({{ip("10.244.3.7"), 80}}), web(), host).flags, 0u);
}

TEST(LoadBalancerPlan, SVC18_AnswersNodePortsOnEveryAddressOfTheHost) {
    const LoadBalancer planned = balancer(NodePort, answered_by({{ip("10.244.3.7"), 80}}, Frontend::Kind::External), web(), server_2022());
    EXPECT_TRUE(planned.any_host_address());
    EXPECT_EQ(planned.mapping_flags, 18u);
    EXPECT_EQ(planned.flags, 0u);
}

TEST(LoadBalancerPlan, SVC16_KeepsTheClientsAddressForLocalTraffic) {
    EXPECT_EQ(balancer(NodePort, answered_by({{ip("10.244.3.7"), 80}}, Frontend::Kind::ExternalLocal), web(), server_2022()).flags, 1u);
}

// SVC-17
TEST(LoadBalancerPlan, SVC17_TreatsLocalAsClusterWithoutDirectServerReturn) {
    ServiceInfo service = web();
    service.external_local = true;
    HostFacts host = server_2022();
    host.dsr_supported = false;
    EXPECT_THAT(reasons(service_advice(service, host)), ElementsAre("LocalTrafficPolicyNeedsDSR"));
    adapt_service(service, host);
    EXPECT_FALSE(service.external_local);
    service.external_local = true;
    EXPECT_THAT(service_advice(service, server_2022()), IsEmpty());
    adapt_service(service, server_2022());
    EXPECT_TRUE(service.external_local);
}

TEST(LoadBalancerPlan, SVC15_PreservesTheDestinationOfIngressTraffic) {
    ServiceInfo service = web();
    service.load_balancer_ips = {Ingress.address};
    service.preserve_destination = true;
    adapt_service(service, server_2022());
    EXPECT_TRUE(service.external_local) << "only backends of the node";
    const LoadBalancer planned =
        balancer(Ingress, answered_by({{ip("10.244.3.7"), 80}}, Frontend::Kind::ExternalLocal), service, server_2022());
    EXPECT_EQ(planned.flags, 1u);
    EXPECT_EQ(planned.mapping_flags, 16u | 8u | 4u);
    EXPECT_EQ(
        balancer(NodePort, answered_by({{ip("10.244.3.7"), 80}}, Frontend::Kind::ExternalLocal), service, server_2022()).mapping_flags,
        18u);
}

// SVC-12, SVC-13
TEST(LoadBalancerPlan, SVC12_KeepsClientsOnOneBackendWhereTheHostCan) {
    Frontend frontend = answered_by({{ip("10.244.3.7"), 80}});
    frontend.affinity = std::chrono::seconds(10800);
    ServiceInfo service = web();
    service.affinity = frontend.affinity;
    EXPECT_EQ(balancer(ClusterAddress, frontend, service, server_2022()).distribution, 2u);
    EXPECT_THAT(service_advice(service, server_2022()), IsEmpty());
    HostFacts old = server_2022();
    old.session_affinity = false;
    EXPECT_EQ(balancer(ClusterAddress, frontend, service, old).distribution, 0u);
    ASSERT_THAT(reasons(service_advice(service, old)), ElementsAre("SessionAffinityUnsupported"));
    EXPECT_EQ(
        service_advice(service, old)[0].message,
        "spec.sessionAffinity: Session Affinity is not supported on this version of Windows (see docs/guide/windows_support.md#win404)");
}

// SVC-14
TEST(LoadBalancerPlan, SVC14_WarnsOfAnAffinityTimeoutThatHasNoEffect) {
    ServiceInfo service = web();
    service.affinity = std::chrono::seconds(60);
    EXPECT_THAT(reasons(service_advice(service, server_2022())), ElementsAre("SessionAffinityTimeoutIgnored"));
}

TEST(LoadBalancerPlan, SVC22_ForwardsUdpAndLeavesSctpOut) {
    EXPECT_TRUE(plan_load_balancer({ip("10.96.0.20"), Protocol::Udp, 53}, answered_by({{ip("10.244.3.7"), 53}}), web(), {}, server_2022())
                    .load_balancer);
    const Planned sctp =
        plan_load_balancer({ip("10.96.0.20"), Protocol::Sctp, 9}, answered_by({{ip("10.244.3.7"), 9}}), web(), {}, server_2022());
    EXPECT_FALSE(sctp.load_balancer);
    EXPECT_THAT(reasons(sctp.advice), ElementsAre("UnsupportedProtocol"));
    EXPECT_EQ(sctp.advice[0].message,
              "spec.ports: Windows nodes forward TCP and UDP, not SCTP; port 9 is left out (see docs/guide/windows_support.md#win406)")
        << "what the linter and the guide say, and which port";
}

std::vector<Backend> many(int count) {
    std::vector<Backend> backends;
    for (int i = 0; i < count; ++i) backends.push_back({IpAddress::v4(0x0af40401u + static_cast<std::uint32_t>(i)), 80});
    return backends;
}

TEST(LoadBalancerPlan, SVC21_CapsBackendsStablyWithLocalOnesFirst) {
    HostFacts old = server_2022();
    old.backend_limit = 64;
    std::vector<Backend> backends = many(100);
    const std::set<IpAddress> local{backends[97].address, backends[98].address};
    const Planned planned = plan_load_balancer(ClusterAddress, answered_by(backends), web(), local, old);
    ASSERT_TRUE(planned.load_balancer);
    const std::vector<IpAddress> chosen = planned.load_balancer->backends;
    EXPECT_EQ(chosen.size(), 64u);
    EXPECT_TRUE(std::ranges::is_sorted(chosen));
    for (const IpAddress& address : local) EXPECT_TRUE(std::ranges::binary_search(chosen, address));
    ASSERT_EQ(planned.advice.size(), 1u);
    EXPECT_EQ(planned.advice[0].reason, "TooManyBackends");
    EXPECT_THAT(planned.advice[0].message, testing::HasSubstr("64 of 100"));

    // One backend goes: at most one other takes its place.
    std::erase_if(backends, [&](const Backend& backend) { return backend.address == chosen[0]; });
    const std::vector<IpAddress> after = balancer(ClusterAddress, answered_by(backends), web(), old, local).backends;
    std::vector<IpAddress> kept;
    std::ranges::set_intersection(chosen, after, std::back_inserter(kept));
    EXPECT_EQ(kept.size(), 63u);
    EXPECT_THAT(plan_load_balancer(ClusterAddress, answered_by(many(64)), web(), {}, old).advice, IsEmpty());
}

TEST(LoadBalancerPlan, UsesTheCommonestOfSeveralTargetPorts) {
    const Planned planned =
        plan_load_balancer(ClusterAddress, answered_by({{ip("10.244.3.7"), 80}, {ip("10.244.3.8"), 8080}, {ip("10.244.3.9"), 8080}}), web(),
                           {}, server_2022());
    EXPECT_EQ(planned.load_balancer->internal_port, 8080);
    EXPECT_THAT(planned.load_balancer->backends, ElementsAre(ip("10.244.3.8"), ip("10.244.3.9")));
    EXPECT_THAT(reasons(planned.advice), ElementsAre("MixedTargetPorts"));
}

TEST(LoadBalancerPlan, OverlayBackendsSeeTheSourceAddressThatTheyCanAnswer) {
    const HostFacts host = overlay_2022();
    const std::set<IpAddress> local{ip("10.244.3.7")};
    const struct {
        const char* name;
        const char* backend;
        const char* source;
    } rows[] = {
        {"pod of this node", "10.244.3.7", "10.244.3.254"},    {"pod of another node", "10.244.4.9", "10.244.3.254"},
        {"another node itself", "192.0.2.14", "192.0.2.13"},   {"this node itself", "192.0.2.13", "192.0.2.13"},
        {"outside the cluster", "198.51.100.7", "192.0.2.13"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(balancer(ClusterAddress, answered_by({{ip(row.backend), 80}}), web(), host, local).source_vip, ip(row.source));
    }
}

// SVC-29
TEST(LoadBalancerPlan, SVC29_MarksIpv6) {
    const FrontendKey key{ip("fd00::20"), Protocol::Tcp, 80};
    EXPECT_EQ(balancer(key, answered_by({{ip("fd00:1::7"), 80}}), web(), server_2022()).flags, 2u);
    const FrontendKey node_port{IpAddress::v6({}), Protocol::Tcp, 30080};
    EXPECT_TRUE(
        balancer(node_port, answered_by({{ip("fd00:1::7"), 80}}, Frontend::Kind::External), web(), server_2022()).any_host_address());
}

TEST(LoadBalancerPlan, SaysThatSourceRangesAreNotEnforced) {
    ServiceInfo service = web();
    service.source_ranges = {prefix("10.0.0.0/8")};
    EXPECT_THAT(reasons(service_advice(service, server_2022())), ElementsAre("SourceRangesIgnored"));
}

}  // namespace
}  // namespace porthole::proxy::hns
