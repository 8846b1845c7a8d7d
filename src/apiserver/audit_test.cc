// Events of whole requests.
#include <gmock/gmock.h>

#include "apiserver/access_fixture.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

class AuditTest : public Access {
protected:
    ApiServerOptions options() override {
        ApiServerOptions chosen = example_options();
        chosen.audit = &auditor;
        return chosen;
    }
    static AuditPolicy policy() {
        return KeptEvents::policy(
            "rules:\n"
            "- {level: None, resources: [{group: '', resources: [namespaces]}]}\n"
            "- {level: RequestResponse, omitManagedFields: true, omitStages: [RequestReceived], resources: [{group: '', resources: "
            "[secrets]}]}\n"
            "- {level: Request, resources: [{group: '', resources: [configmaps]}]}\n"
            "- {level: Metadata}\n");
    }
    void SetUp() override {
        Access::SetUp();
        kept.events.clear();
    }
    /// The events since the last call.
    std::vector<Value> events() {
        loop.run_ready();
        std::vector<Value> trees;
        for (const std::string& line : std::exchange(kept.events, {})) trees.push_back(*schema::parse_json(line));
        return trees;
    }
    std::string metric(const std::string& name) {
        const std::string text = get("/metrics").text;
        const std::size_t at = text.find("\n" + name + " ");
        return at == text.npos ? "" : text.substr(at + name.size() + 2, text.find('\n', at + 1) - at - name.size() - 2);
    }
    int unauthenticated(net::Headers headers, const std::string& path = "/api/v1/pods") {
        HeaderKeeper keeper;
        net::HttpRequest request{.method = "GET", .path = path, .headers = std::move(headers)};
        EXPECT_TRUE(sim::run(loop, api->server().handle(std::move(request), keeper)));
        return keeper.code;
    }

    KeptEvents kept;
    Auditor auditor{policy(), {&kept}};
};

TEST_F(AuditTest, AnEventHasUpstreamsFieldsInTheirOrder) {
    HeaderKeeper keeper;
    net::HttpRequest request{.method = "GET", .path = "/api/v1/nodes/n", .query = "pretty=1"};
    request.headers = {{"audit-id", "mine"}, {"user-agent", "a\"b"}, {"x-forwarded-for", "10.0.0.1, x, 10.0.0.2"}};
    request.peer.address = "10.0.0.9";
    User user{.name = "jane", .uid = "7", .groups = {"dev"}, .extra = {{"k", {"v"}}}};
    ASSERT_TRUE(sim::run(loop, api->server().handle_as(user, std::move(request), keeper)));
    EXPECT_EQ(keeper.headers.get("audit-id"), "mine");
    ASSERT_EQ(kept.events.size(), 2u);
    EXPECT_THAT(
        kept.events[0],
        testing::MatchesRegex(
            R"(\{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"mine","stage":"RequestReceived",)"
            R"("requestURI":"/api/v1/nodes/n\?pretty=1","verb":"get","user":\{"username":"jane","uid":"7","groups":\["dev"\],"extra":\{"k":\["v"\]\}\},)"
            R"("sourceIPs":\["10.0.0.1","10.0.0.2","10.0.0.9"\],"userAgent":"a\\"b",)"
            R"("objectRef":\{"resource":"nodes","name":"n","apiVersion":"v1"\},)"
            R"("requestReceivedTimestamp":"[^"]*Z","stageTimestamp":"[^"]*Z"\})"));
    EXPECT_THAT(
        kept.events[1],
        testing::MatchesRegex(
            R"(.*"stage":"ResponseComplete",.*"apiVersion":"v1"\},"responseStatus":\{"metadata":\{\},"status":"Failure",)"
            R"("message":"nodes \\"n\\" is forbidden: [^,]*","reason":"Forbidden","details":\{"name":"n","kind":"nodes"\},"code":403\},)"
            R"("requestReceivedTimestamp":"[^"]*","stageTimestamp":"[^"]*","annotations":\{"authorization.k8s.io/decision":"forbid".*\}\})"));
}

TEST_F(AuditTest, TheBodyNamesWhatThePathDoesNot) {
    ASSERT_EQ(post("/api/v1/nodes", R"({"metadata":{"name":"n1"}})").code, 201);
    const auto made = events();
    ASSERT_EQ(made.size(), 2u);
    EXPECT_EQ(made[0].string_at({"objectRef", "name"}), "") << "not known before it is read";
    EXPECT_EQ(made[1].string_at({"objectRef", "name"}), "n1");
    EXPECT_EQ(made[1].find("requestObject"), nullptr) << "not at the level Metadata";
    EXPECT_EQ(made[1].at_path({"responseStatus", "status"}), nullptr);
    EXPECT_EQ(made[1].at_path({"responseStatus", "code"})->as_int(), 201);
}

TEST_F(AuditTest, LevelsSayWhatOfTheObjectsIsRecorded) {
    ASSERT_EQ(post(ConfigMaps, config_map("c")).code, 201);
    const auto map = events();
    ASSERT_EQ(map.size(), 2u);
    EXPECT_EQ(map[1].string_at({"requestObject", "data", "k"}), "v");
    EXPECT_EQ(map[1].find("responseObject"), nullptr);

    ASSERT_EQ(post("/api/v1/namespaces/default/secrets", R"({"metadata":{"name":"s"},"stringData":{"a":"b"}})").code, 201);
    const auto secret = events();
    ASSERT_EQ(secret.size(), 1u) << "its rule leaves RequestReceived out";
    EXPECT_EQ(secret[0].string_at({"requestObject", "stringData", "a"}), "b");
    EXPECT_EQ(secret[0].string_at({"responseObject", "data", "a"}), "Yg==");
    EXPECT_NE(secret[0].at_path({"responseObject", "metadata", "uid"}), nullptr);
    EXPECT_EQ(secret[0].at_path({"responseObject", "metadata", "managedFields"}), nullptr);

    ASSERT_EQ(
        call("PATCH", std::string(ConfigMaps) + "/c", R"([{"op":"add","path":"/data/x","value":"y"}])", "application/json-patch+json").code,
        200);
    const auto patched = events();
    ASSERT_EQ(patched.size(), 2u);
    EXPECT_EQ(patched[1].find("requestObject")->as_array().at(0).string_at({"op"}), "add");

    ASSERT_EQ(call("GET", "/api/v1/secrets", "", "", "application/vnd.kubernetes.protobuf").code, 200);
    const auto listed = events();
    ASSERT_EQ(listed.size(), 1u);
    EXPECT_EQ(listed[0].string_at({"responseObject", "kind"}), "SecretList") << "as JSON, whatever was sent";
}

TEST_F(AuditTest, WhatNoRuleWantsLeavesNothingEvenWhenItIsRefused) {
    EXPECT_EQ(as(jane(), "GET", "/api/v1/namespaces/a").code, 403);
    EXPECT_TRUE(events().empty());
}

TEST_F(AuditTest, ADeletionHasTheStatusThatWasAnswered) {
    ASSERT_EQ(post("/api/v1/nodes", R"({"metadata":{"name":"n1"}})").code, 201);
    (void)events();
    ASSERT_EQ(remove("/api/v1/nodes/n1").code, 200);
    const auto gone = events();
    EXPECT_EQ(gone.back().string_at({"responseStatus", "status"}), "Success");
    EXPECT_EQ(gone.back().string_at({"responseStatus", "details", "name"}), "n1");
}

TEST_F(AuditTest, AWatchIsSeenWhenItBeginsAndWhenItEnds) {
    {
        auto reader = watch("/api/v1/nodes", "");
        EXPECT_EQ(reader.next(), "");
        const auto open = events();
        ASSERT_EQ(open.size(), 2u);
        EXPECT_EQ(open[0].string_at({"stage"}), "RequestReceived");
        EXPECT_EQ(open[1].string_at({"stage"}), "ResponseStarted");
        EXPECT_EQ(open[1].at_path({"responseStatus", "code"})->as_int(), 200);
    }
    loop.advance(std::chrono::seconds(1));
    const auto ended = events();
    ASSERT_EQ(ended.size(), 1u);
    EXPECT_EQ(ended[0].string_at({"stage"}), "ResponseComplete");
}

TEST_F(AuditTest, ASenderWhoIsNobodyHasOneEvent) {
    EXPECT_EQ(unauthenticated({{"authorization", "Bearer nonsense"}}), 401);
    const auto refused = events();
    ASSERT_EQ(refused.size(), 1u);
    EXPECT_EQ(refused[0].string_at({"stage"}), "ResponseStarted");
    EXPECT_EQ(refused[0].string_at({"responseStatus", "message"}), "Authentication failed, attempted: bearer");
    EXPECT_EQ(refused[0].at_path({"responseStatus", "code"})->as_int(), 401);
    EXPECT_TRUE(refused[0].find("user")->as_object().empty());
}

TEST_F(AuditTest, IsCounted) {
    ASSERT_EQ(get("/api/v1/nodes").code, 200);
    ASSERT_EQ(get("/api/v1/namespaces").code, 200);
    const int before = std::stoi(metric("apiserver_audit_event_total"));  // with RequestReceived of this request
    EXPECT_EQ(std::stoi(metric("apiserver_audit_event_total")), before + 2);
    EXPECT_NE(metric("apiserver_audit_level_total{level=\"None\"}"), "0");
    EXPECT_EQ(metric("apiserver_audit_requests_rejected_total"), "0");
}

class BuiltInAudit : public AuditTest {
    ApiServerOptions options() override {
        ApiServerOptions chosen = example_options();
        chosen.audit = &built_in;
        return chosen;
    }

    Auditor built_in{AuditPolicy::built_in(), {&kept}};
};

TEST_F(BuiltInAudit, RecordsRefusalsOfAnything) {
    EXPECT_EQ(as(jane(), "GET", "/api/v1/namespaces/a").code, 403);
    const auto forbidden = events();
    ASSERT_EQ(forbidden.size(), 1u);
    EXPECT_EQ(forbidden[0].string_at({"level"}), "Metadata");
    EXPECT_EQ(forbidden[0].string_at({"stage"}), "ResponseComplete");
    EXPECT_EQ(forbidden[0].at_path({"responseStatus", "code"})->as_int(), 403);
    EXPECT_EQ(forbidden[0].string_at({"annotations", "authorization.k8s.io/decision"}), "forbid");
    EXPECT_EQ(unauthenticated({{"authorization", "Bearer nonsense"}}, "/healthz"), 401);
    EXPECT_EQ(events().size(), 1u);
}

TEST_F(BuiltInAudit, RecordsWritesAndNoReadsThatSucceed) {
    grant(R"({"apiGroups":["*"],"resources":["*"],"verbs":["*"]})");
    (void)events();
    EXPECT_EQ(as(jane(), "GET", "/api/v1/pods").code, 200);
    EXPECT_EQ(as(jane(), "GET", "/readyz").code, 200);
    EXPECT_TRUE(events().empty());
    EXPECT_EQ(as(jane(), "GET", "/api/v1/secrets").code, 200);
    EXPECT_EQ(as(jane(), "POST", ConfigMaps, config_map("c"), "application/json").code, 201);
    const auto seen = events();
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[1].string_at({"objectRef", "name"}), "c");
    EXPECT_EQ(seen[1].string_at({"user", "username"}), "jane");
}

}  // namespace
}  // namespace porthole::apiserver
