#include "api/core_v1.h"
#include "apiserver/authentication/service_account_tokens.h"
#include "apiserver/storage/object_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using api::core::v1::Secret;

class BootstrapTokenTest : public ObjectTest {
protected:
    static Secret secret() {
        Secret secret = named<Secret>("kube-system", "bootstrap-token-abcdef", "1");
        secret.type = "bootstrap.kubernetes.io/token";
        secret.data = {{"token-id", "abcdef"},
                       {"token-secret", "0123456789abcdef"},
                       {"usage-bootstrap-authentication", "true"},
                       {"auth-extra-groups", "system:bootstrappers:kubeadm:default-node-token,system:masters"}};
        return secret;
    }
    Result<std::optional<User>> authenticate(const std::string& token) {
        net::HttpRequest request;
        request.headers.add("authorization", "Bearer " + token);
        return run(authenticator_.authenticate(request));
    }
    /// The user's name, "(nobody)" or why not.
    std::string outcome(const std::string& token) {
        auto user = authenticate(token);
        if (!user) return user.error().message;
        return *user ? (*user)->name : "(nobody)";
    }

    ObjectReader reader_{*store_};
    BootstrapTokenAuthenticator authenticator_{reader_, loop_};
};

constexpr const char* Token = "abcdef.0123456789abcdef";

TEST_F(BootstrapTokenTest, MakesABootstrapperOfItsGroupsOnly) {
    put(secret());
    auto user = authenticate(Token);
    ASSERT_TRUE(user && *user);
    EXPECT_EQ((*user)->name, "system:bootstrap:abcdef");
    EXPECT_EQ((*user)->groups, (std::vector<std::string>{"system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token"}));
}

TEST_F(BootstrapTokenTest, HoldsUntilItsExpiration) {
    Secret limited = secret();
    limited.data["expiration"] = (Timestamp(loop_.wall_now()) + 1h).to_string();
    put(limited);
    loop_.advance(59min);
    EXPECT_EQ(outcome(Token), "system:bootstrap:abcdef");
    loop_.advance(1min);
    EXPECT_EQ(outcome(Token), "the bootstrap token has expired");
}

TEST_F(BootstrapTokenTest, RefusesWhatTheSecretDoesNotGrant) {
    EXPECT_EQ(outcome(Token), "invalid bearer token") << "no secret";
    EXPECT_EQ(outcome("abcdef.0123456789ABCDEF"), "(nobody)") << "no token of this sort";
    put(secret());
    EXPECT_EQ(outcome("abcdef.0123456789abcdeX"), "(nobody)");
    EXPECT_EQ(outcome("abcdef.0123456789abcde0"), "invalid bearer token");

    Secret changed = secret();
    changed.data["usage-bootstrap-authentication"] = "false";
    put(changed);
    EXPECT_EQ(outcome(Token), "invalid bearer token") << "not for authentication";
    changed = secret();
    changed.type = "Opaque";
    put(changed);
    EXPECT_EQ(outcome(Token), "invalid bearer token") << "another type of secret";
    changed = secret();
    changed.data["expiration"] = "soon";
    put(changed);
    EXPECT_EQ(outcome(Token), "the bootstrap token has expired") << "an unreadable time";
}

}  // namespace
}  // namespace porthole::apiserver
