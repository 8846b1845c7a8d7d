#include "apiserver/outgoing/webhook.h"

#include <gtest/gtest.h>

#include "apiserver/outgoing/outgoing_fixture.h"
#include "runtime/scope.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using schema::Value;

constexpr const char* Url = "https://hook.test";
constexpr const char* Allowed = R"({"apiVersion":"v1","kind":"Review","status":{"allowed":true}})";

struct WebhookTest : testing::Test {
    Webhook make(Webhook::Settings settings = {}) { return Webhook(*servers.open({.server = Url}), loop, random, settings); }
    static Value review() { return Value::object({{"apiVersion", "v1"}, {"kind", "Review"}, {"spec", Value::object({{"a", 1}})}}); }
    static FakeServers::Answer always(int code, std::string body = "") {
        return [=](const net::HttpRequest&) { return net::HttpResponse{.code = code, .headers = {}, .body = body}; };
    }
    /// "" when the review was answered.
    std::string error_of(Webhook& webhook) {
        auto answered = sim::run(loop, webhook.review(review()));
        return answered ? "" : answered.error().message;
    }

    sim::SimLoop loop;
    SeededRandom random{1};
    FakeServers servers{loop};
    FakeServers::Server& server = servers.at(Url);
};

TEST_F(WebhookTest, PostsTheReviewAndYieldsItsAnswer) {
    server.answer = always(201, Allowed);
    Webhook webhook = make();
    const auto answered = sim::run(loop, webhook.review(review()));
    ASSERT_TRUE(answered) << answered.error().message;
    EXPECT_TRUE(answered->at_path({"status", "allowed"})->as_bool());
    ASSERT_EQ(server.requests.size(), 1u);
    EXPECT_EQ(server.requests[0].method, "POST");
    EXPECT_EQ(server.requests[0].body, R"({"apiVersion":"v1","kind":"Review","spec":{"a":1}})");
    EXPECT_EQ(server.requests[0].headers.get("content-type"), "application/json");
}

TEST_F(WebhookTest, AKubeconfigThatIsMissingIsNamedWithoutAdviceForNodes) {
    const auto client = open_by_kubeconfig(servers, "/etc/hook.kubeconfig");
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().reason, Reason::NotFound);
    EXPECT_EQ(client.error().message, "/etc/hook.kubeconfig: no such file");
}

TEST_F(WebhookTest, ReadsHostileAnswersAsFailures) {
    const struct {
        const char* name;
        int code;
        std::string body;
        const char* error;
    } rows[] = {
        {"not JSON", 200, "<html>", "the webhook's answer is not JSON"},
        {"empty", 200, "", "the webhook's answer is not JSON"},
        {"another kind", 200, R"({"apiVersion":"v1","kind":"Other","status":{"allowed":true}})", "not of kind Review"},
        {"another version", 200, R"({"apiVersion":"v2","kind":"Review"})", "not of apiVersion v1"},
        {"a list", 200, "[]", "not of apiVersion v1"},
        {"deep", 200, std::string(100'000, '['), "the webhook's answer is not JSON"},
        {"huge", 200, std::string(2 << 20, ' '), "the answer is longer"},
        {"a redirect", 302, Allowed, "Error contacting webhook: 302"},
        {"forbidden", 403, Allowed, "Error contacting webhook: 403"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        server.answer = always(row.code, row.body);
        server.requests.clear();
        Webhook webhook = make();
        const std::string error = error_of(webhook);
        EXPECT_NE(error.find(row.error), std::string::npos) << error;
        EXPECT_EQ(server.requests.size(), 1u) << "it would answer the same again";
    }
}

TEST_F(WebhookTest, TriesPassingFailuresAgainWithGrowingWaits) {
    std::vector<MonotonicTime> times;
    server.answer = [&](const net::HttpRequest&) -> Result<net::HttpResponse> {
        times.push_back(loop.now());
        if (times.size() == 1) return Error(Reason::Unavailable, "connection reset");
        if (times.size() == 2) return net::HttpResponse{.code = 429, .headers = {}, .body = {}};
        return net::HttpResponse{.code = 200, .headers = {}, .body = Allowed};
    };
    Webhook webhook = make();
    EXPECT_EQ(error_of(webhook), "");
    ASSERT_EQ(times.size(), 3u);
    const Duration first = times[1] - times[0], second = times[2] - times[1];
    EXPECT_GE(first, 500ms);
    EXPECT_LE(first, 600ms);
    EXPECT_GE(second, 750ms);
    EXPECT_LE(second, 900ms);
}

TEST_F(WebhookTest, GivesUpAfterFiveAttempts) {
    server.answer = always(500);
    Webhook webhook = make();
    EXPECT_EQ(error_of(webhook), "Error contacting webhook: 500");
    EXPECT_EQ(server.requests.size(), 5u);
}

TEST_F(WebhookTest, TakesNoLongerThanItsLimitWithAllAttempts) {
    server.takes = 4s;
    server.answer = always(503);
    Webhook webhook = make({.limits = {.time = 10s}});
    const MonotonicTime begun = loop.now();
    EXPECT_NE(error_of(webhook), "");
    EXPECT_EQ(loop.now() - begun, 10s);
    server.takes = 1h;
    EXPECT_NE(error_of(webhook), "");
    EXPECT_EQ(loop.now() - begun, 20s);
}

/// What became of reviews that were begun side by side.
struct Outcomes {
    int answered = 0, busy = 0, failed = 0;
    Task<> ask(Webhook& webhook, std::string user) {
        auto answer = co_await webhook.review(WebhookTest::review(), std::move(user));
        ++(answer ? answered : answer.error().reason == Reason::TooManyRequests ? busy : failed);
        co_return {};
    }
};

TEST_F(WebhookTest, HoldsNoMoreCallsThanAllowedAndOthersWaitForTheirTurn) {
    server.takes = 5s;
    server.answer = always(200, Allowed);
    Webhook webhook = make({.limits = {.time = 12s}, .calls = 2});
    Outcomes outcomes;
    Scope scope(loop);
    for (int i = 0; i < 6; ++i) scope.spawn(outcomes.ask(webhook, ""));
    loop.advance(1s);
    EXPECT_EQ(server.requests.size(), 2u);
    loop.advance(15s);
    EXPECT_EQ(outcomes.answered, 6);
    for (int i = 0; i < 11; ++i) scope.spawn(outcomes.ask(webhook, ""));
    loop.run_ready();
    EXPECT_EQ(outcomes.busy, 1) << "eight wait for two";
    loop.advance(13s);
    EXPECT_EQ(outcomes.busy, 1 + 4) << "no turn came in time";
    EXPECT_EQ(outcomes.failed, 0) << "none of it is the server's failure";
    loop.advance(12s);
    EXPECT_EQ(error_of(webhook), "") << "there is room again";
    ASSERT_TRUE(sim::run(loop, scope.close()));
}

TEST_F(WebhookTest, OneUserDoesNotTakeAllCalls) {
    server.takes = 5s;
    server.answer = always(200, Allowed);
    Webhook webhook = make({.limits = {.time = 30s}, .calls = 8});
    Outcomes greedy, other;
    Scope scope(loop);
    for (int i = 0; i < 8; ++i) scope.spawn(greedy.ask(webhook, "joe"));
    scope.spawn(other.ask(webhook, "ann"));
    loop.advance(1s);
    EXPECT_EQ(server.requests.size(), 3u) << "two of joe's, and ann's";
    loop.advance(5s);
    EXPECT_EQ(other.answered, 1);
    loop.advance(20s);
    EXPECT_EQ(greedy.answered, 8);
    ASSERT_TRUE(sim::run(loop, scope.close()));
}

}  // namespace
}  // namespace porthole::apiserver
