#include "node_join/bootstrap_token.h"

#include <gtest/gtest.h>

#include "api/core_v1.h"
#include "base/time/time.h"
#include "client/fake/fake_api.h"
#include "runtime/sim/kept_log.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::node_join {
namespace {

using namespace std::chrono_literals;
using api::core::v1::Secret;

struct JoinByToken : testing::Test {
    /// Joins with `outcome`, and remembers the token's Secret as it was meanwhile.
    Result<void> join(Result<void> outcome) {
        return sim::run(
            loop, join_by_token(loop, client, "w1", log, [&](std::string given) { return begin(std::move(given), std::move(outcome)); }));
    }
    Task<> begin(std::string given, Result<void> outcome) {
        token = std::move(given);
        during = api.list<Secret>(BootstrapTokenNamespace);
        co_return outcome;
    }
    std::size_t left() { return api.list<Secret>(BootstrapTokenNamespace).size(); }

    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    std::string told, token;
    Logger log{std::make_shared<sim::KeptLog>(told), "test"};
    std::vector<Secret> during;
};

TEST_F(JoinByToken, ATokenIsThereForTheTimeOfTheJoinAndForFiveMinutesAtMost) {
    ASSERT_TRUE(join({}));
    ASSERT_EQ(during.size(), 1u);
    EXPECT_EQ(during[0].data.at("token-id") + "." + during[0].data.at("token-secret"), token);
    EXPECT_EQ(during[0].data.at("expiration"), Timestamp(loop.wall_now() + 5min).to_string());
    EXPECT_EQ(left(), 0u);
}

TEST_F(JoinByToken, AJoinThatFailsLeavesNoToken) {
    EXPECT_EQ(join(Error(Reason::Timeout, "the host does not answer")).error().message, "the host does not answer");
    EXPECT_EQ(during.size(), 1u);
    EXPECT_EQ(left(), 0u);
}

TEST_F(JoinByToken, ATokenThatCannotBeRemovedIsLeftUntilItExpires) {
    api.set_fault([](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.method != "DELETE") return std::nullopt;
        return Error(Reason::ServiceUnavailable, "away");
    });
    EXPECT_TRUE(join({}));
    EXPECT_EQ(left(), 1u);
    EXPECT_NE(told.find("the token of a join is left until it expires w1 away"), told.npos) << told;
}

}  // namespace
}  // namespace porthole::node_join
