#include "apiserver/admission/webhook_caller.h"

#include "apiserver/outgoing/outgoing_fixture.h"
#include "apiserver/storage/object_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;

struct WebhookCallerTest : ObjectTest {
    std::string url(int number) { return "https://hook" + std::to_string(number) + ".test/review"; }
    /// "" for an answer.
    std::string post(int number, std::string ca_bundle = "") {
        servers.at(url(number)).answer = [](const net::HttpRequest&) {
            return net::HttpResponse{.code = 200, .headers = {}, .body = "{}"};
        };
        WebhookCaller::ClientConfig config;
        config.url = url(number);
        config.ca_bundle = std::move(ca_bundle);
        const auto answer = run(caller.post(std::move(config), "{}", 10s));
        return answer->outcome ? "" : answer->outcome.error().message;
    }
    int opened(int number) { return servers.at(url(number)).opened; }

    FakeServers servers{loop_};
    ObjectReader reader{*store_};
    SeededRandom random{1};
    WebhookCaller caller{&servers, reader, random};
};

TEST_F(WebhookCallerTest, ConnectionsToSoManyServersAreKept) {
    for (int i = 0; i < 256; ++i) ASSERT_EQ(post(i), "");
    ASSERT_EQ(post(0), "");
    EXPECT_EQ(opened(0), 1) << "it is kept";
    ASSERT_EQ(post(256), "");
    ASSERT_EQ(post(0), "");
    EXPECT_EQ(opened(0), 1) << "it was used a moment ago";
    ASSERT_EQ(post(1), "");
    EXPECT_EQ(opened(1), 2) << "the least recently used one was closed";
}

TEST_F(WebhookCallerTest, AServerOfAnotherAuthorityIsConnectedToAgain) {
    const std::string large(1 << 20, 'a');
    ASSERT_EQ(post(0, large + "1"), "");
    ASSERT_EQ(post(0, large + "2"), "");
    EXPECT_EQ(opened(0), 2);
    ASSERT_EQ(post(0, large + "1"), "");
    EXPECT_EQ(opened(0), 2);
}

TEST_F(WebhookCallerTest, ACallInProgressKeepsItsConnection) {
    servers.at(url(0)).takes = 5s;
    Scope scope(loop_);
    std::string outcome = "none";
    scope.spawn([](WebhookCallerTest& test, std::string& outcome) -> Task<> {
        WebhookCaller::ClientConfig config;
        config.url = test.url(0);
        test.servers.at(test.url(0)).answer = [](const net::HttpRequest&) {
            return net::HttpResponse{.code = 200, .headers = {}, .body = "late"};
        };
        CO_TRY(const auto answer, co_await test.caller.post(std::move(config), "{}", 10s));
        outcome = answer.outcome.value_or("failed");
        co_return {};
    }(*this, outcome));
    loop_.run_ready();
    for (int i = 1; i < 300; ++i) ASSERT_EQ(post(i), "");
    loop_.advance(5s);
    EXPECT_EQ(outcome, "late");
    EXPECT_TRUE(run(scope.close()));
}

}  // namespace
}  // namespace porthole::apiserver
