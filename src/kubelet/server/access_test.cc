#include "kubelet/server/access.h"

#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::kubelet {
namespace {

using namespace std::chrono_literals;
using schema::Value;

/// An API that knows the users whose tokens are their names, and grants all but "mallory" everything.
struct AccessControlTest : testing::Test {
    AccessControlTest() {
        api.set_answer([this](const client::ApiRequest& request) { return answer(request); });
    }
    std::optional<Value> answer(const client::ApiRequest& request) {
        Value review = *schema::parse_json(request.body);
        if (request.path.ends_with("/tokenreviews")) {
            ++reviews;
            const Value user = Value::object({{"username", review.string_at({"spec", "token"})}});
            review["status"] = Value::object({{"authenticated", true}, {"user", user}});
        } else {
            ++questions;
            review["status"] = Value::object({{"allowed", review.string_at({"spec", "user"}) != "mallory"}});
        }
        return review;
    }
    bool ask(const std::string& user) {
        net::HttpRequest request{.method = "GET", .path = "/metrics"};
        request.headers.add("authorization", "Bearer " + user);
        return sim::run(loop, access.check(request)).has_value();
    }

    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    AccessControl access{loop, client, {}, "n1"};
    int reviews = 0, questions = 0;
};

TEST_F(AccessControlTest, AThousandUsersAndPermissionsAreRemembered) {
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(ask("u" + std::to_string(i)));
    EXPECT_TRUE(ask("u0"));
    EXPECT_EQ(reviews, 1000);
    EXPECT_EQ(questions, 1000) << "the first one is remembered";
    EXPECT_TRUE(ask("u1000"));
    EXPECT_TRUE(ask("u0"));
    EXPECT_EQ(reviews, 1002) << "those are forgotten that were remembered";
    EXPECT_EQ(questions, 1002);
}

TEST_F(AccessControlTest, UsersAreRememberedForTwoMinutesPermissionsForFiveRefusalsForHalfAMinute) {
    EXPECT_TRUE(ask("jane"));
    EXPECT_FALSE(ask("mallory"));
    loop.advance(29s);
    EXPECT_FALSE(ask("mallory"));
    EXPECT_EQ(questions, 2);
    loop.advance(1s);
    EXPECT_FALSE(ask("mallory"));
    EXPECT_EQ(questions, 3);
    EXPECT_EQ(reviews, 2);
    loop.advance(90s);
    EXPECT_TRUE(ask("jane"));
    EXPECT_EQ(reviews, 3);
    EXPECT_EQ(questions, 3);
    loop.advance(3min);
    EXPECT_TRUE(ask("jane"));
    EXPECT_EQ(questions, 4);
}

}  // namespace
}  // namespace porthole::kubelet
