#include "apiserver/bootstrap/bootstrap.h"

#include <gtest/gtest.h>

#include "api/core_v1.h"
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
                                                         .cluster_cidr = "10.244.0.0/16"}));
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

TEST_F(BootstrapTest, DoesNotTryForEver) {
    refuse_updates(1'000'000);
    const auto made = bootstrap();
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().reason, Reason::Conflict);
}

}  // namespace
}  // namespace porthole::apiserver
