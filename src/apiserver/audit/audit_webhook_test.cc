#include "apiserver/audit/audit_webhook.h"

#include <gtest/gtest.h>

#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

using namespace std::chrono_literals;

namespace porthole::apiserver {
namespace {

struct AuditWebhookTest : testing::Test {
    void make(AuditWebhook::Options options) {
        webhook = std::make_unique<AuditWebhook>(
            AuditWebhook::Seams{loop, random, Logger(make_null_sink(), "test"), [this](std::string body) { return post(std::move(body)); }},
            options);
    }
    ~AuditWebhookTest() override {
        if (webhook) EXPECT_TRUE(sim::run(loop, webhook->close()));
        loop.run_ready();
    }
    Task<int> post(std::string body) {
        CO_TRY(const schema::Value list, schema::parse_json(body));
        EXPECT_EQ(list.string_at({"kind"}), "EventList");
        EXPECT_EQ(list.string_at({"apiVersion"}), "audit.k8s.io/v1");
        sizes.push_back(list.find("items")->as_array().size());
        times.push_back(loop.now() - begun);
        if (answer == 0) co_return Error(Reason::Unavailable, "no route");
        co_return answer;
    }
    void add(int count) {
        for (int i = 0; i < count; ++i) webhook->add(R"({"auditID":"x"})");
    }
    std::uint64_t lost(std::string_view plugin) const {
        for (const auto& one : webhook->lost())
            if (one.plugin == plugin) return one.events;
        return 999;
    }

    sim::SimLoop loop;
    SeededRandom random{3};
    const MonotonicTime begun = loop.now();
    int answer = 200;
    std::vector<std::size_t> sizes;
    std::vector<Duration> times;
    std::unique_ptr<AuditWebhook> webhook;
};

TEST_F(AuditWebhookTest, SendsFullBatchesAtOnceAndTheRestInTime) {
    make({.batch_max_size = 3, .batch_max_wait = 30s});
    add(7);
    loop.advance(1s);
    EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 3}));
    loop.advance(28s);
    EXPECT_EQ(sizes.size(), 2u);
    loop.advance(2s);
    EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 3, 1}));
    EXPECT_EQ(lost("webhook") + lost("buffered"), 0u);
}

TEST_F(AuditWebhookTest, SendsLargeEventsAtOnceSoThatTheyTakeNoPlaceFromOthers) {
    make({.batch_max_size = 400, .batch_max_wait = 30s});
    for (int i = 0; i < 100; ++i) {
        webhook->add(R"({"auditID":")" + std::string(300'000, 'x') + "\"}");
        loop.advance(1ms);
    }
    EXPECT_EQ(lost("buffered"), 0u);
    EXPECT_EQ(sizes, std::vector<std::size_t>(25, 4));
}

TEST_F(AuditWebhookTest, TriesFiveTimesWithLongerPausesThenLosesTheBatch) {
    make({.batch_max_size = 2, .initial_backoff = 10s});
    answer = 503;
    add(2);
    loop.advance(40s);
    answer = 0;
    loop.advance(100s);
    ASSERT_EQ(times.size(), 5u);
    for (std::size_t i = 1, expected = 10; i < 5; ++i, expected = expected * 3 / 2) {
        EXPECT_GE(times[i] - times[i - 1], std::chrono::seconds(expected));
        EXPECT_LE(times[i] - times[i - 1], std::chrono::seconds(expected * 13 / 10 + 1));
    }
    EXPECT_EQ(lost("webhook"), 2u);
    answer = 200;
    add(2);
    loop.advance(1s);
    EXPECT_EQ(sizes.size(), 6u) << "the next batch is sent";
    EXPECT_EQ(lost("webhook"), 2u);
}

TEST_F(AuditWebhookTest, LosesWhatTheBufferHasNoPlaceFor) {
    make({.buffer_size = 10, .batch_max_size = 4});
    add(13);
    EXPECT_EQ(lost("buffered"), 3u);
    loop.advance(31s);
    EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 4, 2}));
    const std::string large(AuditWebhook::MostBytes / 4, 'x');
    for (int i = 0; i < 5; ++i) webhook->add('"' + large + '"');
    EXPECT_EQ(lost("buffered"), 5u) << "by their bytes";
}

TEST_F(AuditWebhookTest, SendsWhatWaitsWhenItIsClosed) {
    make({.batch_max_size = 4});
    add(6);
    loop.advance(1s);
    EXPECT_TRUE(sim::run(loop, webhook->close()));
    EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 2}));
    webhook.reset();
}

TEST_F(AuditWebhookTest, SendsWhatWasOnItsWayWhenItIsClosed) {
    make({.batch_max_size = 4});
    answer = 503;
    add(6);
    loop.advance(1s);
    ASSERT_EQ(sizes, (std::vector<std::size_t>{4})) << "it will be tried again in ten seconds";
    answer = 200;
    EXPECT_TRUE(sim::run(loop, webhook->close()));
    EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 4, 2})) << "the older ones first";
    EXPECT_EQ(lost("webhook"), 0u);
    webhook.reset();
}

}  // namespace
}  // namespace porthole::apiserver
