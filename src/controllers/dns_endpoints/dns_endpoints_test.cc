#include "controllers/dns_endpoints/dns_endpoints.h"

#include <gmock/gmock.h>

#include "controllers/framework/sim/sim_world.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;
using api::discovery::v1::EndpointSlice;
using testing::ElementsAre;
using testing::IsEmpty;

class DnsEndpointsWorld : public SimWorld {
protected:
    DnsEndpointsWorld() {
        run<DnsEndpointsController>();
        pass(1s);
    }
    void put_node(const char* name, const char* os, const char* address, const char* ready) {
        Node node;
        node.metadata.name = name;
        node.metadata.labels["kubernetes.io/os"] = os;
        node.status.conditions.push_back({.type = NodeConditionType::Ready, .status = ready});
        node.status.addresses.push_back({.type = NodeAddressType::InternalIP, .address = address});
        api.put(node);
        pass(1s);
    }
    std::vector<std::string> addresses() {
        std::vector<std::string> list;
        const auto slice = api.find<EndpointSlice>({"kube-system", "kube-dns"});
        if (slice)
            for (const auto& endpoint : slice->endpoints) list.push_back(endpoint.addresses.front());
        return list;
    }
};

TEST_F(DnsEndpointsWorld, EveryReadyLinuxNodeAnswers) {
    put_node("l2", "linux", "192.0.2.2", "True");
    put_node("l1", "linux", "192.0.2.1", "True");
    put_node("l3", "linux", "192.0.2.3", "Unknown");
    put_node("w1", "windows", "192.0.2.4", "True");
    EXPECT_THAT(addresses(), ElementsAre("192.0.2.1", "192.0.2.2"));
}

TEST_F(DnsEndpointsWorld, AHundredNodesOfALargeClusterAnswer) {
    for (int i = 100; i < 250; ++i) {
        const std::string number = std::to_string(i);
        put_node(("n" + number).c_str(), "linux", ("192.0.2." + number).c_str(), "True");
    }
    EXPECT_EQ(addresses().size(), 100u);
    api.remove<Node>({"", "n100"});
    pass(1s);
    EXPECT_EQ(addresses().size(), 100u) << "another one takes its place";
    EXPECT_EQ(addresses().front(), "192.0.2.101");
}

TEST_F(DnsEndpointsWorld, NodesThatAreLostDropOut) {
    put_node("l1", "linux", "192.0.2.1", "True");
    api.change<Node>({"", "l1"}, [](Node& node) { node.status.conditions.front().status = "False"; });
    pass(1s);
    EXPECT_THAT(addresses(), IsEmpty());
}

TEST_F(DnsEndpointsWorld, RepairsWhatSomebodyChanged) {
    put_node("l1", "linux", "192.0.2.1", "True");
    api.change<EndpointSlice>({"kube-system", "kube-dns"}, [](EndpointSlice& slice) { slice.endpoints.clear(); });
    pass(1s);
    EXPECT_THAT(addresses(), ElementsAre("192.0.2.1"));
}

TEST_F(DnsEndpointsWorld, AServiceWithASelectorIsLeftToItsOwnServers) {
    put_node("l1", "linux", "192.0.2.1", "True");
    Service service;
    service.metadata.namespace_ = "kube-system";
    service.metadata.name = "kube-dns";
    service.spec.selector = {{"k8s-app", "kube-dns"}};
    api.put(service);
    pass(1s);
    EXPECT_FALSE(api.find<EndpointSlice>({"kube-system", "kube-dns"}));
    put_node("l2", "linux", "192.0.2.2", "True");
    EXPECT_FALSE(api.find<EndpointSlice>({"kube-system", "kube-dns"}));
}

}  // namespace
}  // namespace porthole::controllers
