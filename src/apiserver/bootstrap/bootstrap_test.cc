#include "apiserver/bootstrap/bootstrap.h"

#include <gtest/gtest.h>

#include "api/core_v1.h"
#include "base/base64.h"
#include "client/fake/fake_api.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::apiserver {
namespace {

struct BootstrapTest : testing::Test {
    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};

    Result<void> bootstrap() {
        return sim::run(loop, bootstrap_cluster(client, {.advertise_address = "10.0.0.5",
                                                         .kubernetes_service_ip = "10.96.0.1",
                                                         .cluster_dns = "10.96.0.10",
                                                         .cluster_domain = "cluster.local",
                                                         .service_cidr = "10.96.0.0/12",
                                                         .cluster_cidr = "10.244.0.0/16",
                                                         .ca_pem = "the authority"}));
    }
    std::string cluster_info() {
        const auto info = api.find<api::core::v1::ConfigMap>({"kube-public", "cluster-info"});
        return info ? info->data.at("kubeconfig") : "";
    }
    void put_cluster_info(std::string kubeconfig) {
        api::core::v1::ConfigMap info;
        info.metadata.namespace_ = "kube-public";
        info.metadata.name = "cluster-info";
        info.data["kubeconfig"] = std::move(kubeconfig);
        api.put(info);
    }
    /// So many writes come too late: another server has changed what they were made from.
    void refuse_updates(int count) {
        api.set_fault([left = count](const client::ApiRequest& request) mutable -> std::optional<Error> {
            if (request.method != "PUT" || left-- <= 0) return std::nullopt;
            return Error(Reason::Conflict, "the object has been modified");
        });
    }
};

TEST_F(BootstrapTest, GoesOnWhenAnotherServerMakesTheSameObjects) {
    refuse_updates(3);
    const auto made = bootstrap();
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(api.find<api::core::v1::Namespace>({"", "kube-system"}));
    EXPECT_TRUE(api.find<api::core::v1::Service>({"default", "kubernetes"}));
}

TEST_F(BootstrapTest, ClusterInfoOfAnotherProgramKeepsItsServer) {
    const std::string of_kubeadm =
        "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: " + encode_base64("the authority") +
        "\n    server: https://balancer:6443\n  name: \"\"\n";
    put_cluster_info(of_kubeadm);
    ASSERT_TRUE(bootstrap());
    EXPECT_EQ(cluster_info(), of_kubeadm);
}

TEST_F(BootstrapTest, ClusterInfoOfAnotherAuthorityIsReplaced) {
    put_cluster_info("apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: " + encode_base64("an earlier one") + "\n");
    ASSERT_TRUE(bootstrap());
    EXPECT_TRUE(cluster_info().contains("server: https://10.0.0.5:6443"));
}

TEST_F(BootstrapTest, OwnClusterInfoFollowsTheServersAddress) {
    ASSERT_TRUE(bootstrap());
    std::string moved = cluster_info();
    moved.replace(moved.find("10.0.0.5"), 8, "10.0.0.9");
    put_cluster_info(moved);
    ASSERT_TRUE(bootstrap());
    EXPECT_TRUE(cluster_info().contains("server: https://10.0.0.5:6443"));
}

TEST_F(BootstrapTest, DoesNotTryForEver) {
    refuse_updates(1'000'000);
    const auto made = bootstrap();
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().reason, Reason::Conflict);
}

}  // namespace
}  // namespace porthole::apiserver
