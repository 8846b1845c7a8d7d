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

TEST_F(WebhookTest, HoldsNoMoreCallsThanAllowed) {
    server.takes = 5s;
    server.answer = always(200, Allowed);
    Webhook webhook = make({.calls = 2});
    int answered = 0, refused = 0;
    const auto ask = [](Webhook& asked, int& good, int& bad) -> Task<> {
        auto answer = co_await asked.review(review());
        ++(answer ? good : bad);
        co_return {};
    };
    Scope scope(loop);
    for (int i = 0; i < 3; ++i) scope.spawn(ask(webhook, answered, refused));
    loop.advance(1s);
    EXPECT_EQ(refused, 1);
    loop.advance(5s);
    EXPECT_EQ(answered, 2);
    EXPECT_EQ(error_of(webhook), "") << "there is room again";
    ASSERT_TRUE(sim::run(loop, scope.close()));
}

}  // namespace
}  // namespace porthole::apiserver
