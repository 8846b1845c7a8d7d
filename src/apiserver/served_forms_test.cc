// Kinds that are served in several forms, or written in parts.
#include "apiserver/api_server_fixture.h"
#include "base/base64.h"
#include "net/tls/x509.h"

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

constexpr const char *OldDeployments = "/apis/extensions/v1beta1/namespaces/default/deployments",
                     *AppsDeployments = "/apis/apps/v1/namespaces/default/deployments";
constexpr const char* OldDeployment =
    R"({"apiVersion":"extensions/v1beta1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":2,
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}}})";

// API-05, API-06
TEST_F(ServedForms, API06_AVersionThatKubernetesHasRemovedIsNotFoundUnlessAskedFor) {
    const Answer refused = post(OldDeployments, OldDeployment);
    EXPECT_EQ(refused.code, 404);
    EXPECT_EQ(refused.at({"message"}), "the server could not find the requested resource");
    EXPECT_EQ(get("/apis/extensions/v1beta1").code, 404);
    EXPECT_FALSE(get("/apis").text.contains("\"extensions\""));
    EXPECT_FALSE(get("/openapi/v3").text.contains("apis/extensions"));
    EXPECT_EQ(get("/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.extensions").code, 404);
}

TEST_F(ServedForms, CertificatesOfPodsAndTrustBundlesAreNotFoundUnlessAskedFor) {
    EXPECT_EQ(get("/apis/certificates.k8s.io/v1beta1/clustertrustbundles").code, 404);
    EXPECT_EQ(get("/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests").code, 404);
}

/// A server that serves one of the two.
class TrustBundleForms : public ApiServerFixture {
protected:
    ApiServerOptions options() override {
        ApiServerOptions options = example_options();
        options.served_versions = {"certificates.k8s.io/v1beta1/clustertrustbundles"};
        return options;
    }
};

TEST_F(TrustBundleForms, AreServedByVersionOrByResource) {
    constexpr const char* Bundles = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles";
    const auto now = loop.wall_now();
    schema::Value bundle = *schema::parse_json(R"({"metadata":{"name":"example.com:s:a"},"spec":{"signerName":"example.com/s"}})");
    bundle["spec"]["trustBundle"] = net::CertificateAuthority::create("ca", now, now + std::chrono::hours(1)).certificate_pem();
    const Answer made = post(Bundles, schema::to_json(bundle));
    EXPECT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(warnings_of("GET", Bundles), "") << "deprecated in 1.37 only";
    EXPECT_EQ(get(std::string(Bundles) + "?fieldSelector=spec.signerName%3Dexample.com/s").body.find("items")->as_array().size(), 1u);
    EXPECT_EQ(get(std::string(Bundles) + "?fieldSelector=spec.signerName%3Dexample.com/t").body.find("items")->as_array().size(), 0u);
    EXPECT_EQ(get("/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests").code, 404);
    EXPECT_EQ(remove(std::string(Bundles) + "/example.com:s:a").code, 200);
}

/// A server that serves extensions/v1beta1.
class OldForms : public ApiServerFixture {
protected:
    ApiServerOptions options() override {
        ApiServerOptions options = example_options();
        if (asked_for) options.served_versions = {"extensions/v1beta1"};
        return options;
    }
    bool asked_for = true;
};

// API-06
TEST_F(OldForms, API06_ADeploymentOfTheOldVersionIsStoredAsOneOfAppsWithItsSelector) {
    const Answer made = post(OldDeployments, OldDeployment);
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(made.at({"apiVersion"}), "extensions/v1beta1");
    const Answer now = get(std::string(AppsDeployments) + "/d");
    ASSERT_EQ(now.code, 200) << now.text;
    EXPECT_EQ(now.at({"apiVersion"}), "apps/v1");
    EXPECT_EQ(schema::to_json(*now.body.at_path({"spec", "selector"})), R"({"matchLabels":{"a":"b"}})");
    const Answer scaled = merge(std::string(OldDeployments) + "/d", R"({"spec":{"replicas":3}})");
    EXPECT_EQ(scaled.body.at_path({"spec", "replicas"})->as_int(), 3) << scaled.text;
    EXPECT_EQ(get(std::string(AppsDeployments) + "/d").body.at_path({"spec", "replicas"})->as_int(), 3);
    EXPECT_EQ(get(OldDeployments).body.find("items")->as_array().size(), 1u);
    EXPECT_EQ(remove(std::string(OldDeployments) + "/d").code, 200);
    EXPECT_EQ(get(std::string(AppsDeployments) + "/d").code, 404);
}

// API-06
TEST_F(OldForms, API06_WhatIsLeftOutHasTheDefaultsOfTheOldVersion) {
    ASSERT_EQ(post(OldDeployments, OldDeployment).code, 201);
    const Answer now = get(std::string(AppsDeployments) + "/d");
    EXPECT_EQ(schema::to_json(*now.body.at_path({"spec", "strategy"})),
              R"({"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1,"maxSurge":1}})");
    EXPECT_EQ(now.body.at_path({"spec", "progressDeadlineSeconds"})->as_int(), INT32_MAX);
    EXPECT_EQ(now.body.at_path({"spec", "revisionHistoryLimit"})->as_int(), INT32_MAX);
    const Answer changed = merge(std::string(OldDeployments) + "/d", R"({"spec":{"strategy":{"rollingUpdate":{"maxSurge":"50%"}}}})");
    EXPECT_EQ(schema::to_json(*changed.body.at_path({"spec", "strategy", "rollingUpdate"})), R"({"maxUnavailable":1,"maxSurge":"50%"})");

    const std::string set = R"({"metadata":{"name":"s"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},
        "spec":{"containers":[{"name":"c","image":"i:1"}]}}}})";
    ASSERT_EQ(post("/apis/extensions/v1beta1/namespaces/default/daemonsets", set).code, 201);
    EXPECT_EQ(get("/apis/apps/v1/namespaces/default/daemonsets/s").at({"spec", "updateStrategy", "type"}), "OnDelete");
}

// API-06
TEST_F(OldForms, API06_AnObjectOfAnotherShapeIsRefusedAsInApps) {
    ASSERT_EQ(post(OldDeployments, OldDeployment).code, 201);
    for (const char* part : {R"({"spec":[]})", R"({"spec":{"strategy":"x"}})", R"({"spec":{"strategy":{"rollingUpdate":1}}})"}) {
        EXPECT_EQ(post(OldDeployments, std::string(R"({"metadata":{"name":"e"},)") + (part + 1)).code, 400) << part;
        EXPECT_GE(merge(std::string(OldDeployments) + "/d", part).code, 400) << part;
        EXPECT_LT(merge(std::string(OldDeployments) + "/d", part).code, 500) << part;
    }
    for (const char* nothing : {R"({"spec":null})", R"({"spec":{"strategy":null}})", R"({"spec":{"strategy":{"rollingUpdate":null}}})"})
        EXPECT_LT(merge(std::string(OldDeployments) + "/d", nothing).code, 500) << nothing;
}

// API-06
TEST_F(OldForms, API06_WhatClientsReadOfTheSchemaAsksForNoSelectorAndNoShortNameMeansTheOldVersion) {
    const schema::Value v3 = *schema::parse_json(get("/openapi/v3/apis/extensions/v1beta1").text);
    for (const char* kind : {"DaemonSet", "Deployment", "ReplicaSet"}) {
        const schema::Value* spec = v3.at_path({"components", "schemas", std::string("io.k8s.api.extensions.v1beta1.") + kind + "Spec"});
        ASSERT_TRUE(spec) << kind;
        EXPECT_TRUE(spec->at_path({"properties", "selector"}));
        EXPECT_FALSE(schema::to_json(schema::at(*spec, "required")).contains("selector"));
    }
    const Answer resources = get("/apis/extensions/v1beta1");
    EXPECT_TRUE(resources.text.contains("deployments"));
    EXPECT_FALSE(resources.text.contains("shortNames"));
    EXPECT_FALSE(resources.text.contains("categories"));
}

// API-06
TEST_F(OldForms, API06_WhatWasMadeByTheOldVersionOutlivesTheSwitch) {
    ASSERT_EQ(post(std::string(OldDeployments) + "?fieldManager=old", OldDeployment).code, 201);
    TearDown();
    asked_for = false;
    SetUpAgain();
    const std::string one = std::string(AppsDeployments) + "/d";
    EXPECT_EQ(get(std::string(OldDeployments) + "/d").code, 404);
    EXPECT_EQ(merge(one, R"({"spec":{"replicas":4}})").code, 200);
    const Answer applied = call("PATCH", one + "?fieldManager=new&force=true",
                                R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":5}})",
                                "application/apply-patch+yaml");
    EXPECT_EQ(applied.code, 200) << applied.text;
    EXPECT_EQ(get(one).body.at_path({"spec", "replicas"})->as_int(), 5);
    EXPECT_EQ(get("/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.extensions").code, 404);
    EXPECT_EQ(remove(one).code, 200);
}

// API-06, API-07
TEST_F(OldForms, API06_ASelectorThatIsWrittenIsKeptAndIsCheckedAsInApps) {
    const Answer made = post(OldDeployments, R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"other"}},
        "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}}})");
    EXPECT_EQ(made.code, 422);
    EXPECT_TRUE(made.text.contains("`selector` does not match template `labels`")) << made.text;
    EXPECT_EQ(post(AppsDeployments, R"({"metadata":{"name":"d"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},
        "spec":{"containers":[{"name":"c","image":"i:1"}]}}}})")
                  .code,
              422)
        << "apps/v1 stays as it is";
}

// API-06
TEST_F(OldForms, API06_EveryAnswerAboutTheOldVersionWarns) {
    for (const auto& [plural, kind] :
         {std::pair("deployments", "Deployment"), {"daemonsets", "DaemonSet"}, {"replicasets", "ReplicaSet"}}) {
        const std::string told = warnings_of("GET", std::string("/apis/extensions/v1beta1/namespaces/default/") + plural);
        EXPECT_TRUE(told.contains(std::string("extensions/v1beta1 ") + kind +
                                  " is deprecated in v1.8+, unavailable in v1.16+; use apps/v1 " + kind))
            << told;
        EXPECT_EQ(warnings_of("GET", std::string("/apis/apps/v1/namespaces/default/") + plural), "");
    }
    EXPECT_TRUE(get("/apis").text.contains("\"extensions/v1beta1\""));
    EXPECT_TRUE(get("/openapi/v3").text.contains("apis/extensions/v1beta1"));
}

}  // namespace
}  // namespace porthole::apiserver
