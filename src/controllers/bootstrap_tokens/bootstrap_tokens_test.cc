#include "controllers/bootstrap_tokens/cluster_info_signer.h"
#include "controllers/bootstrap_tokens/token_cleaner.h"
#include "controllers/framework/sim/sim_world.h"
#include "net/tls/crypto.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;

struct BootstrapTokens : SimWorld {
    Secret token(const std::string& id, std::optional<Duration> life) {
        Secret secret;
        secret.metadata.namespace_ = "kube-system";
        secret.metadata.name = "bootstrap-token-" + id;
        secret.type = "bootstrap.kubernetes.io/token";
        secret.data = {{"token-id", id}, {"token-secret", "0123456789abcdef"}, {"usage-bootstrap-signing", "true"}};
        if (life) secret.data["expiration"] = Timestamp(loop.wall_now() + *life).to_string();
        return secret;
    }
    void put_cluster_info(const std::string& kubeconfig) {
        ConfigMap map;
        map.metadata.namespace_ = "kube-public";
        map.metadata.name = "cluster-info";
        map.data = {{"kubeconfig", kubeconfig}, {"clusterDns", "10.96.0.10"}};
        api.put(map);
    }
    std::map<std::string, std::string> info() { return api.find<ConfigMap>({"kube-public", "cluster-info"})->data; }
    bool there(const std::string& id) { return api.find<Secret>({"kube-system", "bootstrap-token-" + id}).has_value(); }
};

TEST_F(BootstrapTokens, ClusterInfoIsSignedByEveryTokenThatMay) {
    put_cluster_info("who we are");
    api.put(token("aaaaaa", std::nullopt));
    Secret silent = token("bbbbbb", std::nullopt);
    silent.data.erase("usage-bootstrap-signing");
    api.put(silent);
    run<ClusterInfoSigner>();
    const auto data = info();
    ASSERT_TRUE(data.contains("jws-kubeconfig-aaaaaa"));
    EXPECT_TRUE(net::verify_detached_jws(data.at("jws-kubeconfig-aaaaaa"), "who we are", "aaaaaa", "0123456789abcdef"));
    EXPECT_FALSE(data.contains("jws-kubeconfig-bbbbbb"));
    EXPECT_EQ(data.at("clusterDns"), "10.96.0.10");
}

TEST_F(BootstrapTokens, SignaturesFollowTheTextAndTheTokens) {
    put_cluster_info("old");
    api.put(token("aaaaaa", std::nullopt));
    run<ClusterInfoSigner>();
    api.change<ConfigMap>({"kube-public", "cluster-info"}, [](ConfigMap& map) { map.data["kubeconfig"] = "new"; });
    api.put(token("cccccc", 1h));
    pass(1s);
    EXPECT_TRUE(net::verify_detached_jws(info().at("jws-kubeconfig-aaaaaa"), "new", "aaaaaa", "0123456789abcdef"));
    EXPECT_TRUE(info().contains("jws-kubeconfig-cccccc"));
    api.remove<Secret>({"kube-system", "bootstrap-token-aaaaaa"});
    pass(1h);
    EXPECT_FALSE(info().contains("jws-kubeconfig-aaaaaa")) << "the token is gone";
    EXPECT_FALSE(info().contains("jws-kubeconfig-cccccc")) << "the token has expired";
}

TEST_F(BootstrapTokens, ExpiredTokensAreRemovedAndOthersKept) {
    api.put(token("aaaaaa", 1h));
    api.put(token("bbbbbb", std::nullopt));
    Secret other = token("cccccc", 1min);
    other.type = "Opaque";
    api.put(other);
    run<TokenCleaner>();
    pass(59min);
    EXPECT_TRUE(there("aaaaaa"));
    pass(2min);
    EXPECT_FALSE(there("aaaaaa"));
    EXPECT_TRUE(there("bbbbbb"));
    EXPECT_TRUE(there("cccccc"));
}

TEST_F(BootstrapTokens, AProlongedTokenLives) {
    api.put(token("aaaaaa", 1h));
    run<TokenCleaner>();
    pass(30min);
    const std::string later = Timestamp(loop.wall_now() + 2h).to_string();
    api.change<Secret>({"kube-system", "bootstrap-token-aaaaaa"}, [&](Secret& secret) { secret.data["expiration"] = later; });
    pass(1h);
    EXPECT_TRUE(there("aaaaaa"));
    pass(2h);
    EXPECT_FALSE(there("aaaaaa"));
}

}  // namespace
}  // namespace porthole::controllers
