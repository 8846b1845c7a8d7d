#include "node_join/cluster_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace porthole::node_join {
namespace {

using testing::HasSubstr;

TEST(ClusterNetwork, TakesWhatTheClusterSaysAndElseTheUsual) {
    const ClusterNetwork ours = cluster_network({{"clusterCidr", "192.168.0.0/16"}, {"podNetworkBackend", "vxlan"}, {"clusterDns", ""}});
    EXPECT_EQ(ours.cluster_cidr, "192.168.0.0/16");
    EXPECT_EQ(ours.backend, "vxlan");
    EXPECT_EQ(ours.cluster_dns, "10.96.0.10");
    EXPECT_EQ(cluster_network({}).backend, "");
}

TEST(ClusterNetwork, ANodeTakesTheBackEndOfItsCluster) {
    const struct {
        const char* name;
        const char* asked;
        const char* clusters;
        const char* chosen;
    } rows[] = {{"nobody speaks", "", "", "host-gw"},
                {"the cluster speaks", "", "vxlan", "vxlan"},
                {"a foreign cluster", "vxlan", "", "vxlan"},
                {"both agree", "host-gw", "host-gw", "host-gw"}};
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(choose_backend(row.asked, {.backend = row.clusters}).value(), row.chosen);
    }
    EXPECT_THAT(choose_backend("host-gw", {.backend = "vxlan"}).error().message, HasSubstr("is vxlan, not host-gw"));
}

constexpr const char* KubeadmConfiguration = R"(apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.37.1
networking:
  dnsDomain: example.test
  podSubnet: 10.111.0.0/16
  serviceSubnet: 10.222.0.0/16
)";

TEST(ClusterNetwork, KubeadmsConfigurationSaysWhatClusterInfoDoesNot) {
    ClusterNetwork network = cluster_network({});
    EXPECT_FALSE(network.known);
    ASSERT_TRUE(learn_from_kubeadm(KubeadmConfiguration, network));
    EXPECT_TRUE(network.known);
    EXPECT_EQ(network.cluster_cidr, "10.111.0.0/16");
    EXPECT_EQ(network.service_cidr, "10.222.0.0/16");
    EXPECT_EQ(network.cluster_dns, "10.222.0.10") << "kubeadm gives its DNS service the tenth address";
    EXPECT_EQ(network.cluster_domain, "example.test");
    // A cluster whose pod network is somebody else's: kubeadm was told no range of pods.
    ClusterNetwork silent;
    ASSERT_TRUE(learn_from_kubeadm("kind: ClusterConfiguration\nnetworking: {serviceSubnet: 10.96.0.0/16}\n", silent));
    EXPECT_FALSE(silent.known);
    EXPECT_EQ(silent.cluster_dns, "10.96.0.10");
    EXPECT_THAT(learn_from_kubeadm("kind: Other", silent).error().message, HasSubstr("no ClusterConfiguration"));
}

TEST(ClusterNetwork, TheUsersWordsComeBeforeTheClusters) {
    ClusterNetwork network = cluster_network({});
    ASSERT_TRUE(learn_from_kubeadm(KubeadmConfiguration, network));
    ASSERT_TRUE(apply_wishes({.service_cidr = "10.43.0.0/16", .cluster_domain = "k3s.test"}, network));
    EXPECT_EQ(network.cluster_cidr, "10.111.0.0/16");
    EXPECT_EQ(network.cluster_dns, "10.43.0.10");
    EXPECT_EQ(network.cluster_domain, "k3s.test");
    ASSERT_TRUE(apply_wishes({.service_cidr = "10.43.0.0/16", .cluster_dns = "169.254.20.10"}, network));
    EXPECT_EQ(network.cluster_dns, "169.254.20.10") << "a node's own cache, for example";
    EXPECT_FALSE(apply_wishes({.service_cidr = "services"}, network));
}

// NET-35, LIM-13
TEST(ClusterNetwork, AWindowsNodeIsRefusedByAClusterOfIpv6Alone) {
    EXPECT_EQ(range_for_windows("10.244.0.0/16").value(), "10.244.0.0/16");
    EXPECT_EQ(range_for_windows("fd00:244::/48,10.244.0.0/16").value(), "10.244.0.0/16") << "dual stack";
    for (const char* ranges : {"fd00:244::/48", "fd00:244::/48,fd00:245::/48"}) {
        const auto refused = range_for_windows(ranges);
        ASSERT_FALSE(refused);
        EXPECT_THAT(refused.error().message, HasSubstr("single-stack IPv6 clusters are not supported with Windows nodes"));
        EXPECT_EQ(refused.error().message.find('\n'), std::string::npos) << "one line";
    }
    EXPECT_THAT(range_for_windows("ten").error().message, HasSubstr("not a valid address range"));
}

}  // namespace
}  // namespace porthole::node_join
