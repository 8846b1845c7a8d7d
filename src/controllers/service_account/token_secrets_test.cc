#include "controllers/service_account/token_secrets.h"

#include "controllers/framework/sim/sim_world.h"

namespace porthole::controllers {
namespace {

using namespace api::core::v1;

struct TokenSecrets : SimWorld {
    TokenSecrets() { settings.root_ca_pem = "PEM"; }
    void put_account(const std::string& name) {
        ServiceAccount account;
        account.metadata.namespace_ = "ns";
        account.metadata.name = name;
        api.put(account);
    }
    void put_secret(const std::string& name, const std::string& account) {
        Secret secret;
        secret.metadata.namespace_ = "ns";
        secret.metadata.name = name;
        secret.metadata.annotations["kubernetes.io/service-account.name"] = account;
        secret.type = "kubernetes.io/service-account-token";
        api.put(secret);
    }
    std::optional<Secret> secret(const std::string& name) { return api.find<Secret>({"ns", name}); }
};

TEST_F(TokenSecrets, AreFilledAndBoundToTheirAccount) {
    put_account("robot");
    put_secret("robot-token", "robot");
    run<TokenSecretController>();
    const auto filled = secret("robot-token");
    ASSERT_TRUE(filled.has_value());
    EXPECT_EQ(filled->data.at("token"), "token of ns/robot");
    EXPECT_EQ(filled->data.at("ca.crt"), "PEM");
    EXPECT_EQ(filled->data.at("namespace"), "ns");
    EXPECT_EQ(filled->metadata.annotations.at("kubernetes.io/service-account.uid"),
              (api.find<ServiceAccount>({"ns", "robot"})->metadata.uid));
}

TEST_F(TokenSecrets, GoWithTheirAccount) {
    put_account("robot");
    put_secret("robot-token", "robot");
    put_secret("stray", "nobody");
    run<TokenSecretController>();
    EXPECT_FALSE(secret("stray").has_value());
    api.erase<ServiceAccount>({"ns", "robot"});
    put_account("robot");  // another one of the same name: the old token is not its
    pass(1s);
    EXPECT_FALSE(secret("robot-token").has_value());
}

TEST_F(TokenSecrets, AreTakenFromTheListOfTheirAccountWhenTheyGo) {
    put_account("robot");
    put_secret("robot-token", "robot");
    api.change<ServiceAccount>({"ns", "robot"}, [](ServiceAccount& account) {
        account.secrets.emplace_back().name = "robot-token";
        account.secrets.emplace_back().name = "other";
    });
    run<TokenSecretController>();
    api.erase<Secret>({"ns", "robot-token"});
    pass(1s);
    const auto left = api.find<ServiceAccount>({"ns", "robot"})->secrets;
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].name, "other");
}

TEST_F(TokenSecrets, AreRepairedWhenSomebodyEmptiesThem) {
    put_account("robot");
    put_secret("robot-token", "robot");
    run<TokenSecretController>();
    api.change<Secret>({"ns", "robot-token"}, [](Secret& secret) { secret.data.clear(); });
    pass(1s);
    EXPECT_EQ(secret("robot-token")->data.size(), 3u);
}

}  // namespace
}  // namespace porthole::controllers
