#include "objects/declared_features.h"

#include <gtest/gtest.h>

namespace porthole::objects {
namespace {

namespace core = api::core::v1;
using Names = std::vector<std::string_view>;

core::PodSpec spec() {
    core::PodSpec spec;
    spec.containers.emplace_back().name = "main";
    spec.init_containers.emplace_back().name = "init";
    spec.init_containers.emplace_back().name = "sidecar";
    spec.init_containers.back().restart_policy = "Always";
    return spec;
}

TEST(DeclaredFeatures, PodsNeedWhatTheirSpecAsksFor) {
    core::PodSpec asks = spec();
    EXPECT_EQ(features_to_run(asks), Names{});
    asks.containers[0].restart_policy_rules.emplace_back().action = "Restart";
    EXPECT_EQ(features_to_run(asks), Names{});
    asks.init_containers[0].restart_policy_rules.emplace_back().action = "RestartAllContainers";
    EXPECT_EQ(features_to_run(asks), Names{"RestartAllContainersOnContainerExits"});
    asks.host_users = false;
    EXPECT_EQ(features_to_run(asks), Names{"RestartAllContainersOnContainerExits"});
    asks.host_network = true;
    EXPECT_EQ(features_to_run(asks), (Names{"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"}));
}

TEST(DeclaredFeatures, ChangesNeedWhatTheyResize) {
    const core::PodSpec before = spec();
    EXPECT_EQ(features_to_update(before, before), Names{});
    core::PodSpec after = spec();
    after.containers[0].resources.requests["cpu"] = *Quantity::parse("1");
    after.init_containers[1].resources.requests["cpu"] = *Quantity::parse("1");
    EXPECT_EQ(features_to_update(before, after), Names{}) << "every node can";
    after.init_containers[0].resources.requests["cpu"] = *Quantity::parse("1");
    EXPECT_EQ(features_to_update(before, after), Names{"InPlacePodVerticalScalingInitContainers"});
    after.resources.emplace().requests["cpu"] = *Quantity::parse("2");
    EXPECT_EQ(features_to_update(before, after),
              (Names{"InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"}));
}

TEST(DeclaredFeatures, NodesDeclareWhatTheyCanDo) {
    const std::vector<std::string> linux_node = features_of_node("linux"), windows_node = features_of_node("windows");
    EXPECT_TRUE(std::ranges::is_sorted(linux_node));
    EXPECT_EQ(missing_features({"InPlacePodLevelResourcesVerticalScaling", "RestartAllContainersOnContainerExits"}, linux_node), "");
    EXPECT_EQ(missing_features({"InPlacePodLevelResourcesVerticalScaling", "RestartAllContainersOnContainerExits"}, windows_node),
              "InPlacePodLevelResourcesVerticalScaling")
        << "containers of Windows are not resized";
    EXPECT_EQ(missing_features({"A", "B"}, {}), "A, B");
}

}  // namespace
}  // namespace porthole::objects
