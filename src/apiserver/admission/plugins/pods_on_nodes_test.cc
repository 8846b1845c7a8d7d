// What pods and their changes may ask of the node that they are on.
#include "apiserver/admission/admission_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using Labels = std::map<std::string, std::string>;

class PodsOnNodes : public AdmissionTest {
protected:
    void put_node(const Labels& labels, std::vector<std::string> declared = {}) {
        Node node = named<Node>("", "n1");
        node.metadata.labels = labels;
        node.status.allocatable["cpu"] = *Quantity::parse("2");
        node.status.allocatable["memory"] = *Quantity::parse("1Gi");
        node.status.declared_features = std::move(declared);
        put(node);
    }
    static Pod pod(const std::string& node, const char* cpu = "100m") {
        Pod pod = named<Pod>("a", "web");
        pod.metadata.generation = 1;
        pod.spec.node_name = node;
        auto& container = pod.spec.containers.emplace_back();
        container.name = "main";
        container.resources.requests["cpu"] = *Quantity::parse(cpu);
        return pod;
    }
    static Pod changed(Pod pod) {
        ++pod.metadata.generation;
        return pod;
    }
    static Pod with_pod_level(Pod pod, const char* cpu) {
        pod.spec.resources.emplace().requests["cpu"] = *Quantity::parse(cpu);
        return changed(std::move(pod));
    }
};

TEST_F(PodsOnNodes, APodThatNamesItsNodeGetsItsZoneAndRegion) {
    const auto plugin = make_pod_topology_labels(given_);
    put_node({{"topology.kubernetes.io/zone", "z"}, {"topology.kubernetes.io/region", "r"}, {"kubernetes.io/hostname", "n1"}});
    Pod placed = pod("n1");
    placed.metadata.labels = {{"app", "web"}, {"topology.kubernetes.io/zone", "claimed"}};
    EXPECT_EQ(create(*plugin, placed), "");
    EXPECT_EQ(placed.metadata.labels,
              (Labels{{"app", "web"}, {"topology.kubernetes.io/region", "r"}, {"topology.kubernetes.io/zone", "z"}}));
    Pod waiting = pod(""), lost = pod("gone");
    EXPECT_EQ(create(*plugin, waiting), "");
    EXPECT_TRUE(waiting.metadata.labels.empty());
    EXPECT_EQ(create(*plugin, lost), "");
    EXPECT_TRUE(lost.metadata.labels.empty());
}

TEST_F(PodsOnNodes, ChangesAskForFeaturesThatTheNodeDeclares) {
    const auto plugin = make_node_declared_feature_validator(given_);
    const Pod before = pod("n1");
    EXPECT_EQ(update(*plugin, before, with_pod_level(before, "1"), "resize"), R"(pods "web" is forbidden: node "n1" not found)");
    put_node({});
    EXPECT_EQ(update(*plugin, before, with_pod_level(before, "1"), "resize"),
              R"(pods "web" is forbidden: pod update requires features InPlacePodLevelResourcesVerticalScaling which are not available on )"
              R"(node "n1")");
    EXPECT_EQ(error_.reason, Reason::Forbidden);
    EXPECT_EQ(update(*plugin, before, changed(before)), "");
    EXPECT_EQ(update(*plugin, pod(""), with_pod_level(pod(""), "1"), "resize"), "") << "it has no node yet";
    put_node({}, {"InPlacePodLevelResourcesVerticalScaling"});
    EXPECT_EQ(update(*plugin, before, with_pod_level(before, "1"), "resize"), "");
}

TEST_F(PodsOnNodes, AResizeIsRefusedThatTheNodeNeverGrants) {
    const auto plugin = make_pod_resize_validator(given_);
    const Pod before = pod("n1");
    EXPECT_EQ(update(*plugin, before, changed(pod("n1", "1")), "resize"), R"(pods "web" is forbidden: node "n1" not found)");
    put_node({{"kubernetes.io/os", "linux"}});
    EXPECT_EQ(update(*plugin, before, changed(pod("n1", "2")), "resize"), "");
    Pod large = changed(pod("n1", "2500m"));
    large.spec.containers[0].resources.requests["memory"] = *Quantity::parse("2Gi");
    EXPECT_EQ(update(*plugin, before, large, "resize"),
              R"(pods "web" is forbidden: node didn't have enough allocatable resources: cpu, requested: 2500, allocatable: 2000; memory, )"
              "requested: 2147483648, allocatable: 1073741824");
    ASSERT_EQ(error_.details->causes.size(), 1u);
    EXPECT_EQ(error_.details->causes[0].type, "NodeCapacity");
    EXPECT_EQ(update(*plugin, before, large), "") << "only the subresource resizes";
    put_node({{"kubernetes.io/os", "windows"}});
    EXPECT_EQ(update(*plugin, before, changed(pod("n1", "1")), "resize"),
              R"(pods "web" is forbidden: pod resize is only supported on linux nodes, node "n1" is "windows")");
    EXPECT_EQ(error_.details->causes[0].type, "UnsupportedPlatform");
}

}  // namespace
}  // namespace porthole::apiserver
