// Admission webhooks as clients meet them: the whole API server, and servers that the test plays.
#include "apiserver/admission/admission_review.h"
#include "apiserver/api_server_fixture.h"
#include "apiserver/outgoing/outgoing_fixture.h"
#include "base/base64.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using schema::Value;

constexpr const char* Mutating = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
constexpr const char* Validating = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
constexpr const char* Creates = R"("rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}])";

class AdmissionWebhooks : public ApiServerFixture {
protected:
    OutgoingClients* outgoing() override { return &servers; }
    ApiServerOptions options() override {
        ApiServerOptions chosen = ApiServerFixture::options();
        chosen.audit = &auditor;
        return chosen;
    }

    static std::string url(const std::string& name) { return "https://" + name + ".test/review"; }
    FakeServers::Server& server(const std::string& name = "hook") { return servers.at(url(name)); }

    /// A configuration of one webhook "NAME.example.com" at url(NAME).
    static std::string configuration(const std::string& name, const std::string& rules = Creates, const std::string& more = "") {
        return R"({"metadata":{"name":")" + name + R"("},"webhooks":[{"name":")" + name + R"(.example.com","clientConfig":{"url":")" +
               url(name) + R"("},"sideEffects":"None","admissionReviewVersions":["v1"],)" + rules + more + "}]}";
    }
    void configure(const char* path, const std::string& body) {
        const Answer made = post(path, body);
        ASSERT_EQ(made.code, 201) << made.text;
        loop.run_ready();  // what is configured is followed
    }
    void validating(const std::string& rules = Creates, const std::string& more = "", const std::string& name = "hook") {
        configure(Validating, configuration(name, rules, more));
    }
    void mutating(const std::string& more = "", const std::string& name = "hook", const std::string& rules = Creates) {
        configure(Mutating, configuration(name, rules, more));
    }
    /// Answers of v1 with `response` after the uid.
    void answer(const std::string& response, const std::string& name = "hook") {
        server(name).answer = [response](const net::HttpRequest& request) {
            const auto review = schema::parse_json(request.body);
            const std::string uid(review->string_at({"request", "uid"}));
            return net::HttpResponse{.code = 200,
                                     .headers = {},
                                     .body = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":")" + uid +
                                             "\"," + response + "}}"};
        };
    }
    Task<> evict(std::string pod, Answer& answer) {
        client::ApiRequest request{.method = "POST", .path = pod + "/eviction", .body = R"({"apiVersion":"policy/v1","kind":"Eviction"})"};
        CO_TRY(const auto response, co_await transport->call(std::move(request)));
        answer.code = response.code;
        co_return {};
    }
    void answer_body(int code, std::string body) {
        server().answer = [=](const net::HttpRequest&) { return net::HttpResponse{.code = code, .headers = {}, .body = body}; };
    }
    void patch(const std::string& operations, const std::string& name = "hook") {
        answer(R"("allowed":true,"patchType":"JSONPatch","patch":")" + encode_base64(operations) + '"', name);
    }
    Value last_request(const std::string& name = "hook") {
        return schema::at(*schema::parse_json(server(name).requests.back().body), "request");
    }
    std::string metrics() { return get("/metrics").text; }

    FakeServers servers{loop};
    KeptEvents events;
    Auditor auditor{KeptEvents::everything(), {&events}};
};

TEST_F(AdmissionWebhooks, ARefusalIsToldInTheWebhooksWords) {
    validating();
    answer(R"("allowed":false,"status":{"code":403,"reason":"Forbidden","message":"no such maps"})");
    const Answer refused = post(ConfigMaps, config_map("a"));
    EXPECT_EQ(refused.code, 403);
    EXPECT_EQ(refused.at({"message"}), "admission webhook \"hook.example.com\" denied the request: no such maps");
    EXPECT_EQ(get(std::string(ConfigMaps) + "/a").code, 404);
    answer(R"("allowed":false)");
    const Answer silent = post(ConfigMaps, config_map("a"));
    EXPECT_EQ(silent.code, 400);
    EXPECT_EQ(silent.at({"message"}), "admission webhook \"hook.example.com\" denied the request without explanation");
    EXPECT_EQ(silent.body.find("reason"), nullptr);
    answer(R"("allowed":true)");
    EXPECT_EQ(post(ConfigMaps, config_map("a")).code, 201);
}

TEST_F(AdmissionWebhooks, ARefusalKeepsItsCodeAndItsReason) {
    validating();
    struct {
        const char* status;
        int code;
        const char* reason;
    } const rows[] = {
        {R"({"code":403,"reason":"Invalid"})", 403, "Invalid"},
        {R"({"code":418,"message":"teapot"})", 418, ""},
        {R"({"code":409})", 409, ""},
        {R"({"reason":"NotFound"})", 400, "NotFound"},
        {R"({"code":200})", 400, ""},
        {R"({"code":1000})", 400, ""},
        {R"({"code":-7})", 400, ""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.status);
        answer(std::string(R"("allowed":false,"status":)") + row.status);
        const Answer refused = post(ConfigMaps, config_map("a"));
        EXPECT_EQ(refused.code, row.code);
        EXPECT_EQ(schema::at(refused.body, "code").int_or(0), row.code);
        EXPECT_EQ(refused.at({"reason"}), row.reason);
    }
    EXPECT_NE(metrics().find(R"(apiserver_admission_webhook_rejection_count{error_type="no_error",name="hook.example.com",)"
                             R"(operation="CREATE",rejection_code="418",type="validating"} 1)"),
              std::string::npos);
}

TEST_F(AdmissionWebhooks, AReviewTellsWhatIsAsked) {
    validating(R"("rules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}])");
    answer(R"("allowed":true)");
    ASSERT_EQ(post(std::string(ConfigMaps) + "?fieldManager=me&dryRun=All", config_map("a")).code, 201);
    EXPECT_EQ(server().requests.back().query, "timeout=10s");
    Value request = last_request();
    EXPECT_EQ(request.string_at({"operation"}), "CREATE");
    EXPECT_EQ(request.string_at({"name"}), "a");
    EXPECT_EQ(request.string_at({"namespace"}), "default");
    EXPECT_EQ(request.string_at({"kind", "kind"}), "ConfigMap");
    EXPECT_EQ(request.string_at({"requestResource", "resource"}), "configmaps");
    EXPECT_EQ(request.string_at({"userInfo", "username"}), "system:apiserver");
    EXPECT_EQ(request.string_at({"object", "data", "k"}), "v");
    EXPECT_EQ(request.string_at({"object", "kind"}), "ConfigMap");
    EXPECT_TRUE(schema::at(request, "oldObject").is_null());
    EXPECT_TRUE(schema::at(request, "dryRun").bool_or(false));
    EXPECT_EQ(request.string_at({"options", "kind"}), "CreateOptions");
    EXPECT_EQ(request.string_at({"options", "fieldManager"}), "me");

    ASSERT_EQ(post(ConfigMaps, config_map("a")).code, 201);
    ASSERT_EQ(merge(std::string(ConfigMaps) + "/a", R"({"data":{"k":"w"}})").code, 200);
    request = last_request();
    EXPECT_EQ(request.string_at({"operation"}), "UPDATE");
    EXPECT_EQ(request.string_at({"oldObject", "data", "k"}), "v");
    EXPECT_EQ(request.string_at({"options", "kind"}), "UpdateOptions");
    ASSERT_EQ(remove(std::string(ConfigMaps) + "/a", R"({"gracePeriodSeconds":0})").code, 200);
    request = last_request();
    EXPECT_EQ(request.string_at({"operation"}), "DELETE");
    EXPECT_TRUE(schema::at(request, "object").is_null());
    EXPECT_EQ(request.string_at({"oldObject", "data", "k"}), "w");
    EXPECT_EQ(schema::at(schema::at(request, "options"), "gracePeriodSeconds").int_or(-1), 0);
}

TEST_F(AdmissionWebhooks, APatchChangesWhatIsStored) {
    mutating();
    patch(R"([{"op":"add","path":"/data/added","value":"1"},{"op":"add","path":"/unknown","value":1}])");
    const Answer made = post(ConfigMaps, config_map("a"));
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(made.at({"data", "added"}), "1");
    EXPECT_EQ(made.body.find("unknown"), nullptr);
    EXPECT_NE(
        events.events.back().find(
            R"("mutation.webhook.admission.k8s.io/round_0_index_0":"{\"configuration\":\"hook\",\"webhook\":\"hook.example.com\",\"mutated\":true}")"),
        std::string::npos);
}

TEST_F(AdmissionWebhooks, AMutatingWebhookThatChangesNothingIsAuditedToo) {
    const auto audited = [&](const std::string& what) { return events.events.back().find(what) != std::string::npos; };
    const std::string unchanged =
        R"("mutation.webhook.admission.k8s.io/round_0_index_0":"{\"configuration\":\"hook\",\"webhook\":\"hook.example.com\",\"mutated\":false}")";
    mutating(R"(,"failurePolicy":"Ignore","reinvocationPolicy":"IfNeeded")");
    ASSERT_EQ(post(ConfigMaps, config_map("a")).code, 201) << "nothing answers";
    EXPECT_TRUE(audited(unchanged)) << events.events.back();
    EXPECT_TRUE(audited(R"("failed-open.mutation.webhook.admission.k8s.io/round_0_index_0":"hook.example.com")"));
    answer(R"("allowed":false)");
    ASSERT_EQ(post(ConfigMaps, config_map("b")).code, 400);
    EXPECT_TRUE(audited(unchanged)) << events.events.back();
    answer(R"("allowed":true)");
    ASSERT_EQ(post(ConfigMaps, config_map("b")).code, 201);
    EXPECT_TRUE(audited(unchanged)) << events.events.back();
}

TEST_F(AdmissionWebhooks, AuditCountsTheValidatingWebhooksThatAreCalled) {
    validating(R"("rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["secrets"]}])", "", "a");
    validating(Creates, R"(,"failurePolicy":"Ignore")", "b");
    ASSERT_EQ(post(ConfigMaps, config_map("m")).code, 201);
    EXPECT_NE(events.events.back().find(R"("failed-open.validating.webhook.admission.k8s.io/round_0_index_0":"b.example.com")"),
              std::string::npos)
        << events.events.back();
}

TEST_F(AdmissionWebhooks, ANameIsGeneratedOfWhatTheyLeave) {
    mutating();
    patch(R"([{"op":"replace","path":"/metadata/generateName","value":"patched-"}])");
    const Answer made = post(ConfigMaps, R"({"metadata":{"generateName":"made-"}})");
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(made.at({"metadata", "name"}).substr(0, 8), "patched-");
    const Value request = last_request();
    EXPECT_EQ(request.find("name"), nullptr);
    EXPECT_EQ(request.find("object")->at_path({"metadata", "name"}), nullptr);
}

TEST_F(AdmissionWebhooks, AChangedObjectGetsItsDefaultsAndIsValidated) {
    mutating("", "hook", R"("rules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}])");
    patch(R"([{"op":"add","path":"/spec/initContainers","value":[{"name":"init","image":"i"}]}])");
    const Answer made = post(Pods, pod("p"));
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(schema::at(schema::at(made.body, "spec"), "initContainers").as_array()[0].string_at({"imagePullPolicy"}), "Always");
    patch(R"([{"op":"add","path":"/spec/initContainers","value":[{"name":"BAD"}]}])");
    EXPECT_EQ(post(Pods, pod("q")).code, 422);
    patch(R"([{"op":"replace","path":"/metadata/namespace","value":"kube-system"}])");
    const Answer moved = post(Pods, pod("q"));
    EXPECT_EQ(moved.code, 400);
    EXPECT_EQ(moved.at({"message"}), "the namespace of the provided object does not match the namespace sent on the request");
    // What no client may write, no webhook may either.
    patch(R"([{"op":"replace","path":"/metadata/creationTimestamp","value":"2001-01-01T00:00:00Z"},)"
          R"({"op":"add","path":"/status/phase","value":"Succeeded"},{"op":"add","path":"/metadata/labels","value":{"seen":"1"}}])");
    const Answer changed = merge(std::string(Pods) + "/p", R"({"metadata":{"annotations":{"a":"b"}}})");
    ASSERT_EQ(changed.code, 200) << changed.text;
    EXPECT_EQ(changed.at({"metadata", "labels", "seen"}), "1");
    EXPECT_EQ(changed.at({"metadata", "creationTimestamp"}), made.at({"metadata", "creationTimestamp"}));
    EXPECT_EQ(changed.at({"status", "phase"}), "Pending");
}

TEST_F(AdmissionWebhooks, APatchThatDoesNotFitIsAnInternalError) {
    mutating(R"(,"failurePolicy":"Ignore")");
    patch(R"([{"op":"remove","path":"/data/missing"}])");
    EXPECT_EQ(post(ConfigMaps, config_map("a")).code, 500);
    patch(R"([{"op":"replace","path":"/data","value":"text"}])");
    EXPECT_EQ(post(ConfigMaps, config_map("a")).code, 500);
    patch(R"([{"op":"replace","path":"/kind","value":"Secret"}])");
    EXPECT_EQ(post(ConfigMaps, config_map("a")).code, 500);
}

TEST_F(AdmissionWebhooks, ACallThatFailsIsJudgedByTheFailurePolicy) {
    validating();
    Answer refused = post(ConfigMaps, config_map("a"));
    EXPECT_EQ(refused.code, 500);
    EXPECT_EQ(refused.at({"reason"}), "InternalError");
    EXPECT_EQ(refused.at({"message"}),
              "Internal error occurred: failed calling webhook \"hook.example.com\": failed to call webhook: Post "
              "\"https://hook.test/review?timeout=10s\": connection refused");
    answer_body(503, "busy");
    EXPECT_EQ(post(ConfigMaps, config_map("a")).at({"message"}),
              "Internal error occurred: failed calling webhook \"hook.example.com\": failed to call webhook: an error on the server "
              "(\"busy\") has prevented the request from succeeding");
    answer_body(302, "");
    EXPECT_EQ(post(ConfigMaps, config_map("a")).code, 500);
    EXPECT_EQ(server().requests.size(), 3u) << "one request each: neither tried again nor redirected";
    ASSERT_EQ(remove(std::string(Validating) + "/hook").code, 200);
    loop.run_ready();
    validating(Creates, R"(,"failurePolicy":"Ignore")");
    EXPECT_EQ(post(ConfigMaps, config_map("a")).code, 201);
    EXPECT_NE(events.events.back().find(R"("failed-open.validating.webhook.admission.k8s.io/round_0_index_0":"hook.example.com")"),
              std::string::npos);
    const std::string counted = metrics();
    EXPECT_NE(counted.find(R"(apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="hook.example.com",)"
                           R"(operation="CREATE",rejection_code="500",type="validating"} 3)"),
              std::string::npos);
    EXPECT_NE(counted.find(R"(apiserver_admission_webhook_fail_open_count{name="hook.example.com",type="validating"} 1)"),
              std::string::npos);
}

TEST_F(AdmissionWebhooks, ASlowWebhookTakesItsTimeoutAndHarmsItsRequestAlone) {
    validating(Creates, R"(,"timeoutSeconds":2)");
    server().takes = 1h;
    const MonotonicTime begun = loop.now();
    const Answer refused = post(ConfigMaps, config_map("a"));
    EXPECT_EQ(loop.now() - begun, 2s);
    EXPECT_EQ(refused.at({"message"}),
              "Internal error occurred: failed calling webhook \"hook.example.com\": failed to call webhook: Post "
              "\"https://hook.test/review?timeout=2s\": context deadline exceeded");
    EXPECT_EQ(get(ConfigMaps).code, 200);
}

TEST_F(AdmissionWebhooks, AnswersThatAreHostileFailTheCall) {
    validating();
    const auto why = [&](std::string body) {
        answer_body(200, std::move(body));
        return std::string(post(ConfigMaps, config_map("a")).at({"message"}));
    };
    const std::string failed = "Internal error occurred: failed calling webhook \"hook.example.com\": ";
    EXPECT_EQ(why("{}"), failed + "received invalid webhook response: webhook response was absent");
    EXPECT_NE(why("<html>").find("failed to call webhook: the answer is not JSON"), std::string::npos);
    EXPECT_NE(why(R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"1","allowed":true}})")
                  .find("received invalid webhook response: expected response.uid=\""),
              std::string::npos);
    EXPECT_NE(why(std::string(MostReviewAnswerBytes + 1, ' ')).find("the answer is longer"), std::string::npos);
    EXPECT_NE(why(std::string(100'000, '[')).find("not JSON"), std::string::npos);
    EXPECT_EQ(get(std::string(ConfigMaps) + "/a").code, 404);
}

TEST_F(AdmissionWebhooks, APatchThatCannotBeReadFailsTheCall) {
    mutating();
    const std::string failed = "Internal error occurred: failed calling webhook \"hook.example.com\": ";
    const auto why = [&] { return std::string(post(ConfigMaps, config_map("a")).at({"message"})); };
    patch("{");
    EXPECT_EQ(why().find(failed + "received undecodable patch in webhook response: "), 0u) << why();
    patch("{}");
    EXPECT_EQ(why().find(failed + "received undecodable patch in webhook response: "), 0u) << why();
    answer(R"("allowed":true,"patchType":"JSONPatch","patch":"%")");
    EXPECT_EQ(why().find(failed + "failed to call webhook: "), 0u) << why();
    answer(R"("allowed":false,"status":{"message":"no"},"patchType":"JSONPatch","patch":")" + encode_base64("{") + '"');
    EXPECT_EQ(why(), "admission webhook \"hook.example.com\" denied the request: no");
}

TEST_F(AdmissionWebhooks, SelectorsChooseTheRequests) {
    validating(Creates, R"(,"objectSelector":{"matchLabels":{"app":"wanted"}},"namespaceSelector":{"matchLabels":{"team":"a"}})");
    answer(R"("allowed":false)");
    EXPECT_EQ(post(ConfigMaps, config_map("a", "wanted")).code, 201) << "its namespace is not labelled";
    ASSERT_EQ(merge("/api/v1/namespaces/default", R"({"metadata":{"labels":{"team":"a"}}})").code, 200);
    EXPECT_EQ(post(ConfigMaps, config_map("b")).code, 201);
    EXPECT_EQ(post(ConfigMaps, config_map("c", "wanted")).code, 400);
}

TEST_F(AdmissionWebhooks, AnEquivalentVersionIsConverted) {
    validating(R"("rules":[{"operations":["CREATE"],"apiGroups":["autoscaling"],"apiVersions":["v1"],"resources":["*"]}])");
    answer(R"("allowed":true)");
    const std::string body =
        R"({"metadata":{"name":"h"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"d"},)"
        R"("metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]}})";
    ASSERT_EQ(post("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", body).code, 201);
    ASSERT_EQ(server().requests.size(), 1u);
    const Value request = last_request();
    EXPECT_EQ(request.string_at({"kind", "version"}), "v1");
    EXPECT_EQ(request.string_at({"requestKind", "version"}), "v2");
    EXPECT_EQ(request.string_at({"object", "apiVersion"}), "autoscaling/v1");
    EXPECT_EQ(schema::at(schema::at(schema::at(request, "object"), "spec"), "targetCPUUtilizationPercentage").int_or(0), 50);
    ASSERT_EQ(merge(std::string(Validating) + "/hook", R"({"webhooks":null})").code, 200);
    validating(R"("rules":[{"operations":["CREATE"],"apiGroups":["autoscaling"],"apiVersions":["v1"],"resources":["*"]}])",
               R"(,"matchPolicy":"Exact")", "exact");
    ASSERT_EQ(post("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers?dryRun=All", body).code, 409);
    EXPECT_EQ(server("exact").requests.size(), 0u);
}

TEST_F(AdmissionWebhooks, AChangeOfScaleIsReviewedAsSuch) {
    ASSERT_EQ(post("/apis/apps/v1/namespaces/default/deployments",
                   R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},)"
                   R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})")
                  .code,
              201);
    validating(R"("rules":[{"operations":["UPDATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments/scale"]}])");
    answer(R"("allowed":false,"status":{"message":"enough"})");
    const std::string path = "/apis/apps/v1/namespaces/default/deployments/d";
    EXPECT_EQ(merge(path + "/scale", R"({"spec":{"replicas":5}})").code, 400);
    EXPECT_EQ(merge(path, R"({"metadata":{"labels":{"x":"y"}}})").code, 200) << "the rule is about scale alone";
}

TEST_F(AdmissionWebhooks, AnEvictionIsACreation) {
    ASSERT_EQ(post("/api/v1/namespaces/default/pods", R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})").code,
              201);
    validating(R"("rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods/eviction"]}])");
    answer(R"("allowed":false,"status":{"message":"stay"})");
    const std::string eviction = R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}})";
    EXPECT_EQ(post("/api/v1/namespaces/default/pods/p/eviction", eviction).code, 400);
    ASSERT_FALSE(server().requests.empty());
    EXPECT_EQ(last_request().string_at({"operation"}), "CREATE");
}

TEST_F(AdmissionWebhooks, APodThatStartsWhileItsEvictionIsReviewedIsCounted) {
    const std::string pods = "/api/v1/namespaces/default/pods", budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    const std::string pod =
        R"({"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})";
    ASSERT_EQ(post(pods, pod).code, 201);
    ASSERT_EQ(post(budgets, R"({"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}})").code, 201);
    merge(budgets + "/b/status", R"({"status":{"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1}})");
    validating(R"("rules":[{"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}])");
    answer(R"("allowed":true)");
    server().takes = 2s;
    Answer evicted;
    Scope scope(loop);
    scope.spawn(evict(pods + "/p", evicted));
    loop.advance(1s);
    ASSERT_EQ(merge(pods + "/p/status", R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})").code, 200);
    loop.advance(10s);
    EXPECT_EQ(evicted.code, 429);
    EXPECT_EQ(get(pods + "/p").at({"metadata", "deletionTimestamp"}), "");
    sim::run(loop, scope.close()).value();
}

TEST_F(AdmissionWebhooks, ARefusalAsAConflictIsNotTriedAgain) {
    ASSERT_EQ(post(ConfigMaps, config_map("a")).code, 201);
    validating(R"("rules":[{"operations":["UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}])");
    answer(R"("allowed":false,"status":{"code":409,"message":"locked"})");
    const Answer refused = merge(std::string(ConfigMaps) + "/a", R"({"data":{"x":"y"}})");
    EXPECT_EQ(refused.code, 409);
    EXPECT_EQ(refused.at({"message"}), "admission webhook \"hook.example.com\" denied the request: locked");
    EXPECT_EQ(server().requests.size(), 1u);
}

TEST_F(AdmissionWebhooks, AnEarlierWebhookSeesLaterChangesOnceIfItWants) {
    mutating(R"(,"reinvocationPolicy":"IfNeeded")", "a");
    mutating("", "b");
    mutating(R"(,"reinvocationPolicy":"IfNeeded")", "c");
    answer(R"("allowed":true)", "a");
    patch(R"([{"op":"add","path":"/data/b","value":"1"}])", "b");
    answer(R"("allowed":true)", "c");
    ASSERT_EQ(post(ConfigMaps, config_map("m")).code, 201);
    EXPECT_EQ(server("a").requests.size(), 2u);
    EXPECT_EQ(last_request("a").string_at({"object", "data", "b"}), "1");
    EXPECT_EQ(server("b").requests.size(), 1u) << "its policy is Never";
    EXPECT_EQ(server("c").requests.size(), 1u) << "it has seen the change";
}

TEST_F(AdmissionWebhooks, AWebhookWithSideEffectsRefusesADryRun) {
    // Such configurations can no longer be made, but an earlier version of the API could.
    validating();
    answer(R"("allowed":true)");
    EXPECT_EQ(post(std::string(ConfigMaps) + "?dryRun=All", config_map("a")).code, 201);
    std::string stored = *api->store().get("/registry/admissionregistration.k8s.io/validatingwebhookconfigurations/hook")->value.bytes();
    stored.replace(stored.find("\"None\""), 6, "\"Some\"");
    store::Transaction transaction;
    transaction.operations.push_back(
        store::Put{.key = "/registry/admissionregistration.k8s.io/validatingwebhookconfigurations/hook", .value = std::move(stored)});
    ASSERT_TRUE(sim::run(loop, api->store().commit(std::move(transaction))));
    loop.run_ready();
    const Answer refused = post(std::string(ConfigMaps) + "?dryRun=All", config_map("a"));
    EXPECT_EQ(refused.code, 400);
    EXPECT_EQ(refused.at({"message"}), "admission webhook \"hook.example.com\" does not support dry run");
    EXPECT_EQ(post(ConfigMaps, config_map("a")).code, 201);
    EXPECT_EQ(server().requests.size(), 2u);
}

TEST_F(AdmissionWebhooks, TheirOwnConfigurationsAreNeverReviewed) {
    validating(R"("rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"]}])");
    EXPECT_EQ(post(ConfigMaps, config_map("a")).code, 500);
    EXPECT_EQ(remove(std::string(Validating) + "/hook").code, 200);
    loop.run_ready();
    EXPECT_EQ(post(ConfigMaps, config_map("a")).code, 201);
}

TEST_F(AdmissionWebhooks, WarningsAndAuditAnnotationsArePassedOn) {
    validating();
    answer(R"("allowed":true,"warnings":["old \"map\""],"auditAnnotations":{"rule":"7","not valid":"x"})");
    EXPECT_EQ(warnings_of("POST", ConfigMaps, config_map("a")), "299 - \"old \\\"map\\\"\"\n");
    EXPECT_NE(events.events.back().find(R"("hook.example.com/rule":"7")"), std::string::npos);
    EXPECT_EQ(events.events.back().find("not valid"), std::string::npos);
    answer(R"("allowed":true,"warnings":[")" + std::string(5000, 'x') + R"(",")" + std::string(5000, 'y') + R"("])");
    EXPECT_EQ(warnings_of("POST", ConfigMaps, config_map("b")),
              "299 - \"" + std::string(256, 'x') + "\"\n299 - \"" + std::string(256, 'y') + "\"\n");
}

TEST_F(AdmissionWebhooks, ValidatingWebhooksAreCalledAtTheSameTime) {
    for (const char* name : {"a", "b", "c"}) {
        validating(Creates, "", name);
        answer(R"("allowed":true)", name);
        server(name).takes = 3s;
    }
    const MonotonicTime begun = loop.now();
    EXPECT_EQ(post(ConfigMaps, config_map("m")).code, 201);
    EXPECT_EQ(loop.now() - begun, 3s);
}

TEST_F(AdmissionWebhooks, EmptyPartsOfAUrlsPathAreLeftOut) {
    std::string body = configuration("hook");
    body.replace(body.find("/review"), std::string("/review").size(), "//review/");
    configure(Validating, body);
    (void)post(ConfigMaps, config_map("a"));
    EXPECT_EQ(server().requests.size(), 1u) << "of what is at https://hook.test/review";
}

TEST_F(AdmissionWebhooks, AServiceIsReachedAtAnEndpointByItsName) {
    ASSERT_EQ(post("/api/v1/namespaces/default/services",
                   R"({"metadata":{"name":"hooks"},"spec":{"ports":[{"name":"web","port":443,"targetPort":8443}]}})")
                  .code,
              201);
    std::string body = configuration("hook");
    body.replace(body.find(R"("url":)"), std::string(R"("url":"https://hook.test/review")").size(),
                 R"("service":{"name":"hooks","namespace":"default","path":"/check"})");
    configure(Validating, body);
    const std::string failed =
        "Internal error occurred: failed calling webhook \"hook.example.com\": failed to call webhook: Post "
        "\"https://hooks.default.svc:443/check?timeout=10s\": ";
    EXPECT_EQ(post(ConfigMaps, config_map("a")).at({"message"}), failed + "no endpoints available for service \"hooks\"");
    const auto slice = [](const char* address) {
        return std::string(R"({"metadata":{"name":"s","labels":{"kubernetes.io/service-name":"hooks"}},"addressType":"IPv4",)"
                           R"("ports":[{"name":"web","port":8443}],"endpoints":[{"addresses":[")") +
               address + R"("]}]})";
    };
    const std::string slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    ASSERT_EQ(post(slices, slice("10.1.2.3")).code, 201);
    FakeServers::Server& endpoint = servers.at("https://10.1.2.3:8443/check");
    endpoint.answer = [](const net::HttpRequest&) { return net::HttpResponse{.code = 200, .headers = {}, .body = "{}"}; };
    EXPECT_NE(post(ConfigMaps, config_map("a")).at({"message"}).find("webhook response was absent"), std::string::npos);
    EXPECT_EQ(endpoint.config.server_name, "hooks.default.svc");
    EXPECT_EQ(endpoint.requests.at(0).headers.get("host"), "hooks.default.svc:443");
    EXPECT_EQ(remove(slices + "/s").code, 200);
}

/// The member matchConditions of a webhook, with conditions "c0", "c1" and so on.
std::string conditions(const std::vector<std::string>& expressions) {
    Value list = Value::array();
    for (const std::string& one : expressions)
        list.as_array().push_back(Value::object({{"name", "c" + std::to_string(list.as_array().size())}, {"expression", one}}));
    return ",\"matchConditions\":" + schema::to_json(list);
}

// Upstream's conformance: "should mutate everything except 'skip-me' configmaps".
TEST_F(AdmissionWebhooks, RequestsThatDoNotMeetTheMatchConditionsPassWithoutACall) {
    mutating(conditions({"object.metadata.name != 'skip-me'"}));
    patch(R"([{"op":"add","path":"/data/added","value":"1"}])");
    EXPECT_EQ(post(ConfigMaps, config_map("skip-me")).body.at_path({"data", "added"}), nullptr);
    EXPECT_EQ(server().requests.size(), 0u);
    EXPECT_EQ(post(ConfigMaps, config_map("a")).at({"data", "added"}), "1");
    EXPECT_NE(metrics().find("apiserver_admission_match_condition_exclusions_total{kind=\"webhook\",name=\"hook.example.com\","
                             "operation=\"CREATE\",type=\"admit\"} 1"),
              std::string::npos);
}

TEST_F(AdmissionWebhooks, MatchConditionsSeeTheRequestAndAskTheAuthorizer) {
    struct {
        const char *name, *condition;
        bool called;
    } const rows[] = {
        {"operation", "request.operation == 'CREATE' && request.dryRun", true},
        {"user", "!('system:masters' in request.userInfo.groups)", false},
        {"no old object", "oldObject == null", true},
        {"namespace is not given", "namespaceObject == null", true},
        {"allowed", "authorizer.requestResource.check('create').allowed()", true},
        {"another's rights", "authorizer.serviceAccount('default', 'default').group('').resource('secrets').check('get').allowed()", false},
        {"several questions", "authorizer.path('/a').check('get').allowed() && authorizer.path('/b').check('get').allowed()", true},
        {"reason", "authorizer.serviceAccount('default', 'x').path('/a').check('get').reason() == ''", true},
    };
    answer(R"("allowed":true)");
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        validating(Creates, conditions({row.condition}));
        const std::size_t before = server().requests.size();
        EXPECT_EQ(post(std::string(ConfigMaps) + "?dryRun=All", config_map("a")).code, 201);
        EXPECT_EQ(server().requests.size() - before, row.called ? 1u : 0u);
        EXPECT_EQ(remove(std::string(Validating) + "/hook").code, 200);
        loop.run_ready();
    }
}

TEST_F(AdmissionWebhooks, AConditionThatFailsCountsByTheFailurePolicyUnlessAnotherIsFalse) {
    answer(R"("allowed":true)");
    validating(Creates, conditions({"object.nope == 1", "true", "object.data.nope == 1"}));
    const Answer refused = post(ConfigMaps, config_map("a"));
    EXPECT_EQ(refused.code, 403);
    EXPECT_EQ(refused.at({"message"}),
              "configmaps \"a\" is forbidden: [expression 'object.nope == 1' resulted in error: no such key: nope, expression "
              "'object.data.nope == 1' resulted in error: no such key: nope]");
    EXPECT_EQ(remove(std::string(Validating) + "/hook").code, 200);
    validating(Creates, conditions({"object.nope == 1", "false"}));
    EXPECT_EQ(post(ConfigMaps, config_map("a")).code, 201);
    EXPECT_EQ(remove(std::string(Validating) + "/hook").code, 200);
    validating(Creates, R"(,"failurePolicy":"Ignore")" + conditions({"object.nope == 1"}));
    EXPECT_EQ(post(ConfigMaps, config_map("b")).code, 201);
    EXPECT_EQ(server().requests.size(), 0u);
    EXPECT_NE(metrics().find("apiserver_admission_match_condition_evaluation_errors_total{kind=\"webhook\",name=\"hook.example.com\","
                             "operation=\"CREATE\",type=\"validating\"} 4"),
              std::string::npos);
}

TEST_F(AdmissionWebhooks, CostlyMatchConditionsEndWithTheirBudget) {
    std::string list = "[0";
    for (int i = 1; i < 200; ++i) list += "," + std::to_string(i);
    list += "]";
    // About 200 * 200 * 8 units each: too much for the loop, and for all of them together.
    const std::string costly = list + ".all(a, " + list + ".all(b, a + b >= 0))";
    answer(R"("allowed":true)");
    validating(Creates, conditions({costly}));
    EXPECT_EQ(post(ConfigMaps, config_map("a")).code, 201);
    EXPECT_EQ(server().requests.size(), 1u);
    EXPECT_EQ(remove(std::string(Validating) + "/hook").code, 200);
    validating(Creates, conditions(std::vector<std::string>(20, costly)));
    EXPECT_EQ(
        post(ConfigMaps, config_map("b")).at({"message"}),
        "configmaps \"b\" is forbidden: validation failed due to running out of cost budget, no further validation rules will be run");
}

// Upstream's conformance: "should reject validating/mutating webhook configurations with invalid match conditions".
TEST_F(AdmissionWebhooks, MatchConditionsThatDoNotCompileAreRefused) {
    for (const char* path : {Validating, Mutating}) {
        const Answer refused = post(path, configuration("hook", Creates, conditions({"... [] bad expression"})));
        EXPECT_EQ(refused.code, 422);
        EXPECT_NE(refused.at({"message"})
                      .find("webhooks[0].matchConditions[0].expression: Invalid value: \"... [] bad expression\": "
                            "compilation failed: ERROR: <input>:1:"),
                  std::string::npos)
            << refused.text;
    }
    EXPECT_NE(
        post(Validating, configuration("hook", Creates, conditions({"'a'"}))).at({"message"}).find("must evaluate to bool but got string"),
        std::string::npos);
    EXPECT_NE(
        post(Validating, configuration("hook", Creates, conditions({"params.x"}))).at({"message"}).find("undeclared reference to 'params'"),
        std::string::npos);
    EXPECT_NE(post(Validating, configuration("hook", Creates, conditions(std::vector<std::string>(65, "true"))))
                  .at({"message"})
                  .find("webhooks[0].matchConditions: Too many: 65: must have at most 64 items"),
              std::string::npos);
    EXPECT_EQ(warnings_of("POST", Validating, configuration("hook", Creates, conditions({"true"}))), "");
}

TEST_F(AdmissionWebhooks, CannotKeepADefinitionWhoseInstancesTheyRefuseToDelete) {
    // An operator that is uninstalled leaves a webhook without a server.
    constexpr const char* Definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gears.example.com";
    constexpr const char* Gears = "/apis/example.com/v1/gears";
    const Answer made =
        post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
             R"({"metadata":{"name":"gears.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"gears",)"
             R"("kind":"Gear"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_TRUE(sim::run(loop, loop.sleep(10ms)));
    ASSERT_EQ(post(Gears, R"({"apiVersion":"example.com/v1","kind":"Gear","metadata":{"name":"a"}})").code, 201);
    validating(R"("rules":[{"operations":["DELETE"],"apiGroups":["example.com"],"apiVersions":["v1"],"resources":["gears"]}])",
               R"(,"failurePolicy":"Fail")", "gone");
    EXPECT_EQ(remove(std::string(Gears) + "/a").code, 500);
    ASSERT_EQ(remove(Definition).code, 200);
    EXPECT_TRUE(sim::run(loop, loop.sleep(2s)));
    EXPECT_EQ(get(Definition).code, 404);
    EXPECT_EQ(get(Gears).code, 404);
}

}  // namespace
}  // namespace porthole::apiserver
