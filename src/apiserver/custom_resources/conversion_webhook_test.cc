#include "apiserver/custom_resources/conversion_webhook.h"

#include "apiserver/outgoing/outgoing_fixture.h"
#include "apiserver/storage/object_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using schema::Value;

constexpr const char* Hook = "https://convert.test/routes";

std::size_t series(const std::string& text, const std::string& start) {
    std::size_t found = 0;
    for (std::size_t at = text.find(start); at != text.npos; at = text.find(start, at + 1)) ++found;
    return found;
}

TEST(ConversionMetrics, FurtherDefinitionsAndVersionsAreCountedTogether) {
    ConversionMetrics metrics;
    for (int i = 0; i < 800; ++i) metrics.add({.definition = "d" + std::to_string(i), .from = "v1", .to = "v2"});
    for (int i = 0; i < 800; ++i) metrics.add({.definition = "d0", .from = "v1", .to = "v2beta" + std::to_string(i)});
    metrics.add({.definition = "d0", .from = "v1", .to = "v2"});
    std::string text;
    metrics.append(text);
    const std::string start = "apiserver_crd_conversion_webhook_duration_seconds_count{";
    EXPECT_EQ(series(text, start), 1025u);
    EXPECT_NE(text.find(start + R"(crd_name="",from_version="",succeeded="true",to_version=""} 576)"), text.npos);
    EXPECT_NE(text.find(start + R"(crd_name="d0",from_version="v1",succeeded="true",to_version="v2"} 2)"), text.npos);
}

/// A webhook that changes apiVersion, and takes its time.
struct ConversionWebhookTest : ObjectTest {
    ConversionWebhookTest() {
        servers.at(Hook).takes = 20s;
        servers.at(Hook).answer = [](const net::HttpRequest& request) {
            Value review = *schema::parse_json(request.body);
            const Value question = *review.find("request");
            Value converted = *question.find("objects");
            for (Value& one : converted.as_array()) one["apiVersion"] = question.string_at({"desiredAPIVersion"});
            review.erase("request");
            review["response"] = Value::object({{"uid", question.string_at({"uid"})},
                                                {"convertedObjects", std::move(converted)},
                                                {"result", Value::object({{"status", "Success"}})}});
            return net::HttpResponse{.code = 200, .headers = {}, .body = schema::to_json(review)};
        };
    }
    static CustomResourceDefinition definition() {
        CustomResourceDefinition made;
        made.metadata.name = "routes.example.com";
        made.spec.group = "example.com";
        for (const char* version : {"v1", "v2"}) made.spec.versions.emplace_back().name = version;
        auto& conversion = made.spec.conversion.emplace();
        conversion.strategy = "Webhook";
        auto& webhook = conversion.webhook.emplace();
        webhook.conversion_review_versions = {"v1"};
        webhook.client_config.emplace().url = Hook;
        return made;
    }
    /// Its end is added to `ends`: "v2", or the reason.
    Task<> convert() {
        std::vector<Value> one{*schema::parse_json(R"({"apiVersion":"example.com/v1","kind":"Route","metadata":{"name":"a"}})")};
        const auto converted = co_await webhook.convert(std::move(one), "example.com/v2");
        if (is_cancelled(converted)) co_return converted.error();
        ends.emplace_back(converted ? std::string(converted->front().string_at({"apiVersion"})) : converted.error().message);
        co_return {};
    }
    std::size_t asked() { return servers.at(Hook).requests.size(); }

    FakeServers servers{loop_};
    ObjectReader reader{*store_};
    SeededRandom random{1};
    WebhookCaller caller{&servers, reader, random};
    ConversionMetrics metrics;
    ConversionWebhook webhook{{loop_, random, caller, metrics}, definition()};
    std::vector<std::string> ends;
};

TEST_F(ConversionWebhookTest, HasNoMoreCallsInProgressThanAllowedAndOthersWait) {
    Scope scope(loop_);
    for (int i = 0; i < 160; ++i) scope.spawn(convert());
    loop_.run_ready();
    EXPECT_EQ(asked(), 64u);
    loop_.advance(20s);
    EXPECT_EQ(ends, std::vector<std::string>(64, "example.com/v2"));
    EXPECT_EQ(asked(), 128u);
    ends.clear();
    loop_.advance(10s);
    EXPECT_EQ(ends, std::vector<std::string>(32, "too many calls of the conversion webhook for routes.example.com are in progress"))
        << "they have waited for 30 seconds";
    ends.clear();
    loop_.advance(10s);
    EXPECT_EQ(ends, std::vector<std::string>(64, "example.com/v2"));
    ends.clear();
    scope.spawn(convert());
    loop_.advance(20s);
    EXPECT_EQ(ends, std::vector<std::string>{"example.com/v2"});
    EXPECT_EQ(asked(), 129u);
    EXPECT_TRUE(run(scope.close()));
}

}  // namespace
}  // namespace porthole::apiserver
