// Kinds that are served in several forms, or written in parts.
#include "apiserver/api_server_fixture.h"
#include "base/base64.h"

namespace porthole::apiserver {
namespace {

class ServedForms : public ApiServerFixture {};

TEST_F(ServedForms, AnEventIsTheSameInBothGroups) {
    const Answer made =
        post("/apis/events.k8s.io/v1/namespaces/default/events",
             R"({"metadata":{"name":"e"},"eventTime":"2024-01-01T00:00:00.000000Z","type":"Normal","reason":"Tested","action":"Test",
                                 "note":"hello","reportingController":"example.com/c","reportingInstance":"i",
                                 "regarding":{"kind":"Pod","namespace":"default","name":"p"}})");
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(made.at({"note"}), "hello");
    const Answer old = get("/api/v1/namespaces/default/events/e");
    EXPECT_EQ(old.at({"message"}), "hello");
    EXPECT_EQ(old.at({"involvedObject", "name"}), "p");
    EXPECT_EQ(old.at({"reportingComponent"}), "example.com/c");
    const Answer chosen = get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dp");
    EXPECT_EQ(chosen.body.find("items")->as_array().size(), 1u);
    EXPECT_EQ(get("/apis/events.k8s.io/v1/namespaces/default/events").body.find("items")->as_array().at(0).string_at({"regarding", "name"}),
              "p");
}

TEST_F(ServedForms, EventsAreSelectedByTheNamesOfTheVersion) {
    post("/apis/events.k8s.io/v1/namespaces/default/events",
         R"({"metadata":{"name":"e"},"eventTime":"2024-01-01T00:00:00.000000Z","type":"Normal","reason":"Tested","action":"Test",
             "reportingController":"example.com/c","reportingInstance":"i","regarding":{"kind":"Pod","namespace":"default","name":"p"}})");
    const auto count = [&](const char* group, const char* selector) {
        const Answer found = get(std::string(group) + "/namespaces/default/events?fieldSelector=" + selector);
        return found.code == 200 ? static_cast<int>(found.body.find("items")->as_array().size()) : -found.code;
    };
    constexpr const char *Core = "/api/v1", *Events = "/apis/events.k8s.io/v1";
    EXPECT_EQ(count(Core, "source%3Dexample.com/c"), 1) << "a source without a component is its controller";
    EXPECT_EQ(count(Core, "reportingComponent%3Dexample.com/c"), 1);
    EXPECT_EQ(count(Core, "reportingController%3Dexample.com/c"), -400);
    EXPECT_EQ(count(Events, "reportingController%3Dexample.com/c"), 1);
    EXPECT_EQ(count(Events, "regarding.name%3Dp,metadata.name%3De"), 1);
    EXPECT_EQ(count(Events, "regarding.name%3Dother"), 0);
    EXPECT_EQ(count(Events, "involvedObject.name%3Dp"), -400);
}

TEST_F(ServedForms, TheRangeOfServicesIsAnObject) {
    const Answer range = get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes");
    ASSERT_EQ(range.code, 200) << range.text;
    EXPECT_EQ(range.body.at_path({"spec", "cidrs"})->as_array().at(0).as_string(), "10.96.0.0/16");
    EXPECT_EQ(range.body.at_path({"status", "conditions"})->as_array().at(0).string_at({"status"}), "True");
}

TEST_F(ServedForms, AReviewHasNoOtherFormThanItsOwn) {
    for (const char* accept :
         {"application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}) {
        const Answer refused = call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                    R"({"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}})", "application/json", accept);
        EXPECT_EQ(refused.code, 406) << refused.text;
    }
}

TEST_F(ServedForms, AnAutoscalerOfTheFirstVersionHasItsCpuTarget) {
    const Answer made = post("/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
                             R"({"metadata":{"name":"h"},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"},
                                 "maxReplicas":3,"targetCPUUtilizationPercentage":70}})");
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(made.body.at_path({"spec", "targetCPUUtilizationPercentage"})->as_int(), 70);
    const Answer newer = get("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/h");
    EXPECT_EQ(newer.body.at_path({"spec", "metrics"})->as_array().at(0).at_path({"resource", "target", "averageUtilization"})->as_int(),
              70);
    const Answer plain = post("/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
                              R"({"metadata":{"name":"p"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"maxReplicas":3}})");
    EXPECT_EQ(plain.body.at_path({"spec", "targetCPUUtilizationPercentage"})->as_int(), 80) << plain.text;
}

TEST_F(ServedForms, ACertificateRequestIsApprovedThroughItsOwnDoor) {
    constexpr const char* Requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    const std::string pem = net::create_certificate_request(net::PrivateKey::generate(), {.common_name = "jane"});
    Answer made = post(Requests, R"({"metadata":{"name":"r"},"spec":{"signerName":"example.com/s","usages":["client auth"],"request":")" +
                                     encode_base64(pem) + "\"}}");
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(made.at({"spec", "username"}), "system:apiserver");

    schema::Value approved = made.body;
    approved["status"]["conditions"] =
        schema::Value::array({schema::Value::object({{"type", "Approved"}, {"status", "True"}, {"reason", "Test"}})});
    const std::string one = std::string(Requests) + "/r";
    EXPECT_FALSE(put(one, schema::to_json(approved)).body.at_path({"status", "conditions"})) << "not through the object";
    const Answer after = put(one + "/approval", [&] {
        schema::Value body = approved;
        body["metadata"].erase("resourceVersion");
        return schema::to_json(body);
    }());
    ASSERT_EQ(after.code, 200) << after.text;
    EXPECT_EQ(after.body.at_path({"status", "conditions"})->as_array().at(0).string_at({"type"}), "Approved");

    const Answer signed_ = merge(one + "/status", R"({"status":{"conditions":null,"certificate":"eA=="}})");
    EXPECT_EQ(signed_.code, 422) << "no certificate";
    EXPECT_EQ(get(one).body.at_path({"status", "conditions"})->as_array().size(), 1u);
}

TEST_F(ServedForms, ADaemonSetCountsItsTemplates) {
    constexpr const char* Sets = "/apis/apps/v1/namespaces/default/daemonsets";
    const Answer made = post(Sets, R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
        "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}}})");
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(made.body.at_path({"metadata", "generation"})->as_int(), 1);
    const Answer changed = merge(std::string(Sets) + "/d", R"({"spec":{"template":{"metadata":{"annotations":{"x":"y"}}}}})");
    EXPECT_EQ(changed.at({"metadata", "annotations", "deprecated.daemonset.template.generation"}), "2");
    EXPECT_EQ(changed.body.at_path({"metadata", "generation"})->as_int(), 2);
}

}  // namespace
}  // namespace porthole::apiserver
