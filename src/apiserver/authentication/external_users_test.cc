#include <gtest/gtest.h>

#include "apiserver/authentication/jwt_authenticator.h"
#include "apiserver/authentication/request_header.h"
#include "apiserver/authentication/token_issuer_fixture.h"
#include "apiserver/authentication/token_webhook.h"
#include "runtime/scope.h"
#include "runtime/sim/kept_log.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;

struct ExternalUsers : testing::Test {
    std::int64_t now() const { return std::chrono::floor<std::chrono::seconds>(loop.wall_now()).time_since_epoch().count(); }
    /// The user's name, "" for none of this kind, or the error in brackets.
    std::string user_of(Authenticator& authenticator, const net::HttpRequest& request) {
        auto found = sim::run(loop, authenticator.authenticate(request));
        if (!found) return "[" + found.error().message + "]";
        last = *found ? **found : User();
        return last.name;
    }

    sim::SimLoop loop;
    SeededRandom random{1};
    FakeServers servers{loop};
    User last;
};

struct Issuers : ExternalUsers {
    ~Issuers() override { EXPECT_TRUE(sim::run(loop, scope.close())); }
    JwtAuthenticator& follow(JwtIssuer settings) {
        followed.push_back(
            std::make_unique<JwtAuthenticator>(std::move(settings), servers, loop, Logger(std::make_shared<sim::KeptLog>(told), "test")));
        authenticator = followed.back().get();
        scope.spawn(authenticator->follow());
        loop.run_ready();
        return *authenticator;
    }
    std::string user_of_token(const std::string& token) { return user_of(*authenticator, bearer_request(token)); }

    FakeIssuer issuer{servers};
    std::string told;  ///< the log
    std::vector<std::unique_ptr<JwtAuthenticator>> followed;
    JwtAuthenticator* authenticator = nullptr;  // the last of them
    Scope scope{loop};
};

TEST_F(Issuers, ATokenOfTheIssuerIsAUser) {
    JwtIssuer settings = issuer.settings();
    settings.username.prefix = "oidc:";
    settings.groups = ClaimMapping{"groups", "g:"};
    settings.uid_claim = "uid";
    follow(settings);
    EXPECT_EQ(user_of_token(issuer.token(issuer.claims(now() + 60, R"("sub":"jane","groups":["a","b"],"uid":"7","jti":"x")"))),
              "oidc:jane");
    EXPECT_EQ(last.groups, (std::vector<std::string>{"g:a", "g:b"}));
    EXPECT_EQ(last.uid, "7");
    EXPECT_EQ(last.extra.at("authentication.kubernetes.io/credential-id"), std::vector<std::string>{"JTI=x"});
    EXPECT_EQ(user_of_token(issuer.token(issuer.claims(now() + 60, R"("sub":"jane","groups":"one","uid":"7")"))), "oidc:jane");
    EXPECT_EQ(last.groups, std::vector<std::string>{"g:one"});
}

TEST_F(Issuers, TokensOfOthersAreNoCredentialOfThisKind) {
    follow(issuer.settings());
    EXPECT_EQ(user_of_token(""), "");
    EXPECT_EQ(user_of_token("abcdef.0123456789abcdef"), "");
    EXPECT_EQ(user_of_token(FakeIssuer::sign(issuer.key, R"({"iss":"https://else.test","sub":"jane"})")), "");
}

TEST_F(Issuers, TheLogSaysWhyATokenIsRefusedAndIsNotFlooded) {
    follow(issuer.settings());
    const auto refused = [&](int expiry) { user_of_token(issuer.token(issuer.claims(now() + expiry, R"("sub":"jane")"))); };
    refused(60);
    EXPECT_EQ(told, "") << "a valid token";
    refused(-1);
    EXPECT_EQ(told, "a token of this issuer is refused https://issuer.test oidc: the token has expired\n");
    for (int i = 0; i < 100; ++i) refused(-1);
    EXPECT_EQ(std::ranges::count(told, '\n'), 1);
    loop.advance(10s);
    refused(-1);
    EXPECT_EQ(std::ranges::count(told, '\n'), 2);
}

TEST_F(Issuers, HostileClaimsAreRefused) {
    JwtIssuer settings = issuer.settings();
    settings.groups = ClaimMapping{"groups", ""};
    settings.required_claims = {{"team", "blue"}};
    follow(settings);
    const std::string iss = R"("iss":"https://issuer.test",)", blue = R"("team":"blue","sub":"jane")";
    const std::string soon = std::to_string(now() + 60);
    const struct {
        const char* name;
        std::string claims;
        const char* error;
    } rows[] = {
        {"good", issuer.claims(now() + 60, blue), "jane"},
        {"expired", issuer.claims(now(), blue), "[oidc: the token has expired]"},
        {"without an end", "{" + iss + R"("aud":"porthole",)" + blue + "}", "[oidc: the token has no expiry]"},
        {"an end that is no number", "{" + iss + R"("aud":"porthole","exp":"never",)" + blue + "}", "[oidc: the token has no expiry]"},
        {"an end beyond numbers", "{" + iss + R"("aud":"porthole","exp":1e300,)" + blue + "}", "[oidc: the token has no expiry]"},
        {"from the future", issuer.claims(now() + 6000, R"("nbf":)" + std::to_string(now() + 301) + "," + blue),
         "[oidc: the token is not valid yet]"},
        {"of a clock that is ahead", issuer.claims(now() + 6000, R"("nbf":)" + std::to_string(now() + 299) + "," + blue), "jane"},
        {"another audience", "{" + iss + R"("aud":["else"],"exp":)" + soon + "," + blue + "}",
         "[oidc: expected audience in [porthole other]]"},
        {"one of several audiences", "{" + iss + R"("aud":["else","other"],"exp":)" + soon + "," + blue + "}", "jane"},
        {"without audience", "{" + iss + R"("exp":)" + soon + "," + blue + "}", "[oidc: expected audience in [porthole other]]"},
        {"an audience that is an object", "{" + iss + R"("aud":{"porthole":1},"exp":)" + soon + "," + blue + "}",
         "[oidc: expected audience in [porthole other]]"},
        {"without a name", issuer.claims(now() + 60, R"("team":"blue")"), "[oidc: claim \"sub\" is not present]"},
        {"an empty name", issuer.claims(now() + 60, R"("team":"blue","sub":"")"), "[oidc: claim \"sub\" is not a string that can be used]"},
        {"a name that is a number", issuer.claims(now() + 60, R"("team":"blue","sub":1)"),
         "[oidc: claim \"sub\" is not a string that can be used]"},
        {"groups of numbers", issuer.claims(now() + 60, R"("groups":[1],)" + blue),
         "[oidc: claim \"groups\" is neither a string nor a list of strings]"},
        {"another team", issuer.claims(now() + 60, R"("team":"red","sub":"jane")"), "[oidc: required claim \"team\" value does not match]"},
        {"no team", issuer.claims(now() + 60, R"("sub":"jane")"), "[oidc: claim \"team\" is not present]"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(user_of_token(issuer.token(row.claims)), row.error);
    }
}

TEST_F(Issuers, AnAddressOfMailIsVerified) {
    JwtIssuer settings = issuer.settings();
    settings.username.claim = "email";
    follow(settings);
    EXPECT_EQ(user_of_token(issuer.token(issuer.claims(now() + 60, R"("email":"a@b","email_verified":true)"))), "a@b");
    EXPECT_EQ(user_of_token(issuer.token(issuer.claims(now() + 60, R"("email":"a@b","email_verified":false)"))),
              "[oidc: email not verified]");
    EXPECT_EQ(user_of_token(issuer.token(issuer.claims(now() + 60, R"("email":"a@b","email_verified":"true")"))),
              "[oidc: email not verified]");
    EXPECT_EQ(user_of_token(issuer.token(issuer.claims(now() + 60, R"("email":"a@b")"))), "a@b");
}

TEST_F(Issuers, ExpressionsMakeUsersOfClaims) {
    JwtIssuer settings = issuer.settings();
    settings.username.expression = *ClaimExpression::mapping("'oidc:' + claims.sub");
    settings.groups = ClaimMapping{.claim = "", .prefix = "", .expression = *ClaimExpression::mapping("claims.roles.map(r, 'g:' + r)")};
    settings.uid_expression = *ClaimExpression::mapping("claims.ids.uid");
    settings.extra = {{"example.com/team", *ClaimExpression::mapping("claims.team")},
                      {"example.com/none", *ClaimExpression::mapping("claims.?missing.orValue('')")}};
    follow(settings);
    EXPECT_EQ(user_of_token(issuer.token(
                  issuer.claims(now() + 60, R"("sub":"jane","roles":["a","","b"],"ids":{"uid":"7"},"team":["x","y"],"jti":"j")"))),
              "oidc:jane");
    EXPECT_EQ(last.groups, (std::vector<std::string>{"g:a", "g:", "g:b"}));
    EXPECT_EQ(last.uid, "7");
    EXPECT_EQ(last.extra, (std::map<std::string, std::vector<std::string>>{{"authentication.kubernetes.io/credential-id", {"JTI=j"}},
                                                                           {"example.com/team", {"x", "y"}}}));
}

TEST_F(Issuers, RulesHoldForClaimsAndForTheUserThatTheyMake) {
    JwtIssuer settings = issuer.settings();
    settings.claim_rules = {{*ClaimExpression::claim_rule("claims.exp - claims.iat <= 3600"), "too long"},
                            {*ClaimExpression::claim_rule("claims.hd in ['a', 'b']"), "not one of ours"}};
    settings.user_rules = {
        {*ClaimExpression::user_rule("!user.username.startsWith('system:') && user.uid == '' && size(user.groups) == 0"), "reserved"},
        {*ClaimExpression::user_rule("user.extra.all(key, user.extra[key].size() == 1)"), ""}};
    follow(settings);
    const auto token = [&](const std::string& sub, std::int64_t begin, const std::string& domain) {
        return issuer.token(issuer.claims(
            now() + 60, R"("sub":")" + sub + R"(","iat":)" + std::to_string(begin) + R"(,"hd":")" + domain + R"(","jti":"j")"));
    };
    EXPECT_EQ(user_of_token(token("jane", now(), "a")), "jane");
    EXPECT_EQ(
        user_of_token(token("jane", now() - 7200, "a")),
        "[oidc: error evaluating claim validation expression: validation expression 'claims.exp - claims.iat <= 3600' failed: too long]");
    EXPECT_EQ(
        user_of_token(token("jane", now(), "c")),
        "[oidc: error evaluating claim validation expression: validation expression 'claims.hd in ['a', 'b']' failed: not one of ours]");
    EXPECT_NE(user_of_token(token("system:admin", now(), "a")).find("user info validation rule: validation expression '!user.username"),
              std::string::npos);
}

TEST_F(Issuers, AnExpressionThatFailsLetsNobodyIn) {
    const struct {
        const char* name;
        void (*set)(JwtIssuer&, ClaimExpression);
        const char* expression;
        const char* error;
    } rows[] = {
        {"a missing claim", [](JwtIssuer& one, ClaimExpression by) { one.username.expression = std::move(by); }, "claims.missing",
         "[oidc: error evaluating username claim expression: expression 'claims.missing' resulted in error: no such key: missing]"},
        {"a number", [](JwtIssuer& one, ClaimExpression by) { one.username.expression = std::move(by); }, "claims.exp",
         "[oidc: error evaluating username claim expression: username claim expression must return a string]"},
        {"nothing", [](JwtIssuer& one, ClaimExpression by) { one.username.expression = std::move(by); }, "''",
         "[oidc: error evaluating username claim expression: the username is empty]"},
        {"a number in groups", [](JwtIssuer& one, ClaimExpression by) { one.groups = ClaimMapping{"", "", std::move(by)}; },
         "[claims.sub, dyn(1)]", "[oidc: error evaluating group claim expression: expression must return a string or a list of strings]"},
        {"an object as uid", [](JwtIssuer& one, ClaimExpression by) { one.uid_expression = std::move(by); }, "claims",
         "[oidc: error evaluating uid claim expression: uid claim expression must return a string]"},
        {"an object as extra", [](JwtIssuer& one, ClaimExpression by) { one.extra = {{"a.b/c", std::move(by)}}; }, "claims",
         "[oidc: error evaluating extra claim expression: expression must return a string or a list of strings]"},
        {"work without end", [](JwtIssuer& one, ClaimExpression by) { one.username.expression = std::move(by); },
         "claims.many.all(a, claims.many.all(b, claims.many.all(c, a == b || b == c || true))) ? 'a' : 'b'",
         "operation cancelled: actual cost limit exceeded"},
    };
    std::string many = "0";
    for (int i = 1; i < 500; ++i) many += "," + std::to_string(i);
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        JwtIssuer settings = issuer.settings();
        auto expression = ClaimExpression::mapping(row.expression);
        ASSERT_TRUE(expression) << expression.error().message;
        row.set(settings, std::move(*expression));
        follow(settings);
        EXPECT_NE(user_of_token(issuer.token(issuer.claims(now() + 60, R"("sub":"jane","many":[)" + many + "]"))).find(row.error),
                  std::string::npos)
            << last.name;
    }
}

TEST_F(Issuers, AlgorithmsAreThoseAllowed) {
    JwtIssuer settings = issuer.settings();
    settings.algorithms = {"ES256"};
    follow(settings);
    constexpr const char* Refused = "[oidc: the token is signed with an algorithm that is not allowed]";
    EXPECT_EQ(user_of_token(issuer.token(issuer.claims(now() + 60))), Refused);
    follow(issuer.settings());
    EXPECT_EQ(user_of_token(FakeIssuer::sign(issuer.key, issuer.claims(now() + 60), R"({"alg":"none"})")), Refused);
    EXPECT_EQ(user_of_token(FakeIssuer::sign(issuer.key, issuer.claims(now() + 60), R"({"alg":"HS256"})")), Refused);
}

TEST_F(Issuers, ANewKeyIsFetchedWhenATokenNamesItAndNotMoreOften) {
    follow(issuer.settings());
    EXPECT_EQ(issuer.asked(), 1u);
    const auto fresh = net::JwsKey::generate_rsa();
    issuer.publish(fresh);
    const std::string token = FakeIssuer::sign(fresh, issuer.claims(now() + 7200));
    constexpr const char* Refused = "[oidc: the token is not signed by its issuer]";
    EXPECT_EQ(user_of_token(token), Refused) << "it was asked a moment ago";
    loop.advance(10s);
    EXPECT_EQ(user_of_token(token), "jane");
    EXPECT_EQ(issuer.asked(), 2u);
    const std::string forged = FakeIssuer::sign(issuer.key, issuer.claims(now() + 7200));
    for (int i = 0; i < 100; ++i) EXPECT_EQ(user_of_token(forged), Refused);
    EXPECT_EQ(issuer.asked(), 2u) << "forged tokens are no requests to the issuer";
    loop.advance(1h);
    EXPECT_EQ(issuer.asked(), 3u) << "every hour in any case";
}

TEST_F(Issuers, ForgedTokensOpenNoFurtherClients) {
    follow(issuer.settings());
    const std::string forged = FakeIssuer::sign(net::JwsKey::generate_rsa(), issuer.claims(now() + 7200));
    for (int i = 0; i < 20; ++i) {
        loop.advance(10s);
        user_of_token(forged);
    }
    EXPECT_EQ(issuer.asked(), 21u);
    EXPECT_EQ(servers.at("https://keys.test/jwks").opened, 1);
    EXPECT_EQ(servers.at(issuer.url() + "/.well-known/openid-configuration").opened, 1);
}

TEST_F(Issuers, AnIssuerThatFailsIsAskedAgain) {
    issuer.discovery = R"({"issuer":"https://liar.test","jwks_uri":"https://keys.test/jwks"})";
    follow(issuer.settings());
    EXPECT_EQ(issuer.asked(), 0u);
    const std::string token = issuer.token(issuer.claims(now() + 7200));
    EXPECT_NE(user_of_token(token), "jane");
    issuer.discovery = R"({"issuer":"https://issuer.test","jwks_uri":"https://keys.test/jwks"})";
    EXPECT_EQ(user_of_token(token), "jane") << "waits for the next attempt";
}

TEST_F(Issuers, KeysStayWhenTheIssuerFailsLater) {
    follow(issuer.settings());
    const std::string token = issuer.token(issuer.claims(now() + 36000));
    for (const char* broken : {"", "<html>", R"({"keys":1})"}) {
        issuer.jwks = broken;
        loop.advance(1h);
        EXPECT_EQ(user_of_token(token), "jane") << broken;
    }
    issuer.jwks = std::string(2 << 20, ' ');
    loop.advance(1h);
    EXPECT_EQ(user_of_token(token), "jane") << "huge";
}

TEST_F(Issuers, NoRequestWaitsForASlowIssuerForLong) {
    servers.at("https://keys.test/jwks").takes = 1h;
    follow(issuer.settings());
    const MonotonicTime begun = loop.now();
    EXPECT_NE(user_of_token(issuer.token(issuer.claims(now() + 7200))), "jane");
    EXPECT_LE(loop.now() - begun, 10s);
}

TEST(JwksUri, IsHttpsOfTheSameIssuersDocument) {
    EXPECT_EQ(jwks_uri_of(R"({"issuer":"https://a","jwks_uri":"https://b/k"})", "https://a").value_or(""), "https://b/k");
    for (const char* wrong : {R"({"issuer":"https://a","jwks_uri":"http://b/k"})", R"({"issuer":"https://a"})", "[]", "",
                              R"({"issuer":"https://c","jwks_uri":"https://b/k"})", R"({"jwks_uri":"https://b/k"})"})
        EXPECT_FALSE(jwks_uri_of(wrong, "https://a")) << wrong;
}

struct TokenWebhook : ExternalUsers {
    TokenWebhook() {
        servers.write_kubeconfig("/hook", "https://hook.test");
        authenticator = std::make_unique<TokenWebhookAuthenticator>(
            std::make_unique<Webhook>(*open_by_kubeconfig(servers, "/hook"), loop, random, Webhook::Settings()),
            TokenWebhookOptions{.kubeconfig = "/hook", .version = "v1", .ttl = 1min}, std::vector<std::string>{"api"}, loop);
    }
    void answer(std::string status) {
        server.answer = [=](const net::HttpRequest&) {
            return FakeIssuer::reply(R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":)" + status + "}");
        };
    }
    std::string user_of_token(const std::string& token) { return user_of(*authenticator, bearer_request(token)); }

    FakeServers::Server& server = servers.at("https://hook.test");
    std::unique_ptr<TokenWebhookAuthenticator> authenticator;
};

TEST_F(TokenWebhook, SaysWhoATokenSpeaksFor) {
    answer(R"({"authenticated":true,"user":{"username":"jane","uid":"7","groups":["a"],"extra":{"k":["v"]}},"audiences":["api"]})");
    EXPECT_EQ(user_of_token("t1"), "jane");
    EXPECT_EQ(last.uid, "7");
    EXPECT_EQ(last.groups, std::vector<std::string>{"a"});
    EXPECT_EQ(last.extra.at("k"), std::vector<std::string>{"v"});
    EXPECT_EQ(server.requests.at(0).body,
              R"({"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","spec":{"token":"t1","audiences":["api"]}})");
    EXPECT_EQ(user_of_token(""), "");
    EXPECT_EQ(server.requests.size(), 1u) << "a request without a token is no question";
}

TEST_F(TokenWebhook, AnswersAreRememberedAndFailuresAreNot) {
    answer(R"({"authenticated":false})");
    EXPECT_EQ(user_of_token("t"), "");
    answer(R"({"authenticated":true,"user":{"username":"jane"}})");
    EXPECT_EQ(user_of_token("t"), "");
    EXPECT_EQ(user_of_token("u"), "jane");
    loop.advance(1min);
    EXPECT_EQ(user_of_token("t"), "jane");
    EXPECT_EQ(server.requests.size(), 3u);
    server.answer = nullptr;
    EXPECT_NE(user_of_token("new"), "");
    answer(R"({"authenticated":true,"user":{"username":"joe"}})");
    EXPECT_EQ(user_of_token("new"), "joe");
}

TEST_F(TokenWebhook, ATokenOfManyRequestsIsOneQuestion) {
    answer(R"({"authenticated":true,"user":{"username":"jane"}})");
    server.takes = 5s;
    int users = 0;
    const net::HttpRequest request = bearer_request("t");
    std::list<TaskContext> contexts;
    for (int i = 0; i < 300; ++i)
        start_task(authenticator->authenticate(request), contexts.emplace_back(loop),
                   [&](Result<std::optional<User>> found) { users += found && *found && (*found)->name == "jane"; });
    contexts.front().cancel();
    loop.advance(11s);
    EXPECT_EQ(users, 299) << "who was cancelled took the others' answer along only until one of them asked";
    EXPECT_EQ(server.requests.size(), 2u);
}

TEST_F(TokenWebhook, InventedTokensPushNoUserOut) {
    answer(R"({"authenticated":true,"user":{"username":"jane"}})");
    EXPECT_EQ(user_of_token("jane's"), "jane");
    answer(R"({"authenticated":false})");
    for (int i = 0; i < 5000; ++i) EXPECT_EQ(user_of_token("invented-" + std::to_string(i)), "");
    server.requests.clear();
    EXPECT_EQ(user_of_token("jane's"), "jane");
    EXPECT_TRUE(server.requests.empty());
}

TEST_F(TokenWebhook, WhoCannotBeAskedAboutIsNotRefusedAsUnknown) {
    answer(R"({"authenticated":true,"user":{"username":"jane"}})");
    server.takes = 5s;
    std::list<TaskContext> contexts;
    std::list<net::HttpRequest> requests;
    for (int i = 0; i < 256 + 1024; ++i)  // in progress, and waiting for their turn
        start_task(authenticator->authenticate(requests.emplace_back(bearer_request("slow-" + std::to_string(i)))),
                   contexts.emplace_back(loop), [](Result<std::optional<User>>) {});
    loop.run_ready();
    AuthenticatorChain chain;
    chain.add(std::move(authenticator));
    const net::HttpRequest request = bearer_request("janes");
    const auto busy = sim::run(loop, chain.authenticate(request));
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().reason, Reason::TooManyRequests);
    loop.advance(1min);
    EXPECT_TRUE(sim::run(loop, chain.authenticate(request)));
}

TEST_F(TokenWebhook, HostileAnswersLetNobodyIn) {
    const struct {
        const char* status;
        const char* outcome;
    } rows[] = {
        {R"({"authenticated":"true","user":{"username":"jane"}})", ""},
        {R"({"authenticated":true})", "[the webhook names no user]"},
        {R"({"authenticated":true,"user":{"username":7}})", "[the webhook names no user]"},
        {R"({"authenticated":true,"user":{"username":"jane"},"audiences":["else"]})", ""},
        {R"({"authenticated":false,"error":"expired"})", "[expired]"},
        {R"([])", ""},
        {R"("yes")", ""},
    };
    int i = 0;
    for (const auto& row : rows) {
        SCOPED_TRACE(row.status);
        answer(row.status);
        EXPECT_EQ(user_of_token("t" + std::to_string(i++)), row.outcome);
    }
}

struct RequestHeader : ExternalUsers {
    static net::HttpRequest from(bool of_proxy, const char* name = "front-proxy-client") {
        net::HttpRequest request{.method = "GET", .path = "/api"};
        request.peer.certificate = net::CertificateIdentity{.common_name = name, .of_client = !of_proxy, .of_proxy = of_proxy};
        request.headers.add("x-remote-user", "jane");
        request.headers.add("x-remote-group", "a");
        request.headers.add("x-remote-group", "b");
        request.headers.add("x-remote-extra-acme.com%2fproject", "p");
        return request;
    }
    RequestHeaderAuthenticator authenticator{{.ca_pem = "set", .allowed_names = {"front-proxy-client"}}};
    ClientCertificates known;
    CertificateAuthenticator certificates{known, loop};
};

TEST_F(RequestHeader, TheProxysHeadersAreBelieved) {
    EXPECT_EQ(user_of(authenticator, from(true)), "jane");
    EXPECT_EQ(last.groups, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(last.extra.at("acme.com/project"), std::vector<std::string>{"p"});
}

TEST_F(RequestHeader, AnyoneElsesMeanNothing) {
    EXPECT_EQ(user_of(authenticator, from(false)), "") << "a client's certificate of the right name";
    EXPECT_EQ(user_of(certificates, from(false)), "front-proxy-client");
    EXPECT_EQ(user_of(authenticator, from(true, "else")), "[the proxy's name is not allowed]");
    net::HttpRequest plain = from(true);
    plain.peer.certificate.reset();
    EXPECT_EQ(user_of(authenticator, plain), "");
    EXPECT_EQ(user_of(certificates, from(true)), "[Unauthorized]") << "a proxy is no user by its certificate";
}

struct Anonymous : ExternalUsers {
    std::string user_at(const char* path, AnonymousPolicy policy) {
        AuthenticatorChain chain;
        chain.set_anonymous(std::move(policy));
        auto found = sim::run(loop, chain.authenticate({.method = "GET", .path = path}));
        return found ? found->name : std::string(to_string(found.error().reason));
    }
};

TEST_F(Anonymous, RequestsAreLetInAsThePolicySays) {
    EXPECT_EQ(user_at("/api", {}), "system:anonymous");
    EXPECT_EQ(user_at("/livez", {.enabled = false, .paths = {}}), "Unauthorized");
    const AnonymousPolicy health{.enabled = true, .paths = {"/livez", "/readyz"}};
    EXPECT_EQ(user_at("/livez", health), "system:anonymous");
    EXPECT_EQ(user_at("/%6civez", health), "system:anonymous") << "the path is read as the handlers read it";
    EXPECT_EQ(user_at("/livez/ping", health), "Unauthorized");
    EXPECT_EQ(user_at("/api", health), "Unauthorized");
}

}  // namespace
}  // namespace porthole::apiserver
