#include "kubelet/api_objects.h"

#include <gtest/gtest.h>

#include "base/result.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;

/// The simulation's loop on a machine whose wall clock can be wrong.
struct WrongClock final : EventLoop {
    void post(Callback callback) override { loop.post(std::move(callback)); }
    TimerId call_at(MonotonicTime when, Callback callback) override { return loop.call_at(when, std::move(callback)); }
    void cancel_timer(TimerId timer) override { loop.cancel_timer(timer); }
    MonotonicTime now() const override { return loop.now(); }
    SystemTime wall_now() const override { return loop.wall_now() + ahead; }

    sim::SimLoop loop;
    Duration ahead{};
};

/// Makes tokens for an hour.
struct TokenServer final : client::Transport {
    explicit TokenServer(sim::SimLoop& loop) : loop(loop) {}
    Task<client::ApiResponse> call(client::ApiRequest) override {
        if (refuses) co_return Error(Reason::Unavailable, "no server");
        const std::string end = Timestamp(loop.wall_now() + 1h).to_string();
        co_return client::ApiResponse{
            201, std::make_shared<const std::string>(R"({"spec":{"expirationSeconds":3600},"status":{"token":")" + std::to_string(++made) +
                                                     R"(","expirationTimestamp":")" + end + R"("}})")};
    }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest) override { co_return Error(Reason::Unavailable, "no watches"); }

    sim::SimLoop& loop;
    int made = 0;
    bool refuses = false;
};

struct ApiTokensTest : testing::Test {
    std::string token() {
        const auto found = sim::run(clock.loop, tokens.token(std::make_shared<const core::Pod>(), "", 3600));
        return found ? found->token : found.error().message;
    }

    WrongClock clock;
    TokenServer server{clock.loop};
    client::Client client{server};
    ApiTokens tokens{clock, client};
};

/// Has every ConfigMap, of a megabyte.
struct LargeMaps final : client::Transport {
    Task<client::ApiResponse> call(client::ApiRequest) override {
        ++asked;
        static const auto Text = std::make_shared<const std::string>(
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"k":")" + std::string(1 << 20, 'x') + R"("}})");
        co_return client::ApiResponse{200, Text};
    }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest) override { co_return Error(Reason::Unavailable, "no watches"); }
    int asked = 0;
};

TEST(ApiObjectsTest, AreKeptForAWhileAndNotWithoutEnd) {
    sim::SimLoop loop;
    LargeMaps server;
    client::Client client{server};
    ApiObjects objects(loop, client);
    const auto read = [&](int number) {
        const auto found = sim::run(loop, objects.config_map("ns", std::to_string(number)));
        ASSERT_TRUE(found);
        EXPECT_EQ((*found)->data.at("k").size(), 1u << 20);
    };
    for (int round = 0; round < 2; ++round)
        for (int i = 0; i < 60; ++i) read(i);
    EXPECT_EQ(server.asked, 60);
    for (int i = 60; i < 160; ++i) read(i);
    server.asked = 0;
    for (int i = 0; i < 160; ++i) read(i);
    EXPECT_GE(server.asked, 96) << "what takes more than 64 MiB is not kept";
    loop.advance(11s);
    server.asked = 0;
    for (int i = 100; i < 160; ++i) read(i);
    for (int i = 100; i < 160; ++i) read(i);
    EXPECT_EQ(server.asked, 60) << "those of before have made room";
}

/// Has no ConfigMap until it has all.
struct MissingMaps final : client::Transport {
    Task<client::ApiResponse> call(client::ApiRequest) override {
        ++asked;
        const char* text = there ? R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"}})"
                                 : R"({"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404})";
        co_return client::ApiResponse{there ? 200 : 404, std::make_shared<const std::string>(text)};
    }
    Task<std::unique_ptr<client::ApiStream>> watch(client::ApiRequest) override { co_return Error(Reason::Unavailable, "no watches"); }
    bool there = false;
    int asked = 0;
};

struct MissingObjects : testing::Test {
    /// The answer about one.
    std::string read(int number) {
        const auto found = sim::run(loop, objects.config_map("ns", std::to_string(number)));
        return found ? "there" : found.error().message;
    }

    sim::SimLoop loop;
    MissingMaps server;
    client::Client client{server};
    ApiObjects objects{loop, client};
};

TEST_F(MissingObjects, AreAskedForAgainASecondLater) {
    for (int look = 0; look < 3; ++look) EXPECT_EQ(read(7), "configmap \"7\" not found");
    EXPECT_EQ(server.asked, 1);
    server.there = true;
    loop.advance(1s);
    EXPECT_EQ(read(7), "there");
}

TEST_F(MissingObjects, VeryManyAreNotAskedForAtEachLook) {
    for (int second = 0; second < 20; ++second) {
        for (int i = 0; i < 1000; ++i) read(i);
        loop.advance(1s);
    }
    EXPECT_LE(server.asked, 1000 + 20 * 100 + 500);
    server.there = true;
    loop.advance(30s);
    EXPECT_EQ(read(7), "there");
}

TEST_F(ApiTokensTest, AreKeptForFourFifthsOfTheirLife) {
    EXPECT_EQ(token(), "1");
    clock.loop.advance(47min);
    EXPECT_EQ(token(), "1");
    clock.loop.advance(2min);
    EXPECT_EQ(token(), "2");
}

TEST_F(ApiTokensTest, AreRenewedInTimeAfterTheClockWasYearsAheadOrBehind) {
    for (const Duration ahead : {24h * 365, -24h * 365}) {
        SCOPED_TRACE(std::chrono::duration_cast<std::chrono::hours>(ahead).count());
        const int before = server.made;
        tokens.forget_pod("");
        clock.ahead = ahead;
        EXPECT_EQ(token(), std::to_string(before + 1));
        clock.loop.advance(10min);
        EXPECT_EQ(token(), std::to_string(before + 1)) << "a wrong clock alone is no reason to ask again";
        clock.ahead = {};
        clock.loop.advance(39min);
        EXPECT_NE(token(), std::to_string(before + 1));
    }
}

TEST_F(ApiTokensTest, AnOldOneIsUsedToItsEndWhileThereIsNoNewOneWhateverTheClockSays) {
    EXPECT_EQ(token(), "1");
    server.refuses = true;
    clock.loop.advance(50min);
    clock.ahead = 24h * 365;
    EXPECT_EQ(token(), "1");
    clock.loop.advance(11min);
    EXPECT_EQ(token(), "failed to fetch token: no server");
}

}  // namespace
}  // namespace porthole::kubelet
