#include "apiserver/access_fixture.h"
#include "apiserver/authentication/token_issuer_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;

/// The whole server with issuers of tokens and webhooks that tests play.
class ExternalAccess : public Access {
protected:
    OutgoingClients* outgoing() override { return &servers; }
    /// The answer to a request that comes over the network.
    StreamKeeper ask(net::HttpRequest request) {
        StreamKeeper keeper;
        EXPECT_TRUE(sim::run(loop, api->server().handle(std::move(request), keeper)));
        return keeper;
    }
    StreamKeeper get_with(const std::string& token, const char* path) {
        net::HttpRequest request = bearer_request(token);
        request.path = path;
        return ask(std::move(request));
    }
    std::string fresh_token(const char* more = R"("sub":"jane")") {
        return issuer.token(
            issuer.claims(std::chrono::floor<std::chrono::seconds>(loop.wall_now()).time_since_epoch().count() + 3600, more));
    }

    FakeServers servers{loop};
    FakeIssuer issuer{servers};
};

class TokensOfIssuers : public ExternalAccess {
protected:
    ApiServerOptions options() override {
        ApiServerOptions chosen = ExternalAccess::options();
        JwtIssuer settings = issuer.settings();
        settings.groups = ClaimMapping{"groups", "oidc:"};
        chosen.authentication.issuers = {settings};
        chosen.authentication.anonymous.enabled = false;
        return chosen;
    }
};

TEST_F(TokensOfIssuers, LetUsersInWhoMayDoWhatTheirRolesSay) {
    loop.advance(1s);
    EXPECT_EQ(get_with(fresh_token(), ConfigMaps).code, 403);
    grant(R"({"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]})");
    EXPECT_EQ(get_with(fresh_token(), ConfigMaps).code, 200);
    EXPECT_EQ(get_with("nobody's", ConfigMaps).code, 401);
    EXPECT_EQ(get_with("", "/livez").code, 401) << "anonymous requests are not let in";
    EXPECT_EQ(get_with(fresh_token(), "/livez").code, 200);
    const auto self = get_with(fresh_token(R"("sub":"jane","groups":["system:masters"])"), "/api/v1/secrets");
    EXPECT_EQ(self.code, 403) << "the group has a prefix";
}

class WebhookModes : public ExternalAccess {
protected:
    ApiServerOptions options() override {
        ApiServerOptions chosen = ExternalAccess::options();
        servers.write_kubeconfig("/hook", "https://hook.test");
        chosen.authorizers = {{.type = AuthorizerOptions::Type::Webhook, .webhook = {.kubeconfig = "/hook", .version = "v1"}}};
        return chosen;
    }
    void answer(std::string status) {
        servers.at("https://hook.test").answer = [=](const net::HttpRequest&) {
            return FakeIssuer::reply(R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":)" + status + "}");
        };
    }
};

TEST_F(WebhookModes, DecideInsteadOfRoles) {
    answer(R"({"allowed":false,"reason":"not today"})");
    const auto refused = as(jane(), "GET", ConfigMaps);
    EXPECT_EQ(refused.code, 403);
    EXPECT_NE(refused.body.find("not today"), std::string::npos);
    loop.advance(31s);
    answer(R"({"allowed":true})");
    EXPECT_EQ(as(jane(), "GET", ConfigMaps).code, 200);
    servers.at("https://hook.test").answer = nullptr;
    const auto unknown = as(jane(), "GET", Pods);
    EXPECT_EQ(unknown.code, 500) << "fails closed, and says that it is not the user's fault";
    EXPECT_NE(unknown.body.find(R"(Internal Server Error: \"/api/v1/namespaces/default/pods\": webhook authorizer: connection refused)"),
              std::string::npos)
        << unknown.body;
    EXPECT_EQ(as(jane(), "GET", "/version").code, 500) << "which the role system:public-info-viewer would allow";
    EXPECT_EQ(as(jane(), "GET", "/livez").code, 200);
    EXPECT_EQ(as(loopback_user(), "GET", ConfigMaps).code, 200) << "administrators are not asked about";
}

TEST_F(WebhookModes, SaysThatTheRulesAreNotAll) {
    const Answer rules = post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", R"({"spec":{"namespace":"default"}})");
    EXPECT_EQ(rules.code, 201);
    EXPECT_TRUE(rules.body.at_path({"status", "incomplete"})->as_bool());
    EXPECT_EQ(rules.at({"status", "evaluationError"}), "webhook authorizer does not support user rule resolution");
}

TEST_F(WebhookModes, ASlowServerHoldsUpNobodyElse) {
    servers.at("https://hook.test").takes = 20s;
    answer(R"({"allowed":true})");
    StreamKeeper slow;
    const auto ask_slowly = [](ApiServer& server, User user, StreamKeeper& keeper) -> Task<> {
        co_return co_await server.server().handle_as(std::move(user), {.method = "GET", .path = ConfigMaps}, keeper);
    };
    Scope scope(loop);
    scope.spawn(ask_slowly(*api, jane(), slow));
    loop.advance(1s);
    EXPECT_EQ(slow.code, 0);
    EXPECT_EQ(as(loopback_user(), "GET", ConfigMaps).code, 200);
    loop.advance(20s);
    EXPECT_EQ(slow.code, 200);
    ASSERT_TRUE(sim::run(loop, scope.close()));
}

TEST_F(Access, OptionsThatAreNotValidAreSaidAtStart) {
    store::MemoryDisk other;
    ApiServerOptions wrong = options();
    wrong.admission.enabled = {"Nothing"};
    auto opened = ApiServer::open({loop, pool, random, logger()}, std::make_unique<store::MemoryEngine>(other), std::move(wrong));
    ASSERT_TRUE(opened);
    const auto started = sim::run(loop, (*opened)->start());
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().message, "enable-admission-plugins plugin \"Nothing\" is unknown");
    StreamKeeper keeper;
    EXPECT_TRUE(sim::run(loop, (*opened)->server().handle_as(jane(), {.method = "GET", .path = "/livez"}, keeper)));
    EXPECT_EQ(keeper.code, 403) << "nobody is allowed anything";
    ASSERT_TRUE(sim::run(loop, (*opened)->close()));
}

}  // namespace
}  // namespace porthole::apiserver
