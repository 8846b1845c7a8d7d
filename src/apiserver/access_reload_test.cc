#include "apiserver/access_reload.h"

#include <gmock/gmock.h>

#include "apiserver/access_fixture.h"
#include "apiserver/authentication/token_issuer_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr const char* AuthenticationPath = "/authentication.yaml";
constexpr const char* AuthorizationPath = "/authorization.yaml";
constexpr const char* Authentication = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n";
constexpr const char* Authorization =
    "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n"
    "- {type: Node, name: node}\n- {type: RBAC, name: rbac}\n";

/// A server whose files of authentication and authorization change.
class AccessReloadTest : public Access {
protected:
    void SetUp() override {
        flags.authentication_config = AuthenticationPath;
        flags.authorization_config = AuthorizationPath;
        write(AuthenticationPath, std::string(Authentication) + "anonymous: {enabled: false}\n");
        write(AuthorizationPath, Authorization);
        reload.emplace(AccessReload::Seams{loop, servers.files(), Logger(make_null_sink(), "test")}, flags,
                       std::vector<std::string>{"https://own.test"});
        Access::SetUp();
        scope.spawn(reload->follow(*api));
    }
    void TearDown() override {
        ASSERT_TRUE(sim::run(loop, scope.close()));
        Access::TearDown();
    }
    ApiServerOptions options() override {
        ApiServerOptions chosen = Access::options();
        EXPECT_TRUE(read_access_flags(servers.files(), flags, chosen));
        return chosen;
    }
    OutgoingClients* outgoing() override { return &servers; }

    void write(const char* path, const std::string& text) { ASSERT_TRUE(servers.files().write(path, text, 0600)); }
    /// The file says this from now on, and the server has had the time to see it.
    void change(const char* path, const std::string& text, Duration time = 6s) {
        write(path, text);
        loop.advance(time);
    }
    int code(const std::string& token, const char* path) {
        net::HttpRequest request = bearer_request(token);
        request.path = path;
        StreamKeeper keeper;
        EXPECT_TRUE(sim::run(loop, api->server().handle(std::move(request), keeper)));
        return keeper.code;
    }
    std::string token(const FakeIssuer& issuer) {
        return issuer.token(issuer.claims(std::chrono::floor<std::chrono::seconds>(loop.wall_now()).time_since_epoch().count() + 3600));
    }
    static std::string with_issuer(const std::string& url) {
        return std::string(Authentication) + "jwt:\n- issuer: {url: '" + url +
               "', audiences: [porthole]}\n  claimMappings: {username: {claim: sub, prefix: 'oidc:'}}\n";
    }
    std::string metrics() const {
        std::string text;
        reload->append_metrics(text);
        return text;
    }
    static std::string reloads(const char* which, const char* status, int number) {
        return std::string("apiserver_") + which + "_config_controller_automatic_reloads_total{status=\"" + status + "\"} " +
               std::to_string(number) + "\n";
    }

    AccessFlags flags;
    FakeServers servers{loop};
    FakeIssuer issuer{servers};
    std::optional<AccessReload> reload;
    Scope scope{loop};
};

TEST_F(AccessReloadTest, AnonymousRequestsFollowTheFile) {
    EXPECT_EQ(code("", "/livez"), 401);
    change(AuthenticationPath, std::string(Authentication) + "anonymous: {enabled: true, conditions: [{path: /livez}]}\n");
    EXPECT_EQ(code("", "/livez"), 200);
    EXPECT_EQ(code("", "/readyz"), 401);
    EXPECT_THAT(metrics(), HasSubstr(reloads("authentication", "success", 1)));
    EXPECT_THAT(metrics(),
                HasSubstr("apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds{status=\"success\"} "));
    EXPECT_THAT(metrics(), Not(HasSubstr("last_timestamp_seconds{status=\"failure\"}")));
}

TEST_F(AccessReloadTest, IssuersComeAndGo) {
    EXPECT_EQ(code(token(issuer), "/api"), 401);
    change(AuthenticationPath, with_issuer(issuer.url()));
    EXPECT_EQ(code(token(issuer), "/api"), 200);
    const std::size_t asked = issuer.asked();
    change(AuthenticationPath, with_issuer(issuer.url()) + "anonymous: {enabled: false}\n");
    EXPECT_EQ(code(token(issuer), "/api"), 200);
    EXPECT_EQ(issuer.asked(), asked) << "an issuer that stays is not asked again";
    change(AuthenticationPath, Authentication);
    EXPECT_EQ(code(token(issuer), "/api"), 401);
}

TEST_F(AccessReloadTest, ExpressionsChangeWithTheFile) {
    const auto with_rule = [&](const std::string& rule) {
        return with_issuer(issuer.url()) + "  userValidationRules: [{expression: " + rule + "}]\n";
    };
    change(AuthenticationPath, with_rule("user.username == \"oidc:jane\""));
    EXPECT_EQ(code(token(issuer), "/api"), 200);
    change(AuthenticationPath, with_rule("user.username == \"oidc:joe\""));
    EXPECT_EQ(code(token(issuer), "/api"), 401);
    change(AuthenticationPath, with_rule("user.name == \"oidc:jane\""));
    EXPECT_THAT(metrics(), HasSubstr(reloads("authentication", "failure", 1)));
    change(AuthenticationPath, with_issuer(issuer.url()));
    EXPECT_EQ(code(token(issuer), "/api"), 200);
}

TEST_F(AccessReloadTest, AWrongFileLeavesWhatWas) {
    change(AuthenticationPath, with_issuer(issuer.url()));
    for (const std::string& wrong : {std::string(), std::string("kind: Nothing"), std::string(Authentication) + "anonymus: {}\n"}) {
        change(AuthenticationPath, wrong);
        EXPECT_EQ(code(token(issuer), "/api"), 200) << wrong;
    }
    EXPECT_THAT(metrics(), HasSubstr(reloads("authentication", "failure", 3)));
    ASSERT_TRUE(servers.files().remove(AuthenticationPath));
    loop.advance(6s);
    EXPECT_EQ(code(token(issuer), "/api"), 200);
    EXPECT_THAT(metrics(), HasSubstr(reloads("authentication", "failure", 4)));
}

TEST_F(AccessReloadTest, AFileThatIsTooLongIsNotUsed) {
    const std::string issuers = with_issuer(issuer.url());
    const auto padded = [](const std::string& text, std::size_t size) { return text + "#" + std::string(size - text.size() - 1, 'x'); };
    change(AuthenticationPath, issuers);
    change(AuthenticationPath, padded(Authentication, LargestAccessFile + 1));
    EXPECT_EQ(code(token(issuer), "/api"), 200) << "what was still counts";
    EXPECT_THAT(metrics(), HasSubstr(reloads("authentication", "failure", 1)));
    change(AuthorizationPath, padded(Authorization, LargestAccessFile + 1));
    EXPECT_THAT(metrics(), HasSubstr(reloads("authorization", "failure", 1)));
    change(AuthenticationPath, padded(Authentication, LargestAccessFile));
    EXPECT_EQ(code(token(issuer), "/api"), 401) << "one that is just short enough is used";
}

TEST_F(AccessReloadTest, AnIssuerThatCannotBeAskedReplacesNobodyAndIsTriedAgain) {
    change(AuthenticationPath, with_issuer(issuer.url()));
    change(AuthenticationPath, with_issuer("https://away.test"), 30s);
    EXPECT_EQ(code(token(issuer), "/api"), 200) << "while the new one is asked";
    loop.advance(60s);
    EXPECT_EQ(code(token(issuer), "/api"), 200) << "when it has not answered";
    EXPECT_THAT(metrics(), HasSubstr(reloads("authentication", "failure", 1)));
    FakeIssuer away(servers, "https://away.test");
    loop.advance(2min);
    EXPECT_EQ(code(token(away), "/api"), 200);
    EXPECT_EQ(code(token(issuer), "/api"), 401);
}

TEST_F(AccessReloadTest, WebhooksDecideFromWhenTheFileNamesThem) {
    servers.write_kubeconfig("/hook", "https://hook.test");
    servers.at("https://hook.test").answer = [](const net::HttpRequest&) {
        return FakeIssuer::reply(R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":true}})");
    };
    EXPECT_EQ(as(jane(), "GET", ConfigMaps).code, 403);
    const std::string with_hook = std::string(Authorization) +
                                  "- type: Webhook\n  name: hook\n"
                                  "  webhook: {timeout: 3s, subjectAccessReviewVersion: v1, failurePolicy: Deny, "
                                  "matchConditionSubjectAccessReviewVersion: v1, authorizedTTL: 1m, unauthorizedTTL: 1m, "
                                  "connectionInfo: {type: KubeConfigFile, kubeConfigFile: /hook}}\n";
    change(AuthorizationPath, with_hook);
    EXPECT_EQ(as(jane(), "GET", ConfigMaps).code, 200);
    EXPECT_THAT(metrics(), HasSubstr(reloads("authorization", "success", 1)));
    change(AuthorizationPath,
           with_hook.substr(0, with_hook.rfind("}\n")) + ", matchConditions: [{expression: 'request.user != \"jane\"'}]}\n");
    EXPECT_EQ(as(jane(), "GET", ConfigMaps).code, 403) << "the webhook is not asked about jane";
    change(AuthorizationPath, with_hook);
    change(AuthorizationPath,
           "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{type: AlwaysAllow, name: a}]\n");
    EXPECT_EQ(as(jane(), "GET", "/metrics").code, 200) << "what was, the webhook included, still decides";
    EXPECT_THAT(metrics(), HasSubstr(reloads("authorization", "failure", 1)));
    change(AuthorizationPath, Authorization);
    EXPECT_EQ(as(jane(), "GET", ConfigMaps).code, 403);
}

}  // namespace
}  // namespace porthole::apiserver
