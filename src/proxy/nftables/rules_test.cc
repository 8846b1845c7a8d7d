#include "proxy/nftables/rules.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace porthole::proxy::nftables {
namespace {

IpAddress ip(const char* text) { return IpAddress::parse(text).value(); }

RuleOptions options() {
    return {.pod_prefixes = {IpPrefix::parse("10.244.0.0/16").value()},
            .service_prefixes = {IpPrefix::parse("10.96.0.0/12").value()},
            .served_here = {ip("10.96.0.10")}};
}

ServiceInfo web(std::string key = "default/web", const char* address = "10.96.0.20") {
    return {.key = std::move(key), .cluster_ips = {ip(address)}, .ports = {{"", Protocol::Tcp, 80, 0}}, .ignore_hints = true};
}

SliceInfo slice(std::vector<const char*> addresses, std::string service = "default/web", std::string node = "there") {
    SliceInfo info{.key = service + "-1", .service = service, .ports = {{"", Protocol::Tcp, 8080}, {"", Protocol::Udp, 8080}}};
    for (const char* address : addresses) info.endpoints.push_back({.address = ip(address), .node_name = node});
    return info;
}

struct Proxied {
    ServiceTable table{{.name = "here", .node_port_addresses = {ip("192.168.0.1")}}};
    RuleSet rules{options()};
    std::string change() { return rules.change(table, table.update()).text(); }
};

/// Compares with a file beside this one; PORTHOLE_UPDATE_GOLDEN=1 writes it.
void expect_golden(const std::string& text, const std::string& name) {
    const std::string path = std::string(PORTHOLE_GOLDEN) + "/" + name;
    if (std::getenv("PORTHOLE_UPDATE_GOLDEN")) std::ofstream(path) << text;
    std::stringstream expected;
    expected << std::ifstream(path).rdbuf();
    EXPECT_EQ(text, expected.str()) << "run the test with PORTHOLE_UPDATE_GOLDEN=1 and review the difference";
}

TEST(RuleSet, WritesTheWholeTable) {
    Proxied proxied;
    ServiceInfo service = web();
    service.ports[0].node_port = 30080;
    service.external_local = true;
    service.affinity = std::chrono::seconds(600);
    service.load_balancer_ips = {ip("203.0.113.7")};
    service.source_ranges = {IpPrefix::parse("198.51.100.0/24").value()};
    proxied.table.set_service(service);
    proxied.table.set_slice(slice({"10.244.0.2"}, "default/web", "here"));
    ServiceInfo lonely = web("default/lonely", "10.96.0.30");
    lonely.external_ips = {ip("203.0.113.8")};
    proxied.table.set_service(lonely);
    ServiceInfo dns = web("kube-system/kube-dns", "10.96.0.10");
    proxied.table.set_service(dns);
    proxied.table.update();
    expect_golden(proxied.rules.full(proxied.table, true), "whole_table.nft");
}

TEST(RuleSet, ChangesAFewElementsForOneEndpoint) {
    Proxied proxied;
    proxied.table.set_service(web());
    proxied.table.set_slice(slice({"10.244.0.2", "10.244.0.3", "10.244.0.4"}));
    proxied.table.update();
    proxied.rules.full(proxied.table, true);

    proxied.table.set_slice(slice({"10.244.0.3", "10.244.0.4"}));
    const std::string chain =
        "add chain ip porthole-proxy cluster-ip-2\n"
        "flush chain ip porthole-proxy cluster-ip-2\n"
        "table ip porthole-proxy {\n"
        "\tchain cluster-ip-2 {\n"
        "\t\tip saddr != @pod-cidrs fib saddr type != local meta mark set meta mark or 16384\n"
        "\t\tdnat ip to ip daddr . tcp dport . numgen random mod 2 map @endpoints-tcp\n"
        "\t\tdnat ip to ip daddr . udp dport . numgen random mod 2 map @endpoints-udp\n"
        "\t\tdnat ip to ip daddr . sctp dport . numgen random mod 2 map @endpoints-sctp\n\t}\n}\n";
    EXPECT_EQ(proxied.change(), chain +
                                    "delete element ip porthole-proxy endpoints-tcp { 10.96.0.20 . 80 . 0, 10.96.0.20 . 80 . 2 }\n"
                                    "delete element ip porthole-proxy service-ips { 10.96.0.20 . tcp . 80 }\n"
                                    "add element ip porthole-proxy endpoints-tcp { 10.96.0.20 . 80 . 0 : 10.244.0.4 . 8080 }\n"
                                    "add element ip porthole-proxy service-ips { 10.96.0.20 . tcp . 80 : goto cluster-ip-2 }\n");

    proxied.table.set_slice(slice({"10.244.0.3", "10.244.0.4", "10.244.0.9"}));
    EXPECT_EQ(proxied.change(),
              "delete element ip porthole-proxy service-ips { 10.96.0.20 . tcp . 80 }\n"
              "add element ip porthole-proxy endpoints-tcp { 10.96.0.20 . 80 . 2 : 10.244.0.9 . 8080 }\n"
              "add element ip porthole-proxy service-ips { 10.96.0.20 . tcp . 80 : goto cluster-ip-3 }\n");
    EXPECT_EQ(proxied.change(), "");
}

TEST(RuleSet, MovesAFrontendBetweenAnsweredAndUnanswered) {
    Proxied proxied;
    proxied.rules.full(proxied.table, true);
    proxied.table.set_service(web());
    EXPECT_EQ(proxied.change(),
              "add element ip porthole-proxy cluster-ips { 10.96.0.20 }\n"
              "add element ip porthole-proxy no-endpoint-services { 10.96.0.20 . tcp . 80 : goto reject-chain }\n");
    proxied.table.set_slice(slice({"10.244.0.2"}));
    const std::string answered = proxied.change();
    EXPECT_NE(answered.find("delete element ip porthole-proxy no-endpoint-services { 10.96.0.20 . tcp . 80 }\n"), std::string::npos);
    EXPECT_NE(answered.find("add element ip porthole-proxy service-ips { 10.96.0.20 . tcp . 80 : goto cluster-ip-1 }\n"),
              std::string::npos);
    proxied.table.remove_service("default/web");
    EXPECT_EQ(proxied.change(),
              "delete element ip porthole-proxy cluster-ips { 10.96.0.20 }\n"
              "delete element ip porthole-proxy endpoints-tcp { 10.96.0.20 . 80 . 0 }\n"
              "delete element ip porthole-proxy service-ips { 10.96.0.20 . tcp . 80 }\n");
    for (const auto& [set, elements] : proxied.rules.expected_elements()) EXPECT_TRUE(elements.empty()) << set;
}

TEST(RuleSet, LeavesOutSourceRangesInsideOfOthers) {
    Proxied proxied;
    ServiceInfo service = web();
    service.load_balancer_ips = {ip("203.0.113.7")};
    for (const char* range : {"10.1.0.0/16", "10.0.0.0/8", "10.2.0.0/16", "192.0.2.1/32", "10.0.0.0/8"})
        service.source_ranges.push_back(IpPrefix::parse(range).value());
    proxied.table.set_service(service);
    proxied.change();
    const auto sources = proxied.rules.expected_elements().at(FirewallAllowedSources);
    EXPECT_EQ(sources, (std::set<std::string>{"203.0.113.7 . tcp . 80 . 10.0.0.0/8", "203.0.113.7 . tcp . 80 . 192.0.2.1"}));
}

TEST(RuleSet, ManyEndpointsAndSourceRangesTakeLinearTime) {
    constexpr std::uint32_t Endpoints = 20'000, Ranges = 20'000;
    Proxied proxied;
    ServiceInfo service = web();
    service.load_balancer_ips = {ip("203.0.113.7")};
    for (std::uint32_t i = 0; i < Ranges; ++i) service.source_ranges.push_back(IpPrefix(IpAddress::v4(0xc0000000 + i * 4), 31));
    SliceInfo many = slice({});
    for (std::uint32_t i = 0; i < Endpoints; ++i)
        many.endpoints.push_back({.address = IpAddress::v4(0x0af40000 + i), .node_name = "there"});
    proxied.table.set_service(service);
    proxied.table.set_slice(many);
    proxied.table.update();
    proxied.rules.full(proxied.table, true);
    many.endpoints.pop_back();
    proxied.table.set_slice(many);
    const Changes changes = proxied.rules.change(proxied.table, proxied.table.update());
    EXPECT_EQ(changes.removed.size(), 4u) << "an endpoint and a way to the chain of their number, of two addresses";
    EXPECT_EQ(changes.added.size(), 2u);
}

TEST(RuleSet, TellsWhichBackendsAFrontendLost) {
    Proxied proxied;
    proxied.rules.full(proxied.table, true);
    ServiceInfo service = web();
    service.ports[0].protocol = Protocol::Udp;
    proxied.table.set_service(service);
    proxied.change();
    proxied.table.set_slice(slice({"10.244.0.2", "10.244.0.3"}));
    proxied.change();
    auto losses = proxied.rules.take_losses();
    ASSERT_EQ(losses.size(), 1u);
    EXPECT_TRUE(losses[0].first_backends);
    EXPECT_TRUE(losses[0].lost.empty());
    proxied.table.set_slice(slice({"10.244.0.3"}));
    proxied.change();
    losses = proxied.rules.take_losses();
    ASSERT_EQ(losses.size(), 1u);
    EXPECT_FALSE(losses[0].first_backends);
    EXPECT_EQ(losses[0].lost, (std::vector<Backend>{{ip("10.244.0.2"), 8080}}));
}

}  // namespace
}  // namespace porthole::proxy::nftables
