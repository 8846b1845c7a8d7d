#include "apiserver/authorization/webhook_authorizer.h"

#include <gtest/gtest.h>

#include "apiserver/outgoing/outgoing_fixture.h"
#include "runtime/scope.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;

struct WebhookAuthorizerTest : testing::Test {
    WebhookAuthorizer make(WebhookAuthorizerOptions options = {.version = "v1"}) {
        return {std::make_unique<Webhook>(*servers.open({.server = "https://hook.test"}), loop, random,
                                          Webhook::Settings{.limits = {.time = options.timeout}}),
                options, loop, metrics};
    }
    void answer(std::string status) {
        server.answer = [=](const net::HttpRequest&) {
            return net::HttpResponse{
                .code = 201,
                .headers = {},
                .body = R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":)" + status + "}"};
        };
    }
    static AuthorizationAttributes question(std::string name = "x") {
        return {.user = {.name = "jane", .groups = {"a"}},
                .verb = "get",
                .is_resource = true,
                .group = "apps",
                .version = "v1",
                .resource = "deployments",
                .namespace_ = "n",
                .name = std::move(name)};
    }
    /// "allow", "deny" or "none", the reason after a colon, and the error after another mark.
    std::string ask(WebhookAuthorizer& authorizer, const AuthorizationAttributes& attributes = question()) {
        const auto decision = sim::run(loop, authorizer.authorize(attributes));
        EXPECT_TRUE(decision);
        const char* kind = decision->allowed() ? "allow" : decision->kind == Decision::Kind::Deny ? "deny" : "none";
        return kind + (decision->reason.empty() ? "" : ":" + decision->reason) + (decision->error.empty() ? "" : "!" + decision->error);
    }

    sim::SimLoop loop;
    SeededRandom random{1};
    AccessConditionMetrics metrics;
    FakeServers servers{loop};
    FakeServers::Server& server = servers.at("https://hook.test");
};

TEST_F(WebhookAuthorizerTest, PutsTheQuestionIntoAReview) {
    WebhookAuthorizer authorizer = make();
    answer(R"({"allowed":true,"reason":"a friend"})");
    EXPECT_EQ(ask(authorizer), "allow:a friend");
    EXPECT_EQ(server.requests.at(0).body,
              R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"resourceAttributes":{"namespace":"n",)"
              R"("verb":"get","group":"apps","version":"v1","resource":"deployments","name":"x"},"user":"jane","groups":["a"]}})");
    EXPECT_EQ(schema::to_json(access_review_spec(
                  {.user = {.name = "jane", .uid = "7", .groups = {"a"}, .extra = {{"k", {"v"}}}}, .verb = "get", .path = "/metrics"},
                  "v1beta1")),
              R"({"nonResourceAttributes":{"path":"/metrics","verb":"get"},"user":"jane","group":["a"],"extra":{"k":["v"]},"uid":"7"})");
}

TEST_F(WebhookAuthorizerTest, TellsWhatSelectorsNarrow) {
    AuthorizationAttributes list = question("");
    list.verb = "list";
    list.label_selector = "app in (x,y),!gone,n>1";
    list.field_selector = "spec.nodeName=n1,status.phase!=Failed";
    const auto spec = access_review_spec(list, "v1");
    EXPECT_EQ(schema::to_json(*spec.at_path({"resourceAttributes", "labelSelector"})),
              R"({"requirements":[{"key":"app","operator":"In","values":["x","y"]},{"key":"gone","operator":"DoesNotExist"}]})");
    EXPECT_EQ(schema::to_json(*spec.at_path({"resourceAttributes", "fieldSelector"})),
              R"({"requirements":[{"key":"spec.nodeName","operator":"In","values":["n1"]},)"
              R"({"key":"status.phase","operator":"NotIn","values":["Failed"]}]})");
    list.label_selector = "a in (";
    EXPECT_EQ(access_review_spec(list, "v1").at_path({"resourceAttributes", "labelSelector"}), nullptr);
}

TEST_F(WebhookAuthorizerTest, IsAskedWhatItsConditionsMatch) {
    AuthorizationAttributes list = question("");
    list.verb = "list";
    list.label_selector = "app=x,!gone";
    list.field_selector = "spec.nodeName=n1";
    AuthorizationAttributes health{.user = {.name = "jane", .uid = "7", .extra = {{"k", {"v"}}}}, .verb = "get", .path = "/livez"};
    const struct {
        const char* condition;
        bool of_list, of_health;
    } rows[] = {
        {"has(request.resourceAttributes)", true, false},
        {"has(request.nonResourceAttributes) && request.nonResourceAttributes.path == '/livez'", false, true},
        {"request.user == 'jane' && request.groups == ['a']", true, false},
        {"request.?resourceAttributes.__namespace__.orValue('') == 'n' && request.resourceAttributes.name == ''", true, false},
        {"request.uid == '7' && request.extra['k'] == ['v'] && size(request.groups) == 0", false, true},
        {"request.uid == '' && size(request.extra) == 0", true, false},
        {"request.?resourceAttributes.?fieldSelector.hasValue() && "
         "request.resourceAttributes.fieldSelector.requirements[0].values == ['n1']",
         true, false},
        {"request.?resourceAttributes.?labelSelector.hasValue() && request.resourceAttributes.labelSelector.requirements.exists(r, "
         "r.key == 'gone' && r.operator == 'DoesNotExist' && size(r.values) == 0)",
         true, false},
        {"has(request.resourceAttributes) && has(request.resourceAttributes.fieldSelector.rawSelector)", false, false},
    };
    answer(R"({"allowed":true})");
    for (const auto& row : rows) {
        SCOPED_TRACE(row.condition);
        WebhookAuthorizerOptions options{.version = "v1"};
        const auto added = options.match_conditions.add(row.condition);
        ASSERT_TRUE(added) << added.error().message;
        WebhookAuthorizer authorizer = make(options);
        EXPECT_EQ(ask(authorizer, list), row.of_list ? "allow" : "none");
        EXPECT_EQ(ask(authorizer, health), row.of_health ? "allow" : "none");
    }
}

TEST_F(WebhookAuthorizerTest, AConditionThatFailsIsAFailureUnlessAnotherExcludes) {
    constexpr const char* Fails = "request.extra['missing'] == []";
    const auto with = [&](std::vector<const char*> conditions, bool strict) {
        WebhookAuthorizerOptions options{.name = "hook", .version = "v1", .deny_on_failure = strict};
        for (const char* one : conditions) EXPECT_TRUE(options.match_conditions.add(one));
        return options;
    };
    answer(R"({"allowed":true})");
    WebhookAuthorizer lenient = make(with({Fails, "true"}, false)), strict = make(with({Fails, "true"}, true)),
                      excluded = make(with({Fails, "false"}, true)), asked = make(with({"true"}, true));
    const std::string why = "!cel evaluation error: expression 'request.extra['missing'] == []' resulted in error: no such key: missing";
    EXPECT_EQ(ask(lenient), "none" + why);
    EXPECT_EQ(ask(strict), "deny" + why);
    EXPECT_EQ(ask(excluded), "none");
    EXPECT_TRUE(server.requests.empty());
    EXPECT_EQ(ask(asked), "allow");
    std::string text;
    metrics.append(text);
    for (const char* line : {"apiserver_authorization_match_condition_evaluation_errors_total{name=\"hook\",type=\"Webhook\"} 2\n",
                             "apiserver_authorization_match_condition_exclusions_total{name=\"hook\",type=\"Webhook\"} 1\n",
                             "apiserver_authorization_match_condition_evaluation_seconds_count{name=\"hook\",type=\"Webhook\"} 4\n"})
        EXPECT_NE(text.find(line), std::string::npos) << text;
}

TEST_F(WebhookAuthorizerTest, ReadsEveryAnswer) {
    const struct {
        const char* status;
        const char* decision;
    } rows[] = {
        {R"({"allowed":true})", "allow"},
        {R"({"allowed":false})", "none"},
        {R"({"allowed":false,"reason":"no"})", "none:no"},
        {R"({"allowed":false,"denied":true,"reason":"no"})", "deny:no"},
        {R"({"allowed":true,"denied":true})", "deny!webhook subject access review returned both allow and deny response"},
        {R"({"allowed":"true"})", "none"},
        {R"({"allowed":1})", "none"},
        {R"([])", "none"},
        {R"({})", "none"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.status);
        WebhookAuthorizer authorizer = make();
        answer(row.status);
        EXPECT_EQ(ask(authorizer), row.decision);
    }
}

TEST_F(WebhookAuthorizerTest, RemembersAnswersForTheirTimes) {
    WebhookAuthorizer authorizer = make({.version = "v1", .authorized_ttl = 60s, .unauthorized_ttl = 10s});
    answer(R"({"allowed":true})");
    EXPECT_EQ(ask(authorizer), "allow");
    answer(R"({"allowed":false})");
    EXPECT_EQ(ask(authorizer), "allow");
    EXPECT_EQ(ask(authorizer, question("other")), "none") << "another question";
    loop.advance(60s);
    EXPECT_EQ(ask(authorizer), "none");
    answer(R"({"allowed":true})");
    loop.advance(9s);
    EXPECT_EQ(ask(authorizer), "none");
    loop.advance(1s);
    EXPECT_EQ(ask(authorizer), "allow");
    server.requests.clear();
    for (int i = 0; i < 2; ++i) EXPECT_EQ(ask(authorizer, question(std::string(10'000, 'x'))), "allow");
    EXPECT_EQ(server.requests.size(), 2u) << "long questions would fill the memory";
}

TEST_F(WebhookAuthorizerTest, AServerThatFailsAllowsNothing) {
    WebhookAuthorizer lenient = make(), strict = make({.version = "v1", .deny_on_failure = true});
    EXPECT_EQ(ask(lenient), "none!webhook authorizer: connection refused");
    EXPECT_EQ(ask(strict), "deny!webhook authorizer: connection refused");
    answer(R"({"allowed":true})");
    EXPECT_EQ(ask(strict), "allow") << "failures are not remembered";
    server.takes = 1h;
    WebhookAuthorizer slow = make({.version = "v1", .timeout = 3s, .deny_on_failure = true});
    const MonotonicTime begun = loop.now();
    EXPECT_TRUE(ask(slow).starts_with("deny!"));
    EXPECT_EQ(loop.now() - begun, 3s);
}

TEST_F(WebhookAuthorizerTest, AServerThatOthersKeepBusyIsNotPassedOver) {
    answer(R"({"denied":true})");
    server.takes = 1h;
    auto webhook =
        std::make_unique<WebhookAuthorizer>(std::make_unique<Webhook>(*servers.open({.server = "https://hook.test"}), loop, random,
                                                                      Webhook::Settings{.limits = {.time = 3s}, .calls = 1}),
                                            WebhookAuthorizerOptions{.version = "v1"}, loop, metrics);
    AuthorizerChain chain;
    AuthorizerChain::Authorizers authorizers;
    authorizers.push_back(std::move(webhook));
    authorizers.push_back(std::make_unique<FixedAuthorizer>(Decision::allow()));
    chain.use(std::move(authorizers));
    Scope scope(loop);
    const auto occupy = [](AuthorizerChain& asked, AuthorizationAttributes attributes) -> Task<> {
        (void)co_await asked.authorize(attributes);
        co_return {};
    };
    // Four wait for one; nobody waits longer than a call may take.
    for (int i = 0; i < 5; ++i) scope.spawn(occupy(chain, question("x" + std::to_string(i))));
    loop.run_ready();
    const AuthorizationAttributes wanted = question("y");
    EXPECT_EQ(sim::run(loop, chain.authorize(wanted)).error().reason, Reason::TooManyRequests);
    EXPECT_TRUE(sim::run(loop, scope.close()));
}

}  // namespace
}  // namespace porthole::apiserver
