#include "controllers/endpoints/endpoints.h"

#include "controllers/endpoints/endpoint_slices.h"
#include "controllers/endpoints/slice_mirroring.h"
#include "controllers/framework/sim/sim_world.h"
#include "objects/pods.h"
#include "objects/selectors.h"

namespace porthole::controllers {
namespace {

using api::core::v1::Endpoints;
using api::core::v1::Node;
using api::core::v1::Pod;
using api::core::v1::Service;
using api::discovery::v1::Endpoint;
using api::discovery::v1::EndpointSlice;

const client::NamespacedName Key{"ns", "web"};

struct EndpointsTest : SimWorld {
    EndpointsTest() {
        Node node;
        node.metadata.name = "n1";
        node.metadata.labels = {{"topology.kubernetes.io/zone", "z1"}};
        api.put(node);
    }
    static Endpoints named_endpoints(const std::string& name) {
        Endpoints endpoints;
        endpoints.metadata.namespace_ = "ns";
        endpoints.metadata.name = name;
        return endpoints;
    }
    Service service() {
        Service service;
        service.metadata.namespace_ = "ns";
        service.metadata.name = "web";
        service.metadata.labels = {{"team", "a"}};
        service.spec.selector = {{"app", "web"}};
        service.spec.cluster_ip = "10.96.0.10";
        service.spec.ip_families = {"IPv4"};
        auto& port = service.spec.ports.emplace_back();
        port.name = "http";
        port.protocol = "TCP";
        port.port = 80;
        port.target_port = "web";
        return service;
    }
    Pod pod(const std::string& name, const std::string& ip, bool ready = true) {
        Pod pod;
        pod.metadata.namespace_ = "ns";
        pod.metadata.name = name;
        pod.metadata.labels = {{"app", "web"}};
        pod.spec.node_name = "n1";
        auto& container = pod.spec.containers.emplace_back();
        auto& port = container.ports.emplace_back();
        port.name = "web";
        port.protocol = "TCP";
        port.container_port = 8080;
        pod.status.phase = "Running";
        pod.status.pod_ip = ip;
        if (!ip.empty()) pod.status.pod_ips.emplace_back().ip = ip;
        api.put(pod);
        set_ready({"ns", name}, ready);
        return *api.find<Pod>({"ns", name});
    }
    void begin(const Service& service) {
        api.put(service);
        run<EndpointsController>();
        run<EndpointSliceController>();
        run<SliceMirroringController>();
        pass(5s);
    }
    void begin_without_selector() {
        Service wanted = service();
        wanted.spec.selector.clear();
        begin(wanted);
    }
    /// Updates of objects whose path contains `part`.
    int count_writes(const std::string& part) {
        return static_cast<int>(std::ranges::count_if(
            api.requests(), [&](const auto& request) { return request.method == "PUT" && request.path.contains(part); }));
    }
    std::vector<EndpointSlice> slices() { return api.list<EndpointSlice>("ns"); }
    /// "10.0.0.1 ready" for every endpoint of every slice.
    std::string shown() {
        std::string text;
        for (const EndpointSlice& slice : slices())
            for (const Endpoint& endpoint : slice.endpoints) {
                text += (text.empty() ? "" : ", ") + endpoint.addresses[0];
                if (endpoint.conditions.ready.value_or(false)) text += " ready";
                if (endpoint.conditions.serving.value_or(false)) text += " serving";
                if (endpoint.conditions.terminating.value_or(false)) text += " terminating";
            }
        return text;
    }
};

TEST_F(EndpointsTest, ShowsReadyPodsWithTheirPort) {
    const Pod a = pod("a", "10.0.0.1");
    pod("b", "10.0.0.2", false);
    begin(service());

    const auto endpoints = api.find<Endpoints>(Key);
    ASSERT_TRUE(endpoints);
    ASSERT_EQ(endpoints->subsets.size(), 1u);
    const auto& subset = endpoints->subsets[0];
    ASSERT_EQ(subset.addresses.size(), 1u);
    EXPECT_EQ(subset.addresses[0].ip, "10.0.0.1");
    EXPECT_EQ(subset.addresses[0].node_name, "n1");
    EXPECT_EQ(subset.addresses[0].target_ref->uid, a.metadata.uid);
    EXPECT_EQ(subset.not_ready_addresses[0].ip, "10.0.0.2");
    EXPECT_EQ(subset.ports[0].port, 8080);
    EXPECT_EQ(subset.ports[0].name, "http");
    EXPECT_EQ(endpoints->metadata.labels, (objects::Labels{{"team", "a"}, {"endpoints.kubernetes.io/managed-by", "endpoint-controller"}}));
    EXPECT_TRUE(endpoints->metadata.annotations.contains("endpoints.kubernetes.io/last-change-trigger-time"));

    ASSERT_EQ(slices().size(), 1u);
    const EndpointSlice slice = slices()[0];
    EXPECT_TRUE(slice.metadata.name.starts_with("web-"));
    EXPECT_EQ(slice.metadata.labels, (objects::Labels{{"team", "a"},
                                                      {"kubernetes.io/service-name", "web"},
                                                      {"endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"}}));
    EXPECT_EQ(slice.metadata.owner_references[0].kind, "Service");
    EXPECT_EQ(slice.address_type, "IPv4");
    EXPECT_EQ(slice.ports[0].port, 8080);
    EXPECT_EQ(slice.endpoints[0].zone, "z1");
    EXPECT_EQ(slice.endpoints[0].node_name, "n1");
    EXPECT_EQ(shown(), "10.0.0.1 ready serving, 10.0.0.2");
}

TEST_F(EndpointsTest, EndpointsAreNotWrittenBeforeTheLastWriteIsSeen) {
    pod("a", "10.0.0.1", false);
    pod("b", "10.0.0.2", false);
    begin(service());
    bool blind = true;
    int updates = 0;
    api.set_fault([&](const client::ApiRequest& request) -> std::optional<Error> {
        if (!request.path.ends_with("/endpoints") && !request.path.contains("/endpoints/")) return std::nullopt;
        updates += request.method == "PUT";
        if (blind && request.method == "GET") return Error(Reason::ServiceUnavailable, "not now");
        return std::nullopt;
    });
    api.drop_watches();
    pass(10s);
    for (const char* name : {"a", "b"}) {
        set_ready({"ns", name});
        pass(1s);
    }
    EXPECT_EQ(updates, 1) << "the second would be a conflict";
    blind = false;
    pass(2min);
    EXPECT_EQ(updates, 2);
    EXPECT_EQ(api.find<Endpoints>(Key)->subsets[0].addresses.size(), 2u);
}

TEST_F(EndpointsTest, FollowsReadinessTerminationAndDeath) {
    pod("a", "10.0.0.1");
    begin(service());
    set_ready({"ns", "a"}, false);
    pass(2s);
    EXPECT_EQ(shown(), "10.0.0.1");
    set_ready({"ns", "a"}, true);
    api.remove<Pod>({"ns", "a"});
    pass(2s);
    EXPECT_EQ(shown(), "10.0.0.1 serving terminating");
    EXPECT_TRUE(api.find<Endpoints>(Key)->subsets.empty());
    set_phase({"ns", "a"}, "Succeeded");
    pass(2s);
    EXPECT_EQ(shown(), "");
    EXPECT_EQ(slices().size(), 1u) << "an empty slice stays";
    pod("b", "10.0.0.2");
    pass(2s);
    EXPECT_EQ(shown(), "10.0.0.2 ready serving");
    EXPECT_EQ(slices().size(), 1u);
}

TEST_F(EndpointsTest, PodsWithoutAddressOrWithOtherLabelsAreLeftOut) {
    pod("a", "");
    pod("b", "10.0.0.2");
    api.change<Pod>({"ns", "b"}, [](Pod& pod) { pod.metadata.labels = {{"app", "other"}}; });
    begin(service());
    EXPECT_EQ(shown(), "");
    api.change<Pod>({"ns", "b"}, [](Pod& pod) { pod.metadata.labels = {{"app", "web"}}; });
    pass(2s);
    EXPECT_EQ(shown(), "10.0.0.2 ready serving");
    api.change<Pod>({"ns", "b"}, [](Pod& pod) { pod.metadata.labels = {{"app", "other"}}; });
    pass(2s);
    EXPECT_EQ(shown(), "");
}

TEST_F(EndpointsTest, PublishesTheUnreadyWhenAsked) {
    pod("a", "10.0.0.1", false);
    Service wanted = service();
    wanted.spec.cluster_ip = "None";
    wanted.spec.publish_not_ready_addresses = true;
    begin(wanted);
    EXPECT_EQ(shown(), "10.0.0.1 ready");
    EXPECT_EQ(api.find<Endpoints>(Key)->subsets[0].addresses.size(), 1u);
    EXPECT_EQ(slices()[0].metadata.labels.at("service.kubernetes.io/headless"), "");
}

TEST_F(EndpointsTest, HeadlessPodsHaveTheirHostnames) {
    pod("a", "10.0.0.1");
    api.change<Pod>({"ns", "a"}, [](Pod& pod) {
        pod.spec.hostname = "db-0";
        pod.spec.subdomain = "web";
    });
    Service wanted = service();
    wanted.spec.cluster_ip = "None";
    wanted.spec.ports.clear();
    begin(wanted);
    EXPECT_EQ(slices()[0].endpoints[0].hostname, "db-0");
    EXPECT_EQ(api.find<Endpoints>(Key)->subsets[0].addresses[0].hostname, "db-0");
}

TEST_F(EndpointsTest, HintsFollowTheServicesWish) {
    pod("a", "10.0.0.1");
    Service wanted = service();
    wanted.spec.traffic_distribution = "PreferSameNode";
    begin(wanted);
    ASSERT_TRUE(slices()[0].endpoints[0].hints);
    EXPECT_EQ(slices()[0].endpoints[0].hints->for_nodes[0].name, "n1");
    EXPECT_EQ(slices()[0].endpoints[0].hints->for_zones[0].name, "z1");
}

TEST_F(EndpointsTest, NodesArePreferredWithoutZones) {
    api.change<Node>({"", "n1"}, [](Node& node) { node.metadata.labels.clear(); });
    pod("a", "10.0.0.1");
    Service wanted = service();
    wanted.spec.traffic_distribution = "PreferSameNode";
    begin(wanted);
    ASSERT_TRUE(slices()[0].endpoints[0].hints);
    EXPECT_EQ(slices()[0].endpoints[0].hints->for_nodes[0].name, "n1");
    EXPECT_TRUE(slices()[0].endpoints[0].hints->for_zones.empty());
}

TEST_F(EndpointsTest, SlicesOfAnEarlierServiceOfTheNameAreReplaced) {
    pod("a", "10.0.0.1");
    begin(service());
    ASSERT_EQ(slices().size(), 1u);
    const EndpointSlice before = slices()[0];
    api.erase<Service>(Key);
    const Service again = api.put(service());
    pass(5s);
    ASSERT_EQ(slices().size(), 1u);
    EXPECT_NE(slices()[0].metadata.name, before.metadata.name);
    EXPECT_EQ(slices()[0].metadata.owner_references[0].uid, again.metadata.uid);
    EXPECT_EQ(shown(), "10.0.0.1 ready serving");
}

TEST_F(EndpointsTest, AServiceThatIsBeingDeletedGetsNoMoreSlices) {
    pod("a", "10.0.0.1");
    begin(service());
    api.change<Service>(Key, [&](Service& service) {
        service.metadata.finalizers = {"foregroundDeletion"};
        service.metadata.deletion_timestamp = Timestamp(loop.wall_now());
    });
    api.erase<EndpointSlice>(client::key_of(slices()[0]));
    pass(10s);
    EXPECT_TRUE(slices().empty());
}

TEST_F(EndpointsTest, AServiceThatIsNewToTheControllerChangedWhenItWasMade) {
    pod("a", "10.0.0.1");
    pass(1h);
    Service wanted = service();
    wanted.metadata.creation_timestamp = Timestamp(loop.wall_now());
    begin(wanted);
    constexpr const char* Annotation = "endpoints.kubernetes.io/last-change-trigger-time";
    EXPECT_EQ(slices()[0].metadata.annotations.at(Annotation), wanted.metadata.creation_timestamp.to_string());
    EXPECT_EQ(api.find<Endpoints>(Key)->metadata.annotations.at(Annotation), wanted.metadata.creation_timestamp.to_string());
}

TEST_F(EndpointsTest, PortsOfInitContainersLeadNowhereUnlessTheyAreSidecars) {
    pod("a", "10.0.0.1");
    const auto set_restart = [&](const std::string& policy) {
        api.change<Pod>({"ns", "a"}, [&](Pod& pod) {
            pod.spec.init_containers = pod.spec.containers;
            if (!policy.empty()) pod.spec.init_containers[0].restart_policy = policy;
            pod.spec.containers[0].ports.clear();
            pod.metadata.labels["restart"] = policy;
        });
    };
    set_restart("");
    begin(service());
    EXPECT_TRUE(slices()[0].ports.empty());
    EXPECT_TRUE(api.find<Endpoints>(Key)->subsets.empty());
    api.change<Pod>({"ns", "a"}, [](Pod& pod) {
        pod.spec.init_containers[0].restart_policy = "Always";
        pod.metadata.labels["sidecar"] = "true";
    });
    pass(5s);
    EXPECT_EQ(slices()[0].ports.at(0).port, 8080);
}

TEST_F(EndpointsTest, ManyPodsAreSpreadOverSlicesWithoutChurn) {
    for (int i = 0; i < 250; ++i) pod("p" + std::to_string(i), "10.0.1." + std::to_string(i));
    begin(service());
    EXPECT_EQ(slices().size(), 3u);
    api.clear_requests();
    set_ready({"ns", "p7"}, false);
    pass(5s);
    EXPECT_EQ(count_writes("/endpointslices/"), 1);
}

TEST_F(EndpointsTest, ManyPodsOfAServiceAreLookedAtOnceForTheChangesOfATime) {
    for (int i = 0; i < 500; ++i) pod("p" + std::to_string(i), fmt::format("10.0.{}.{}", i / 250, i % 250));
    begin(service());
    api.clear_requests();
    for (int i = 0; i < 40; ++i) {
        set_ready({"ns", "p" + std::to_string(i)}, false);
        pass(50ms);
        if (i == 0) EXPECT_EQ(count_writes("/endpoints/web"), 1) << "the first does not wait";
    }
    pass(2s);
    EXPECT_GE(count_writes("/endpoints/web"), 4) << "one in half a second";
    EXPECT_LE(count_writes("/endpoints/web"), 6);
    EXPECT_EQ(api.find<Endpoints>(Key)->subsets[0].not_ready_addresses.size(), 40u) << "the last change is not forgotten";
}

TEST_F(EndpointsTest, TheChangeOfOnePodOfFewIsWrittenImmediately) {
    for (int i = 0; i < 50; ++i) pod("p" + std::to_string(i), "10.0.1." + std::to_string(i));
    begin(service());
    for (std::size_t i = 0; i < 10; ++i) {
        set_ready({"ns", "p" + std::to_string(i)}, false);
        pass(10ms);
        EXPECT_EQ(api.find<Endpoints>(Key)->subsets[0].not_ready_addresses.size(), i + 1);
    }
}

TEST_F(EndpointsTest, RestoresWhatSomebodyDeletes) {
    pod("a", "10.0.0.1");
    begin(service());
    api.erase<Endpoints>(Key);
    api.erase<EndpointSlice>(client::key_of(slices()[0]));
    pass(3s);
    EXPECT_TRUE(api.find<Endpoints>(Key));
    EXPECT_EQ(shown(), "10.0.0.1 ready serving");
}

TEST_F(EndpointsTest, DeletesEndpointsWithTheService) {
    pod("a", "10.0.0.1");
    begin(service());
    api.erase<Service>(Key);
    pass(2s);
    EXPECT_FALSE(api.find<Endpoints>(Key));
}

TEST_F(EndpointsTest, DeletesEndpointsWhoseServiceWentUnseen) {
    Endpoints left = named_endpoints("left"), lock = named_endpoints("lock");
    lock.metadata.annotations["control-plane.alpha.kubernetes.io/leader"] = "{}";
    api.put(left);
    api.put(lock);
    run<EndpointsController>();
    pass(2s);
    EXPECT_FALSE(api.find<Endpoints>({"ns", "left"}));
    EXPECT_TRUE(api.find<Endpoints>({"ns", "lock"}));
    api.put(left);
    pass(1min);
    EXPECT_TRUE(api.find<Endpoints>({"ns", "left"})) << "whose service may be made next";
}

TEST_F(EndpointsTest, APodOnAnUnknownNodeWaitsForIt) {
    pod("a", "10.0.0.1");
    api.change<Pod>({"ns", "a"}, [](Pod& pod) { pod.spec.node_name = "n2"; });
    begin(service());
    EXPECT_EQ(shown(), "");
    Node node;
    node.metadata.name = "n2";
    api.put(node);
    pass(1min);
    EXPECT_EQ(shown(), "10.0.0.1 ready serving");
}

TEST_F(EndpointsTest, ManyNamedPortsTakeLinearTime) {
    constexpr std::int32_t Ports = 30'000;
    Service many = service();
    many.spec.ports.clear();
    Pod pod;
    pod.status.pod_ip = "10.0.0.1";
    pod.metadata.uid = "u";
    pod.spec.containers.emplace_back();
    for (std::int32_t i = 1; i <= Ports; ++i) {
        many.spec.ports.push_back({.name = "s" + std::to_string(i), .protocol = "TCP", .port = i, .target_port = "p" + std::to_string(i)});
        pod.spec.containers[0].ports.push_back({.name = "p" + std::to_string(i), .container_port = i + 1});
    }
    const auto subsets = endpoints::make_subsets(many, {std::make_shared<const Pod>(pod)});
    ASSERT_EQ(subsets.size(), 1u);
    EXPECT_EQ(subsets[0].ports.size(), static_cast<std::size_t>(Ports));
    EXPECT_EQ(subsets[0].ports[0].port, 2) << "s1";
}

TEST_F(EndpointsTest, OfTooManyAddressesEachSubsetKeepsItsShare) {
    std::vector<api::core::v1::EndpointSubset> subsets(2);
    subsets[0].addresses.resize(30);
    subsets[1].addresses.resize(10);
    subsets[1].not_ready_addresses.resize(10);
    auto few = subsets;
    EXPECT_TRUE(endpoints::truncate(subsets, 20));
    EXPECT_EQ(subsets[0].addresses.size(), 15u);
    EXPECT_EQ(subsets[1].addresses.size(), 5u);
    EXPECT_TRUE(subsets[1].not_ready_addresses.empty());
    EXPECT_TRUE(endpoints::truncate(few, 45));
    EXPECT_EQ(few[1].addresses.size(), 10u);
    EXPECT_EQ(few[1].not_ready_addresses.size(), 5u);
}

TEST_F(EndpointsTest, MirrorsEndpointsKeptByHand) {
    begin_without_selector();
    EXPECT_TRUE(slices().empty());
    Endpoints endpoints = named_endpoints("web");
    auto& subset = endpoints.subsets.emplace_back();
    subset.addresses.emplace_back().ip = "192.0.2.7";
    subset.not_ready_addresses.emplace_back().ip = "192.0.2.8";
    subset.ports.emplace_back().port = 5432;
    api.put(endpoints);
    pass(2s);
    ASSERT_EQ(slices().size(), 1u);
    EXPECT_EQ(slices()[0].metadata.labels.at("endpointslice.kubernetes.io/managed-by"), "endpointslicemirroring-controller.k8s.io");
    EXPECT_EQ(shown(), "192.0.2.7 ready, 192.0.2.8");
    EXPECT_EQ(slices()[0].ports[0].port, 5432);
    api.change<Endpoints>(Key, [](Endpoints& endpoints) { endpoints.metadata.labels["endpointslice.kubernetes.io/skip-mirror"] = "true"; });
    pass(2s);
    EXPECT_TRUE(slices().empty());
}

TEST_F(EndpointsTest, MirrorsEndpointsThatHadASelectorBefore) {
    pod("a", "10.0.0.1");
    begin(service());
    api.erase<EndpointSlice>(client::key_of(slices()[0]));
    api.change<Service>(Key, [](Service& service) { service.spec.selector.clear(); });
    pass(2s);
    api.change<Endpoints>(Key, [](Endpoints& endpoints) { endpoints.subsets[0].addresses[0].ip = "192.0.2.7"; });
    pass(5s);
    ASSERT_EQ(shown(), "192.0.2.7 ready");
    EXPECT_FALSE(slices()[0].metadata.annotations.contains("endpoints.kubernetes.io/last-change-trigger-time"));
}

TEST_F(EndpointsTest, MirroredSlicesFollowOwnerAndAnnotations) {
    begin_without_selector();
    Endpoints endpoints = named_endpoints("web");
    auto& subset = endpoints.subsets.emplace_back();
    subset.addresses.emplace_back().ip = "192.0.2.7";
    subset.ports.emplace_back().port = 80;
    api.put(endpoints);
    pass(2s);
    ASSERT_EQ(slices().size(), 1u);
    api.change<Endpoints>(Key, [](Endpoints& endpoints) { endpoints.metadata.annotations["note"] = "new"; });
    pass(5s);
    EXPECT_EQ(slices()[0].metadata.annotations.at("note"), "new");
    api.erase<Endpoints>(Key);
    const Endpoints again = api.put(endpoints);
    pass(5s);
    ASSERT_EQ(slices().size(), 1u);
    EXPECT_EQ(slices()[0].metadata.owner_references[0].uid, again.metadata.uid);
    EXPECT_FALSE(slices()[0].metadata.annotations.contains("note"));
}

TEST_F(EndpointsTest, OfASubsetAThousandAddressesAreMirrored) {
    begin_without_selector();
    Endpoints endpoints = named_endpoints("web");
    auto& subset = endpoints.subsets.emplace_back();
    subset.ports.emplace_back().port = 80;
    for (int i = 0; i < 1100; ++i)
        subset.addresses.emplace_back().ip = "192.0." + std::to_string(i / 250) + "." + std::to_string(1 + i % 250);
    api.put(endpoints);
    pass(10s);
    std::size_t mirrored = 0;
    for (const auto& slice : slices()) mirrored += slice.endpoints.size();
    EXPECT_EQ(mirrored, 1000u);
}

TEST_F(EndpointsTest, LargeAnnotationsAreNotMirroredWithoutEnd) {
    begin_without_selector();
    Endpoints endpoints = named_endpoints("web");
    endpoints.metadata.annotations["note"] = std::string(200'000, 'x');
    for (std::int32_t i = 1; i <= 120; ++i) {
        auto& subset = endpoints.subsets.emplace_back();
        subset.addresses.emplace_back().ip = "192.0.2.7";
        subset.ports.emplace_back().port = i;
    }
    api.put(endpoints);
    pass(10s);
    EXPECT_EQ(slices().size(), 83u) << "of 16 MiB";
    endpoints.metadata.annotations.clear();
    api.put(endpoints);
    pass(10s);
    EXPECT_EQ(slices().size(), 120u);
}

}  // namespace
}  // namespace porthole::controllers
