#include "proxy/service_table.h"

#include <gtest/gtest.h>

namespace porthole::proxy {
namespace {

IpAddress ip(const char* text) { return IpAddress::parse(text).value(); }

ServiceInfo web() {
    return {.key = "default/web", .cluster_ips = {ip("10.96.0.10")}, .ports = {{"http", Protocol::Tcp, 80, 30080}}, .ignore_hints = true};
}

EndpointInfo endpoint(const char* address, std::string node) { return {.address = ip(address), .node_name = std::move(node)}; }

SliceInfo slice(std::vector<EndpointInfo> endpoints, std::string name = "default/web-1") {
    return {.key = std::move(name), .service = "default/web", .ports = {{"http", Protocol::Tcp, 8080}}, .endpoints = std::move(endpoints)};
}

const FrontendKey ClusterIp{ip("10.96.0.10"), Protocol::Tcp, 80}, NodePort{ip("192.168.0.1"), Protocol::Tcp, 30080};

struct Table : ServiceTable {
    Table() : ServiceTable({.name = "here", .zone = "a", .node_port_addresses = {ip("192.168.0.1")}}) {}
    std::string at(const FrontendKey& key, bool inside = false) {
        update();
        const auto found = frontends().find(key);
        if (found == frontends().end()) return "nothing";
        const auto& backends = inside ? found->second.inside_backends : found->second.backends;
        std::string text = backends.empty() ? (found->second.drop_unanswered ? "drop" : "reject") : "";
        for (const Backend& backend : backends)
            text.append(text.empty() ? "" : " ").append(backend.address.to_string()).append(":").append(std::to_string(backend.port));
        return text;
    }
};

TEST(ServiceTable, JoinsServicesWithTheirSlicesByPortName) {
    Table table;
    table.set_slice(slice({endpoint("10.244.0.2", "here")}));
    EXPECT_EQ(table.at(ClusterIp), "nothing");
    table.set_service(web());
    EXPECT_EQ(table.at(ClusterIp), "10.244.0.2:8080");
    EXPECT_EQ(table.at(NodePort), "10.244.0.2:8080");
    table.set_slice(slice({endpoint("10.244.1.2", "there"), endpoint("10.244.0.2", "here")}, "default/web-2"));
    EXPECT_EQ(table.at(ClusterIp), "10.244.0.2:8080 10.244.1.2:8080");
    ServiceInfo other_port = web();
    other_port.ports[0].name = "metrics";
    table.set_service(other_port);
    EXPECT_EQ(table.at(ClusterIp), "reject");
    table.remove_service("default/web");
    EXPECT_EQ(table.at(ClusterIp), "nothing");
}

TEST(ServiceTable, BoundsWhatOneServiceTakes) {
    Table table;
    ServiceInfo large = web();
    large.ports.clear();
    for (std::uint16_t port = 1; port <= 500; ++port) large.ports.push_back({"http", Protocol::Tcp, port, 0});
    for (std::uint32_t i = 0; i < 500; ++i) large.external_ips.push_back(IpAddress::v4(0xcb007100 + i));
    table.set_service(large);
    ServiceInfo other = web();
    other.key = "default/other";
    other.cluster_ips = {ip("10.96.0.11")};
    other.ports[0].node_port = 0;
    table.set_service(other);
    table.update();
    EXPECT_LE(table.frontends().size(), 1'000'000u / 32 + 2);
    EXPECT_TRUE(table.frontends().contains({ip("10.96.0.11"), Protocol::Tcp, 80})) << "others are served";
    EXPECT_EQ(table.cut(), std::set<std::string>{"default/web"});
    large.external_ips.resize(1);
    table.set_service(large);
    table.update();
    EXPECT_EQ(table.frontends().size(), 500u * 2 + 1);
    EXPECT_TRUE(table.cut().empty());
    ServiceInfo restricted = web();
    restricted.load_balancer_ips = {ip("203.0.113.7"), ip("203.0.113.8")};
    restricted.source_ranges.resize(600'000);
    table.set_service(restricted);
    table.update();
    EXPECT_EQ(table.cut(), std::set<std::string>{"default/web"});
    EXPECT_TRUE(table.frontends().contains(ClusterIp));
    EXPECT_TRUE(table.frontends().contains({ip("203.0.113.7"), Protocol::Tcp, 80}));
    EXPECT_FALSE(table.frontends().contains({ip("203.0.113.8"), Protocol::Tcp, 80}));
    table.remove_service("default/web");
    table.update();
    EXPECT_TRUE(table.cut().empty());
}

TEST(ServiceTable, UsesEndingEndpointsOnlyWhileNoneIsReady) {
    Table table;
    table.set_service(web());
    EndpointInfo ending = endpoint("10.244.0.2", "here");
    ending.ready = false;
    ending.terminating = true;
    EndpointInfo starting = endpoint("10.244.0.3", "here");
    starting.ready = starting.serving = false;
    table.set_slice(slice({ending, starting}));
    EXPECT_EQ(table.at(ClusterIp), "10.244.0.2:8080");
    table.set_slice(slice({ending, starting, endpoint("10.244.0.4", "here")}));
    EXPECT_EQ(table.at(ClusterIp), "10.244.0.4:8080");
    table.set_slice(slice({starting}));
    EXPECT_EQ(table.at(ClusterIp), "reject");
}

TEST(ServiceTable, FollowsTheTrafficPolicies) {
    struct {
        const char* name;
        bool internal_local, external_local;
        std::vector<EndpointInfo> endpoints;
        const char *cluster_ip, *node_port, *node_port_inside;
    } const rows[] = {
        {"cluster, both",
         false,
         false,
         {endpoint("10.244.0.2", "here"), endpoint("10.244.1.2", "there")},
         "10.244.0.2:8080 10.244.1.2:8080",
         "10.244.0.2:8080 10.244.1.2:8080",
         "reject"},
        {"local, both",
         true,
         true,
         {endpoint("10.244.0.2", "here"), endpoint("10.244.1.2", "there")},
         "10.244.0.2:8080",
         "10.244.0.2:8080",
         "10.244.0.2:8080 10.244.1.2:8080"},
        {"local, only there", true, true, {endpoint("10.244.1.2", "there")}, "drop", "drop", "10.244.1.2:8080"},
        {"local, none at all", true, true, {}, "reject", "reject", "reject"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        Table table;
        ServiceInfo service = web();
        service.internal_local = row.internal_local;
        service.external_local = row.external_local;
        table.set_service(service);
        table.set_slice(slice(row.endpoints));
        EXPECT_EQ(table.at(ClusterIp), row.cluster_ip);
        EXPECT_EQ(table.at(NodePort), row.node_port);
        if (row.external_local) EXPECT_EQ(table.at(NodePort, true), row.node_port_inside);
    }
}

TEST(ServiceTable, FollowsHintsOnlyIfAllEndpointsHaveThem) {
    Table table;
    ServiceInfo service = web();
    service.ignore_hints = false;
    table.set_service(service);
    EndpointInfo near = endpoint("10.244.0.2", "x"), far = endpoint("10.244.1.2", "y");
    near.zone_hints = {"a"};
    table.set_slice(slice({near, far}));
    EXPECT_EQ(table.at(ClusterIp), "10.244.0.2:8080 10.244.1.2:8080");
    far.zone_hints = {"b"};
    table.set_slice(slice({near, far}));
    EXPECT_EQ(table.at(ClusterIp), "10.244.0.2:8080");
    near.node_hints = {"x"};
    far.node_hints = {"here"};
    table.set_slice(slice({near, far}));
    EXPECT_EQ(table.at(ClusterIp), "10.244.1.2:8080");
}

TEST(ServiceTable, ReportsOnlyWhatChanged) {
    Table table;
    table.set_service(web());
    table.set_slice(slice({endpoint("10.244.0.2", "here")}));
    EXPECT_EQ(table.update(), (std::set{ClusterIp, NodePort}));
    table.set_slice(slice({endpoint("10.244.0.2", "here")}));
    EXPECT_TRUE(table.update().empty());
    ServiceInfo service = web();
    service.ports[0].node_port = 0;
    table.set_service(service);
    EXPECT_EQ(table.update(), (std::set{NodePort}));
}

TEST(ServiceTable, GivesAContestedAddressToTheNextWhenTheFirstLetsGo) {
    Table table;
    ServiceInfo first = web(), second = web();
    first.external_ips = {ip("1.2.3.4")};
    second.key = "default/second";
    second.cluster_ips = {ip("10.96.0.11")};
    second.external_ips = first.external_ips;
    second.ports[0].node_port = 0;
    second.affinity = std::chrono::seconds(60);
    table.set_service(first);
    table.update();
    table.set_service(second);
    table.update();
    const FrontendKey shared{ip("1.2.3.4"), Protocol::Tcp, 80};
    EXPECT_FALSE(table.frontends().at(shared).affinity.has_value());
    table.remove_service("default/web");
    table.update();
    EXPECT_TRUE(table.frontends().at(shared).affinity.has_value());
}

TEST(ServiceTable, AnAssignedAddressGoesBeforeOneThatAServiceHasChosen) {
    ServiceInfo victim = web(), thief = web();
    victim.affinity = std::chrono::seconds(60);
    victim.load_balancer_ips = {ip("203.0.113.7")};
    thief.key = "a/thief";
    thief.cluster_ips = {ip("10.96.0.11")};
    thief.ports = {{"http", Protocol::Tcp, 80}, {"node", Protocol::Tcp, 30080}};
    thief.external_ips = {ip("10.96.0.10"), ip("192.168.0.1"), ip("203.0.113.7")};
    const auto owner = [](ServiceTable& table, const FrontendKey& key) {
        table.update();
        const ServiceInfo* found = table.service_of(key);
        return found ? found->key : "";
    };
    const FrontendKey balanced{ip("203.0.113.7"), Protocol::Tcp, 80};
    for (const bool thief_was_first : {false, true}) {
        SCOPED_TRACE(thief_was_first);
        Table table;
        table.set_service(thief);
        if (thief_was_first) {
            EXPECT_EQ(owner(table, ClusterIp), "a/thief");
        }
        table.set_service(victim);
        for (const FrontendKey& key : {ClusterIp, NodePort, balanced}) {
            EXPECT_EQ(owner(table, key), "default/web");
            EXPECT_TRUE(table.frontends().at(key).affinity);
        }
        table.set_service(thief);
        EXPECT_EQ(owner(table, ClusterIp), "default/web");
        table.remove_service("default/web");
        EXPECT_EQ(owner(table, ClusterIp), "a/thief") << "it is nobody else's";
        table.remove_service("a/thief");
        EXPECT_EQ(owner(table, ClusterIp), "");
    }
}

TEST(ServiceTable, AnAddressThatIsNoLongerAssignedIsContestedAnew) {
    Table table;
    ServiceInfo first = web(), second = web();
    second.key = "default/second";
    table.set_service(first);
    table.set_service(second);  // as when one was deleted and the other made before this node heard of it
    table.update();
    EXPECT_EQ(table.service_of(ClusterIp)->key, "default/second");
    second.external_ips = second.cluster_ips;
    second.cluster_ips = {ip("10.96.0.11")};
    table.set_service(second);
    table.update();
    EXPECT_EQ(table.service_of(ClusterIp)->key, "default/web");
}

TEST(ServiceTable, ManyPortsTakeLinearTime) {
    constexpr std::uint16_t Many = 20'000;
    Table table;
    ServiceInfo service = web();
    SliceInfo slices = slice({endpoint("10.244.0.2", "here")});
    service.ports.clear();
    slices.ports.clear();
    for (std::uint16_t port = 1; port <= Many; ++port) {
        service.ports.push_back({std::to_string(port), Protocol::Tcp, port, 0});
        slices.ports.push_back({std::to_string(port), Protocol::Tcp, port});
    }
    table.set_service(service);
    for (int i = 0; i < 10; ++i) {
        slices.key = "default/web-" + std::to_string(i);
        table.set_slice(slices);
    }
    EXPECT_EQ(table.at({ip("10.96.0.10"), Protocol::Tcp, Many}), "10.244.0.2:" + std::to_string(Many));
}

TEST(ServiceTable, ContestedAddressesOfOthersTakeNoTime) {
    Table table;
    ServiceInfo large = web();
    large.ports.clear();
    for (std::uint16_t port = 1; port <= 10'000; ++port) large.ports.push_back({"http", Protocol::Tcp, port, 0});
    for (int i = 0; i < 5; ++i) {
        large.key = "many/" + std::to_string(i);
        table.set_service(large);
    }
    ServiceInfo small = web();
    small.cluster_ips = {ip("10.96.0.12")};
    for (int i = 0; i < 20'000; ++i) {
        table.set_service(small);
        table.update();
    }
    EXPECT_EQ(table.service_of({ip("10.96.0.12"), Protocol::Tcp, 80})->key, "default/web");
    table.remove_service("many/0");
    table.update();
    EXPECT_EQ(table.service_of(ClusterIp)->key, "many/1");
}

TEST(ServiceTable, KnowsLocalEndpointsAndHealth) {
    Table table;
    ServiceInfo service = web();
    service.external_local = true;
    service.health_check_node_port = 32000;
    table.set_service(service);
    table.set_slice(slice({endpoint("10.244.0.2", "here"), endpoint("10.244.1.2", "there")}));
    table.update();
    EXPECT_EQ(table.local_addresses(), std::set{ip("10.244.0.2")});
    EXPECT_EQ(table.health().at(32000), (ServiceTable::Health{"default/web", 1}));
    table.set_slice(slice({endpoint("10.244.1.2", "there")}));
    table.update();
    EXPECT_TRUE(table.local_addresses().empty());
    EXPECT_EQ(table.health().at(32000).local_endpoints, 0u);
}

TEST(ServiceTable, FollowsTheHealthCheckNodePortOfAService) {
    ServiceTable table{NodeView{.name = "here"}};
    ServiceInfo service{.key = "default/web", .ports = {{"", Protocol::Tcp, 80}}, .external_local = true, .health_check_node_port = 32000};
    const auto ports = [&] {
        table.update();
        std::vector<std::uint16_t> found;
        for (const auto& [port, health] : table.health()) found.push_back(port);
        return found;
    };
    table.set_service(service);
    EXPECT_EQ(ports(), std::vector<std::uint16_t>{32000});
    service.health_check_node_port = 32001;
    table.set_service(service);
    EXPECT_EQ(ports(), std::vector<std::uint16_t>{32001});
    ServiceInfo other = service;
    other.key = "default/other";
    table.set_service(other);
    table.update();
    table.remove_service("default/web");
    EXPECT_EQ(ports(), std::vector<std::uint16_t>{32001}) << "it is the other's by now";
    table.remove_service("default/other");
    EXPECT_EQ(ports(), std::vector<std::uint16_t>{});
}

}  // namespace
}  // namespace porthole::proxy
