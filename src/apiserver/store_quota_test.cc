#include "apiserver/api_server_fixture.h"

namespace porthole::apiserver {
namespace {

/// A server whose store takes a little more than what every cluster has.
class StoreQuota : public ApiServerFixture {
protected:
    ApiServerOptions options() override {
        ApiServerOptions options = ApiServerFixture::options();
        options.store_quota_bytes = 600'000;
        return options;
    }
    /// Until one is refused; yields the answer.
    Answer fill() {
        for (;; ++filled_) {
            const std::string text = R"({"metadata":{"name":"fill-)" + std::to_string(filled_) + R"("},"data":{"k":")";
            Answer answer = post(ConfigMaps, text + std::string(40'000, 'x') + R"("}})");
            if (answer.code != 201) return answer;
        }
    }
    bool exceeded() { return api->store().usage().exceeded; }

    int filled_ = 0;
};

TEST_F(StoreQuota, RefusesAsKubernetesDoesAndDeletionsGoOn) {
    ASSERT_FALSE(exceeded()) << api->store().usage().live_bytes;
    ASSERT_EQ(post(Pods, pod("terminates")).code, 201);
    ASSERT_EQ(merge("/api/v1/namespaces/default/pods/terminates", R"({"metadata":{"finalizers":["example.com/wait"]}})").code, 200);
    const Answer refused = fill();
    EXPECT_EQ(refused.code, 500);
    EXPECT_EQ(refused.at({"message"}), "etcdserver: mvcc: database space exceeded");
    EXPECT_EQ(refused.at({"reason"}), "");
    EXPECT_EQ(put(std::string(ConfigMaps) + "/fill-0", config_map("fill-0")).code, 500);
    EXPECT_EQ(get(std::string(ConfigMaps) + "/fill-0").code, 200);
    EXPECT_EQ(get(ConfigMaps).code, 200);
    EXPECT_EQ(get("/readyz").code, 200) << "it has to be reached for what ends this";
    EXPECT_EQ(get("/readyz/store-quota").code, 500);
    EXPECT_TRUE(get("/metrics").text.contains("porthole_store_quota_exceeded 1\n"));
    EXPECT_TRUE(get("/api/v1/componentstatuses/etcd-0").text.contains(R"("status":"False")"));

    // A deletion that is a write at first, and the write that completes it.
    EXPECT_EQ(remove("/api/v1/namespaces/default/pods/terminates").code, 200);
    EXPECT_EQ(merge("/api/v1/namespaces/default/pods/terminates", R"({"metadata":{"finalizers":null}})").code, 200);
    EXPECT_EQ(remove("/api/v1/namespaces/default/pods/terminates", R"({"gracePeriodSeconds":0})").code / 100 * 100, 400) << "it is gone";

    EXPECT_EQ(remove(std::string(ConfigMaps) + "/fill-0").code, 200);
    EXPECT_EQ(remove(std::string(ConfigMaps) + "/fill-1").code, 200);
    EXPECT_EQ(remove(std::string(ConfigMaps) + "/fill-2").code, 200);
    loop.run_ready();
    EXPECT_FALSE(exceeded());
    EXPECT_EQ(get("/readyz/store-quota").code, 200);
    EXPECT_EQ(post(ConfigMaps, config_map("again")).code, 201);
}

TEST_F(StoreQuota, AFullStoreStarts) {
    fill();
    ASSERT_EQ(remove("/api/v1/namespaces/kube-public/configmaps/cluster-info").code, 200);
    loop.run_ready();
    ASSERT_TRUE(exceeded());
    ASSERT_TRUE(sim::run(loop, transport->close()));
    ASSERT_TRUE(sim::run(loop, api->close()));
    transport.reset();
    auto again = ApiServer::open({loop, pool, random, logger(), nullptr}, make_engine(), options());
    ASSERT_TRUE(again);
    api = std::move(*again);
    const auto started = sim::run(loop, api->start());
    ASSERT_TRUE(started) << started.error().message;
    transport = api->transport(loopback_user(), "test");
    EXPECT_TRUE(exceeded());
    EXPECT_EQ(get("/api/v1/namespaces/kube-public/configmaps/cluster-info").code, 200) << "what every cluster has is made";
    EXPECT_EQ(post(ConfigMaps, config_map("another")).code, 500) << "the quota holds again";
}

}  // namespace
}  // namespace porthole::apiserver
