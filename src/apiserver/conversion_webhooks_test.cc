// Custom resources whose versions a webhook converts, as clients meet them: the whole API server, and a webhook that the test plays.
#include <gmock/gmock.h>

#include "apiserver/api_server_fixture.h"
#include "apiserver/outgoing/outgoing_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using schema::Value;
using testing::HasSubstr;

constexpr const char* DefinitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* OfRoutes = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/routes.example.com";
constexpr const char* V1 = "/apis/example.com/v1/namespaces/default/routes";
constexpr const char* V2 = "/apis/example.com/v2/namespaces/default/routes";
constexpr const char* Hook = "https://convert.test/routes";

/// Routes have "hostPort" in v1, and "host" and "port" in v2.
class ConversionWebhooks : public ApiServerFixture {
protected:
    OutgoingClients* outgoing() override { return &servers; }
    void SetUp() override {
        ApiServerFixture::SetUp();
        hook.answer = [this](const net::HttpRequest& request) { return answer_to(request); };
    }

    static std::string version(const std::string& name, bool storage, const std::string& properties, const std::string& more = "") {
        return R"({"name":")" + name + R"(","served":true,"storage":)" + (storage ? "true" : "false") +
               R"(,"schema":{"openAPIV3Schema":{"type":"object","properties":{)" + properties +
               R"(,"spec":{"type":"object","properties":{"replicas":{"type":"integer"}}},"status":{"type":"object","properties":{"ready":{"type":"boolean"}}}}}})"
               R"(,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}})" +
               more + "}";
    }
    static std::string versions(const std::string& stored) {
        return version("v1", stored == "v1", R"("hostPort":{"type":"string"})") + "," +
               version("v2", stored == "v2",
                       R"("host":{"type":"string"},"port":{"type":"string"},"scheme":{"type":"string","default":"tcp"})",
                       R"(,"selectableFields":[{"jsonPath":".host"}],)"
                       R"("additionalPrinterColumns":[{"name":"Host","type":"string","jsonPath":".host"}])");
    }
    static std::string conversion(const std::string& client = std::string(R"({"url":")") + Hook + R"("})",
                                  const std::string& reviews = R"(["v1","v1beta1"])") {
        return R"({"strategy":"Webhook","webhook":{"clientConfig":)" + client + R"(,"conversionReviewVersions":)" + reviews + "}}";
    }
    void define(const std::string& stored = "v1", const std::string& with = conversion()) {
        const Answer made =
            post(DefinitionsPath, R"({"metadata":{"name":"routes.example.com"},"spec":{"group":"example.com","scope":"Namespaced",)"
                                  R"("names":{"plural":"routes","kind":"Route"},"conversion":)" +
                                      with + R"(,"versions":[)" + versions(stored) + "]}}");
        ASSERT_EQ(made.code, 201) << made.text;
        settle();
    }
    void store_in(const std::string& stored) {
        const Answer changed = merge(OfRoutes, R"({"spec":{"versions":[)" + versions(stored) + "]}}");
        ASSERT_EQ(changed.code, 200) << changed.text;
        settle();
    }
    void settle() { EXPECT_TRUE(sim::run(loop, loop.sleep(10ms))); }
    static std::string v1(const std::string& name, const std::string& host_port = "a:1", const std::string& metadata = "") {
        return R"({"apiVersion":"example.com/v1","kind":"Route","metadata":{"name":")" + name + '"' + metadata + R"(},"hostPort":")" +
               host_port + R"("})";
    }
    static std::string v2(const std::string& name, const std::string& host = "a", const std::string& port = "1") {
        return R"({"apiVersion":"example.com/v2","kind":"Route","metadata":{"name":")" + name + R"("},"host":")" + host + R"(","port":")" +
               port + R"("})";
    }
    static std::string at(const char* collection, const std::string& name) { return std::string(collection) + "/" + name; }

    /// What a good webhook makes of an object.
    static Value convert(Value object, const std::string& to) {
        object["apiVersion"] = to;
        if (to == "example.com/v2" && object.find("hostPort")) {
            const std::string text(object.string_at({"hostPort"}));
            object["host"] = text.substr(0, text.find(':'));
            object["port"] = text.substr(text.find(':') + 1);
            object.erase("hostPort");
        } else if (to == "example.com/v1" && object.find("host")) {
            object["hostPort"] = std::string(object.string_at({"host"})) + ":" + std::string(object.string_at({"port"}));
            object.erase("host");
            object.erase("port");
            object.erase("scheme");
        }
        return object;
    }
    net::HttpResponse answer_to(const net::HttpRequest& request) {
        Value review = *schema::parse_json(request.body);
        const Value question = *review.find("request");
        const auto& objects = question.find("objects")->as_array();
        asked.push_back(objects.size());
        const std::string to(question.string_at({"desiredAPIVersion"}));
        Value converted = Value::array();
        for (const Value& object : objects) {
            EXPECT_NE(object.string_at({"apiVersion"}), to) << "nothing is asked about that is in the version";
            Value one = convert(object, to);
            if (spoil) spoil(one);
            converted.as_array().push_back(std::move(one));
        }
        review.erase("request");
        review["response"] = Value::object({{"uid", question.string_at({"uid"})},
                                            {"convertedObjects", std::move(converted)},
                                            {"result", Value::object({{"status", "Success"}})}});
        if (spoil_response) spoil_response(review);
        return {.code = 200, .headers = {}, .body = schema::to_json(review)};
    }
    std::size_t asked_since(std::size_t before) const { return asked.size() - before; }
    std::string why(const Answer& answer) { return std::to_string(answer.code) + " " + std::string(answer.at({"message"})); }

    FakeServers servers{loop};
    FakeServers::Server& hook = servers.at(Hook);
    std::vector<std::size_t> asked;  ///< how many objects at a time
    std::function<void(Value&)> spoil, spoil_response;
};

TEST_F(ConversionWebhooks, AnObjectIsReadInAVersionThatItWasNotWrittenIn) {
    define();
    ASSERT_EQ(post(V1, v1("a", "localhost:8080")).code, 201);
    EXPECT_TRUE(asked.empty()) << "what is stored as it is read and written needs no webhook";
    EXPECT_EQ(get(at(V1, "a")).at({"hostPort"}), "localhost:8080");
    EXPECT_TRUE(asked.empty());
    const Answer read = get(at(V2, "a"));
    ASSERT_EQ(read.code, 200) << read.text;
    EXPECT_EQ(read.at({"apiVersion"}), "example.com/v2");
    EXPECT_EQ(read.at({"host"}), "localhost");
    EXPECT_EQ(read.at({"port"}), "8080");
    EXPECT_EQ(read.at({"scheme"}), "tcp") << "the version's defaults";
    EXPECT_EQ(read.body.find("hostPort"), nullptr);
    EXPECT_EQ(get(at(V2, "a")).text, read.text);
    EXPECT_EQ(asked, std::vector<std::size_t>{1}) << "what was converted is remembered";
    EXPECT_EQ(hook.requests.back().query, "timeout=30s");
    const Value review = *schema::parse_json(hook.requests.back().body);
    EXPECT_EQ(review.string_at({"apiVersion"}), "apiextensions.k8s.io/v1");
    EXPECT_EQ(review.string_at({"request", "desiredAPIVersion"}), "example.com/v2");
    EXPECT_EQ(review.at_path({"request", "objects"})->as_array().at(0).string_at({"metadata", "name"}), "a");
}

// For policies, a conversion that fails is a policy that is not configured rightly: the failure policy decides.
TEST_F(ConversionWebhooks, AConversionThatFailsIsJudgedByThePoliciesFailurePolicy) {
    define();
    hook.answer = {};
    const std::string group = "/apis/admissionregistration.k8s.io/v1/";
    const std::string rules =
        R"("matchConstraints":{"resourceRules":[{"operations":["*"],"apiGroups":["example.com"],"apiVersions":["v2"],"resources":["routes"]}]})";
    const auto bound = [&](const std::string& sort, const std::string& spec, const std::string& binding) {
        EXPECT_EQ(post(group + sort + "admissionpolicies", R"({"metadata":{"name":"p"},"spec":{)" + spec + "," + rules + "}}").code, 201);
        EXPECT_EQ(
            post(group + sort + "admissionpolicybindings", R"({"metadata":{"name":"b"},"spec":{"policyName":"p")" + binding + "}}").code,
            201);
        settle();
    };
    const std::string ignore = R"({"spec":{"failurePolicy":"Ignore"}})";
    bound("validating", R"("validations":[{"expression":"false"}])", R"(,"validationActions":["Deny"])");
    const Answer refused = post(V1, v1("a"));
    EXPECT_EQ(refused.code, 422);
    EXPECT_EQ(refused.at({"message"})
                  .find("routes.example.com \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
                        "request: failed to configure binding: failed to convert object version: "),
              0u)
        << refused.text;
    EXPECT_EQ(merge(group + "validatingadmissionpolicies/p", ignore).code, 200);
    settle();
    EXPECT_EQ(post(V1, v1("a")).code, 201);

    bound("mutating",
          R"("reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{}"}}])",
          "");
    const Answer unchanged = post(V1, v1("b"));
    EXPECT_EQ(unchanged.code, 403);
    EXPECT_EQ(unchanged.at({"reason"}), "Forbidden");
    EXPECT_EQ(unchanged.at({"message"}).find("policy \"p\" denied request: failed to configure policy: "), 0u) << unchanged.text;
    EXPECT_EQ(merge(group + "mutatingadmissionpolicies/p", ignore).code, 200);
    settle();
    EXPECT_EQ(post(V1, v1("b")).code, 201);
}

TEST_F(ConversionWebhooks, ARequestIsConvertedOnceForAllAdmissionWebhooksOfOnePlugin) {
    define();
    for (const std::string name : {"x", "y", "z"}) {
        const std::string url = "https://" + name + ".test/review";
        servers.at(url).answer = [](const net::HttpRequest& request) {
            const auto review = schema::parse_json(request.body);
            EXPECT_EQ(review->string_at({"request", "object", "host"}), "localhost");
            return net::HttpResponse{
                .code = 200,
                .headers = {},
                .body = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true,"uid":")" +
                        std::string(review->string_at({"request", "uid"})) + "\"}}"};
        };
        ASSERT_EQ(post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
                       R"({"metadata":{"name":")" + name + R"("},"webhooks":[{"name":")" + name +
                           R"(.example.com","clientConfig":{"url":")" + url +
                           R"("},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"operations":["*"],)"
                           R"("apiGroups":["example.com"],"apiVersions":["v2"],"resources":["routes"]}],)"
                           R"("matchConditions":[{"name":"host","expression":"object.host == 'localhost'"}]}]})")
                      .code,
                  201);
    }
    settle();
    ASSERT_EQ(post(V1, v1("a", "localhost:8080")).code, 201);
    EXPECT_EQ(asked.size(), 1u);
    for (const char* name : {"x", "y", "z"}) EXPECT_EQ(servers.at("https://" + std::string(name) + ".test/review").requests.size(), 1u);
}

TEST_F(ConversionWebhooks, AListOfObjectsOfSeveralStoredVersionsIsOfOne) {
    define();
    ASSERT_EQ(post(V1, v1("one", "localhost:8080")).code, 201);
    store_in("v2");
    ASSERT_EQ(post(V1, v1("two", "localhost:8080")).code, 201);
    for (const auto& [collection, field, version] :
         {std::tuple(V1, "hostPort", "example.com/v1"), std::tuple(V2, "host", "example.com/v2")}) {
        const Answer list = get(collection);
        ASSERT_EQ(list.code, 200) << list.text;
        EXPECT_EQ(list.at({"apiVersion"}), version);
        const auto& items = list.body.find("items")->as_array();
        ASSERT_EQ(items.size(), 2u);
        EXPECT_EQ(items[0].string_at({"metadata", "name"}), "one");
        EXPECT_EQ(items[1].string_at({"metadata", "name"}), "two");
        for (const Value& item : items) {
            EXPECT_EQ(item.string_at({"apiVersion"}), version);
            EXPECT_NE(item.find(field), nullptr);
        }
    }
}

TEST_F(ConversionWebhooks, EveryWayOfWritingGoesThroughTheWebhook) {
    define();
    const Answer made = post(V2, v2("a", "localhost", "8080"));
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(made.at({"host"}), "localhost");
    EXPECT_EQ(get(at(V1, "a")).at({"hostPort"}), "localhost:8080");
    Value changed = made.body;
    changed["port"] = "9090";
    const Answer replaced = put(at(V2, "a"), schema::to_json(changed));
    ASSERT_EQ(replaced.code, 200) << replaced.text;
    EXPECT_EQ(replaced.at({"port"}), "9090");
    EXPECT_EQ(put(at(V2, "a"), schema::to_json(changed)).code, 409);
    EXPECT_EQ(merge(at(V2, "a"), R"({"host":"h"})").at({"host"}), "h");
    EXPECT_EQ(get(at(V1, "a")).at({"hostPort"}), "h:9090");
    EXPECT_TRUE(merge(at(V2, "a") + "/status", R"({"status":{"ready":true}})").body.at_path({"status", "ready"})->as_bool());
    EXPECT_EQ(merge(at(V2, "a") + "/scale", R"({"spec":{"replicas":5}})").code, 200);
    EXPECT_EQ(get(at(V1, "a") + "/scale").body.at_path({"spec", "replicas"})->as_int(), 5);
    const Answer applied = call("PATCH", at(V2, "b") + "?fieldManager=me", v2("b", "x", "1"), "application/apply-patch+yaml");
    EXPECT_EQ(applied.code, 201) << applied.text;
    const Answer again = call("PATCH", at(V2, "b") + "?fieldManager=me", v2("b", "y", "1"), "application/apply-patch+yaml");
    EXPECT_EQ(again.at({"host"}), "y") << again.text;
    EXPECT_EQ(get(at(V1, "b")).at({"hostPort"}), "y:1");
    EXPECT_EQ(remove(at(V2, "b")).code, 200);
    EXPECT_EQ(get(at(V1, "b")).code, 404);
    ASSERT_EQ(post(V1, v1("c")).code, 201);
    const Answer removed = call("DELETE", V2);
    ASSERT_EQ(removed.code, 200) << removed.text;
    EXPECT_EQ(removed.body.find("items")->as_array().size(), 2u);
    EXPECT_EQ(get(V1).body.find("items")->as_array().size(), 0u);
}

TEST_F(ConversionWebhooks, OwnersOfFieldsAreAskedInTheirVersions) {
    define();
    const auto apply = [&](const char* collection, const std::string& body, const std::string& manager, const std::string& more = "") {
        return call("PATCH", at(collection, "a") + "?fieldManager=" + manager + more, body, "application/apply-patch+yaml");
    };
    const auto owners = [&] {
        std::map<std::string, std::string> fields;
        const Answer read = get(at(V1, "a"));
        for (const Value& one : read.body.at_path({"metadata", "managedFields"})->as_array())
            fields[std::string(one.string_at({"manager"}))] = schema::to_json(*one.find("fieldsV1"));
        return fields;
    };
    ASSERT_EQ(apply(V1, v1("a", "h:1"), "one").code, 201);
    // The same value under another name is shared.
    const Answer same = apply(V2, v2("a", "h", "1"), "two");
    ASSERT_EQ(same.code, 200) << same.text;
    EXPECT_EQ(owners(), (std::map<std::string, std::string>{{"one", R"({"f:hostPort":{}})"}, {"two", R"({"f:host":{},"f:port":{}})"}}));
    const Answer conflict = apply(V2, v2("a", "h", "2"), "two");
    EXPECT_EQ(conflict.code, 409);
    EXPECT_EQ(conflict.at({"message"}), "Apply failed with 1 conflict: conflict with \"one\": .hostPort");
    ASSERT_EQ(apply(V2, v2("a", "h", "2"), "two", "&force=true").code, 200);
    EXPECT_EQ(owners(), (std::map<std::string, std::string>{{"two", R"({"f:host":{},"f:port":{}})"}}));
    EXPECT_EQ(apply(V1, v1("a", "i:2"), "one").at({"message"}), "Apply failed with 1 conflict: conflict with \"two\": .host");
    // An update in one version takes the fields that it changes in the other.
    ASSERT_EQ(merge(at(V1, "a") + "?fieldManager=three", R"({"hostPort":"h:3"})").code, 200);
    EXPECT_EQ(owners(), (std::map<std::string, std::string>{{"three", R"({"f:hostPort":{}})"}, {"two", R"({"f:host":{}})"}}));
    // What a manager leaves out stays while it is another's in its version.
    ASSERT_EQ(apply(V1, v1("a", "h:3"), "one").code, 200);
    const Answer left = apply(V2, R"({"apiVersion":"example.com/v2","kind":"Route","metadata":{"name":"a"},"spec":{"replicas":1}})", "two");
    ASSERT_EQ(left.code, 200) << left.text;
    EXPECT_EQ(left.at({"host"}), "h");
    hook.answer = nullptr;
    EXPECT_EQ(apply(V1, v1("a", "h:4"), "one", "&force=true").code, 500);
}

TEST_F(ConversionWebhooks, StorageMovesToAnotherVersionByWritesThatChangeNothing) {
    define();
    ASSERT_EQ(post(V1, v1("a", "h:1")).code, 201);
    store_in("v2");
    const Answer before = get(at(V2, "a"));
    EXPECT_EQ(before.at({"host"}), "h");
    const Answer rewritten = put(at(V2, "a"), before.text);
    ASSERT_EQ(rewritten.code, 200) << rewritten.text;
    EXPECT_NE(rewritten.at({"metadata", "resourceVersion"}), before.at({"metadata", "resourceVersion"}));
    const std::size_t before_read = asked.size();
    EXPECT_EQ(get(at(V2, "a")).at({"host"}), "h");
    EXPECT_EQ(asked_since(before_read), 0u) << "it is stored as v2 now";
    EXPECT_EQ(get(at(V1, "a")).at({"hostPort"}), "h:1");
}

TEST_F(ConversionWebhooks, AWatchTellsConvertedObjectsInOrder) {
    define();
    ASSERT_EQ(post(V1, v1("a", "h:1")).code, 201);
    auto watching = watch(V2, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
    EXPECT_EQ(watching.next(), "ADDED a");
    EXPECT_EQ(watching.last.string_at({"object", "host"}), "h");
    EXPECT_EQ(watching.next(), "BOOKMARK");
    hook.takes = 2s;
    ASSERT_EQ(post(V1, v1("b", "i:1")).code, 201);
    ASSERT_EQ(merge(at(V1, "a"), R"({"hostPort":"j:1"})").code, 200);
    ASSERT_EQ(remove(at(V1, "b")).code, 200);
    EXPECT_EQ(watching.next(5s), "ADDED b");
    EXPECT_EQ(watching.last.string_at({"object", "apiVersion"}), "example.com/v2");
    EXPECT_EQ(watching.next(5s), "MODIFIED a");
    EXPECT_EQ(watching.last.string_at({"object", "host"}), "j");
    EXPECT_EQ(watching.next(5s), "DELETED b");
    EXPECT_EQ(watching.last.string_at({"object", "host"}), "i");
}

TEST_F(ConversionWebhooks, SelectorsReadWhatTheWebhookShows) {
    define();
    for (int i = 0; i < 6; ++i) ASSERT_EQ(post(V1, v1("r" + std::to_string(i), (i % 2 ? "odd:" : "even:") + std::to_string(i))).code, 201);
    spoil = [](Value& object) { object["metadata"]["labels"]["host"] = object.string_at({"host"}); };
    EXPECT_EQ(get(std::string(V2) + "?fieldSelector=host%3Dodd").body.find("items")->as_array().size(), 3u);
    EXPECT_EQ(get(std::string(V2) + "?labelSelector=host%3Deven").body.find("items")->as_array().size(), 3u);
    EXPECT_EQ(get(std::string(V1) + "?labelSelector=host%3Deven").body.find("items")->as_array().size(), 0u);
    std::string token;
    std::vector<std::string> names;
    do {
        const Answer page = get(std::string(V2) + "?fieldSelector=host%3Dodd&limit=2" + (token.empty() ? "" : "&continue=" + token));
        ASSERT_EQ(page.code, 200) << page.text;
        EXPECT_LE(page.body.find("items")->as_array().size(), 2u);
        for (const Value& item : page.body.find("items")->as_array()) names.emplace_back(item.string_at({"metadata", "name"}));
        token = page.at({"metadata", "continue"});
    } while (!token.empty());
    EXPECT_EQ(names, (std::vector<std::string>{"r1", "r3", "r5"}));
    auto watching = watch(V2, "fieldSelector=host%3Dodd&resourceVersion=0");
    EXPECT_EQ(watching.next(), "ADDED r1");
    EXPECT_EQ(watching.next(), "ADDED r3");
    EXPECT_EQ(watching.next(), "ADDED r5");
    const Answer moved = merge(at(V1, "r1"), R"({"hostPort":"even:1"})");
    ASSERT_EQ(merge(at(V1, "r0"), R"({"hostPort":"odd:0"})").code, 200);
    EXPECT_EQ(watching.next(), "DELETED r1");
    EXPECT_EQ(watching.last.string_at({"object", "host"}), "odd") << "as it was";
    EXPECT_EQ(watching.last.string_at({"object", "metadata", "resourceVersion"}), moved.at({"metadata", "resourceVersion"}));
    EXPECT_EQ(watching.next(), "ADDED r0");
}

TEST_F(ConversionWebhooks, ManyObjectsAreFewQuestionsAndEachIsAskedAboutOnce) {
    define();
    for (int i = 0; i < 1200; ++i) ASSERT_EQ(post(V1, v1("r" + std::to_string(i))).code, 201);
    EXPECT_EQ(get(V2).body.find("items")->as_array().size(), 1200u);
    EXPECT_EQ(asked, (std::vector<std::size_t>{500, 500, 200}));
    EXPECT_EQ(get(V2).body.find("items")->as_array().size(), 1200u);
    ASSERT_EQ(merge(at(V1, "r7"), R"({"hostPort":"b:2"})").code, 200);
    EXPECT_EQ(get(V2).body.find("items")->as_array().size(), 1200u);
    EXPECT_EQ(asked, (std::vector<std::size_t>{500, 500, 200, 1})) << "only what has changed";
    const Answer table = call("GET", V2, "", "", "application/json;as=Table;v=v1;g=meta.k8s.io");
    EXPECT_EQ(table.body.find("rows")->as_array().at(0).find("cells")->as_array().at(1), Value("a"));
    EXPECT_EQ(call("GET", V2, "", "", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io").code, 200);
    EXPECT_EQ(asked.size(), 4u);
}

TEST_F(ConversionWebhooks, LargeObjectsAreAskedAboutApart) {
    define();
    for (const char* name : {"a", "b", "c"}) ASSERT_EQ(post(V1, v1(name, std::string(400'000, 'x') + ":1")).code, 201);
    EXPECT_EQ(get(V2).body.find("items")->as_array().size(), 3u);
    EXPECT_EQ(asked, (std::vector<std::size_t>{2, 1}));
}

TEST_F(ConversionWebhooks, WhatSeveralWantAtATimeIsOneQuestion) {
    define();
    ASSERT_EQ(post(V1, v1("a")).code, 201);
    std::vector<WatchReader> watchers;
    for (int i = 0; i < 20; ++i) watchers.push_back(watch(V2, "resourceVersion=0"));
    for (WatchReader& one : watchers) EXPECT_EQ(one.next(), "ADDED a");
    const std::size_t before = asked.size();
    EXPECT_EQ(before, 1u);
    hook.takes = 1s;
    ASSERT_EQ(merge(at(V1, "a"), R"({"hostPort":"b:2"})").code, 200);
    for (WatchReader& one : watchers) EXPECT_EQ(one.next(5s), "MODIFIED a");
    EXPECT_EQ(asked_since(before), 1u);
}

TEST_F(ConversionWebhooks, OnlyLabelsAndAnnotationsOfMetadataMayChange) {
    define();
    ASSERT_EQ(post(V1, v1("a", "h:1", R"(,"labels":{"old":"1"},"finalizers":["x.example.com/keep"])")).code, 201);
    spoil = [](Value& object) {
        object["metadata"]["labels"] = Value::object({{"new", "2"}});
        object["metadata"]["annotations"] = Value::object({{"n", "3"}});
        object["metadata"]["finalizers"] = Value::array();
        object["metadata"]["generation"] = 77;
        object["metadata"]["managedFields"] = Value();
        object["other"] = 1;
    };
    const Answer read = get(at(V2, "a")), stored = get(at(V1, "a"));
    ASSERT_EQ(read.code, 200) << read.text;
    EXPECT_EQ(*read.body.at_path({"metadata", "labels"}), Value::object({{"new", "2"}}));
    EXPECT_EQ(read.at({"metadata", "annotations", "n"}), "3");
    EXPECT_EQ(*read.body.at_path({"metadata", "finalizers"}), Value::array({"x.example.com/keep"}));
    EXPECT_EQ(read.body.at_path({"metadata", "generation"})->as_int(), 1);
    EXPECT_EQ(*read.body.at_path({"metadata", "managedFields"}), *stored.body.at_path({"metadata", "managedFields"}));
    EXPECT_EQ(read.body.find("other"), nullptr) << "pruned by the schema";
    EXPECT_EQ(*stored.body.at_path({"metadata", "labels"}), Value::object({{"old", "1"}}));
}

TEST_F(ConversionWebhooks, HostileAnswersFailOnlyWhatNeedsThem) {
    define();
    ASSERT_EQ(post(V1, v1("a")).code, 201);
    constexpr const char* Prefix = "500 conversion webhook for example.com/v1, Kind=Route ";
    const struct {
        const char* name;
        std::function<void(Value&)> object, response;
        std::string message;
    } rows[] = {
        {"another name",
         [](Value& one) { one["metadata"]["name"] = "b"; },
         {},
         "returned invalid converted object at index 0: must have the same name: a != b"},
        {"another namespace",
         [](Value& one) { one["metadata"]["namespace"] = "b"; },
         {},
         "returned invalid converted object at index 0: must have the same namespace: default != b"},
        {"another uid",
         [](Value& one) { one["metadata"]["uid"] = "b"; },
         {},
         "returned invalid converted object at index 0: must have the same UID: "},
        {"another kind",
         [](Value& one) { one["kind"] = "Secret"; },
         {},
         "returned invalid converted object at index 0: invalid kind (expected Route, received Secret)"},
        {"another version",
         [](Value& one) { one["apiVersion"] = "example.com/v3"; },
         {},
         "returned invalid converted object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v3)"},
        {"no metadata",
         [](Value& one) { one.erase("metadata"); },
         {},
         "returned invalid converted object at index 0: must have the same name"},
        {"labels of numbers",
         [](Value& one) { one["metadata"]["labels"]["x"] = 1; },
         {},
         "returned invalid metadata in object at index 0: metadata.labels[x] must be a string, but is int64 in converted object"},
        {"labels that are not valid",
         [](Value& one) { one["metadata"]["labels"]["x y"] = "1"; },
         {},
         "returned invalid metadata in object at index 0: metadata.labels: Invalid value: \"x y\""},
        {"annotations that are a list",
         [](Value& one) { one["metadata"]["annotations"] = Value::array(); },
         {},
         "returned invalid metadata in object at index 0: invalid metadata.annotations of type []interface {} in converted object"},
        {"no object", [](Value& one) { one = Value("x"); }, {}, "returned invalid converted object at index 0: Object 'Kind' is missing"},
        {"too many",
         {},
         [](Value& answer) { answer["response"]["convertedObjects"].as_array().emplace_back(); },
         "returned 2 objects, expected 1"},
        {"none", {}, [](Value& answer) { answer["response"].erase("convertedObjects"); }, "returned 0 objects, expected 1"},
        {"another question", {}, [](Value& answer) { answer["response"]["uid"] = "x"; }, "failed: expected response.uid=\""},
        {"no response", {}, [](Value& answer) { answer.erase("response"); }, "failed: no response provided"},
        {"another kind of answer",
         {},
         [](Value& answer) { answer["kind"] = "AdmissionReview"; },
         "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, "
         "Kind=AdmissionReview"},
        {"failed",
         {},
         [](Value& answer) { answer["response"]["result"] = *schema::parse_json(R"({"status":"Failed","message":"no idea"})"); },
         "failed: no idea"},
        {"failed without a word",
         {},
         [](Value& answer) { answer["response"]["result"] = Value(); },
         "failed: response.result.status was '', not 'Success'"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        spoil = row.object;
        spoil_response = row.response;
        EXPECT_THAT(why(get(at(V2, "a"))), HasSubstr(Prefix + row.message));
        EXPECT_EQ(get(V2).code, 500);
        EXPECT_EQ(get(V1).code, 200);
    }
    spoil = spoil_response = nullptr;
    const struct {
        const char* name;
        int code;
        std::string body, message;
    } bodies[] = {
        {"no JSON", 200, "<html>", "failed: "},
        {"a list", 200, "[]", "failed: expected webhook response of"},
        {"huge", 200, std::string((3 << 20) + 1, ' '), "failed: Post \"https://convert.test/routes?timeout=30s\": the answer is longer"},
        {"deep", 200, std::string(100'000, '['), "failed: "},
        {"refused", 500, "no", "failed: an error on the server (\"no\") has prevented the request from succeeding"},
        {"redirected", 307, "", "failed: the server responded with the status code 307"},
    };
    for (const auto& row : bodies) {
        SCOPED_TRACE(row.name);
        hook.answer = [&](const net::HttpRequest&) { return net::HttpResponse{.code = row.code, .headers = {}, .body = row.body}; };
        EXPECT_THAT(why(get(at(V2, "a"))), HasSubstr(Prefix + row.message));
    }
    EXPECT_EQ(post(V2, v2("b")).code, 500);
    EXPECT_EQ(get(at(V1, "b")).code, 404) << "what could not be converted is not stored";
    EXPECT_EQ(post(V1, v1("b")).code, 201);
    EXPECT_THAT(
        get("/metrics").text,
        testing::AllOf(
            HasSubstr("apiserver_conversion_webhook_request_total{failure_type=\"conversion_webhook_call_failure\",result=\"failure\"} "),
            HasSubstr("apiserver_conversion_webhook_request_total{failure_type=\"conversion_webhook_partial_response_failure\""),
            HasSubstr("apiserver_crd_conversion_webhook_duration_seconds_count{crd_name=\"routes.example.com\",from_version=\"v1\","
                      "succeeded=\"false\",to_version=\"v2\"} ")));
}

TEST_F(ConversionWebhooks, ASlowOrDeadWebhookDelaysNobodyElse) {
    define();
    ASSERT_EQ(post(V1, v1("a")).code, 201);
    hook.takes = 1h;
    auto slow = watch(V2, "resourceVersion=0");
    const MonotonicTime begun = loop.now();
    EXPECT_EQ(get(V1).code, 200);
    EXPECT_EQ(merge(at(V1, "a"), R"({"hostPort":"b:2"})").code, 200);
    EXPECT_EQ(loop.now(), begun);
    EXPECT_THAT(why(get(at(V2, "a"))), HasSubstr("failed: Post \"https://convert.test/routes?timeout=30s\": context deadline exceeded"));
    EXPECT_LE(loop.now() - begun, 31s);
    EXPECT_EQ(slow.next(60s), "ERROR");
    EXPECT_THAT(std::string(slow.last.string_at({"object", "message"})),
                HasSubstr("conversion webhook for example.com/v1, Kind=Route failed"));
    EXPECT_EQ(slow.next(), "END");
    hook.takes = 0s;
    EXPECT_EQ(get(at(V2, "a")).code, 200) << "failures are not remembered";
}

TEST_F(ConversionWebhooks, OlderReviewsAreAskedWhereTheyAreWanted) {
    define("v1", conversion(R"({"url":")" + std::string(Hook) + R"("})", R"(["v2","v1beta1"])"));
    ASSERT_EQ(post(V1, v1("a")).code, 201);
    // As upstream, neither kind nor uid of such an answer is looked at.
    spoil_response = [](Value& answer) {
        answer["kind"] = "X";
        answer["response"]["uid"] = "y";
    };
    EXPECT_EQ(get(at(V2, "a")).code, 200);
    EXPECT_THAT(hook.requests.back().body, HasSubstr(R"("apiVersion":"apiextensions.k8s.io/v1beta1")"));
}

TEST_F(ConversionWebhooks, AServiceIsAskedAtItsEndpointUnderItsName) {
    define("v1", conversion(R"({"service":{"namespace":"default","name":"hook","path":"/convert","port":8443}})"));
    ASSERT_EQ(post(V1, v1("a")).code, 201);
    EXPECT_THAT(why(get(at(V2, "a"))),
                HasSubstr("failed: Post \"https://hook.default.svc:8443/convert?timeout=30s\": service \"hook\" not found"));
    ASSERT_EQ(
        post("/api/v1/namespaces/default/services", R"({"metadata":{"name":"hook"},"spec":{"ports":[{"port":8443,"targetPort":9443}]}})")
            .code,
        201);
    ASSERT_EQ(
        post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
             R"({"metadata":{"name":"hook-1","labels":{"kubernetes.io/service-name":"hook"}},"addressType":"IPv4",)"
             R"("endpoints":[{"addresses":["10.42.0.9"],"conditions":{"ready":true}}],"ports":[{"name":"","port":9443,"protocol":"TCP"}]})")
            .code,
        201);
    FakeServers::Server& server = servers.at("https://10.42.0.9:9443/convert");
    server.answer = [this](const net::HttpRequest& request) { return answer_to(request); };
    EXPECT_EQ(get(at(V2, "a")).code, 200);
    EXPECT_EQ(server.config.server_name, "hook.default.svc");
}

TEST_F(ConversionWebhooks, AWebhookThatHasGoneKeepsNoDefinition) {
    define();
    ASSERT_EQ(post(V1, v1("a")).code, 201);
    store_in("v2");
    ASSERT_EQ(post(V2, v2("b")).code, 201);
    hook.answer = nullptr;
    EXPECT_EQ(get(V2).code, 500);
    ASSERT_EQ(remove(OfRoutes).code, 200);
    EXPECT_TRUE(sim::run(loop, loop.sleep(2s)));
    EXPECT_EQ(get(OfRoutes).code, 404);
}

TEST_F(ConversionWebhooks, AChangedSchemaIsAppliedToWhatIsConvertedAnew) {
    define();
    ASSERT_EQ(post(V1, v1("a", "h:1")).code, 201);
    EXPECT_EQ(get(at(V2, "a")).at({"scheme"}), "tcp");
    std::string changed = versions("v1");
    changed.replace(changed.find(R"("default":"tcp")"), 15, R"("default":"udp")");
    ASSERT_EQ(merge(OfRoutes, R"({"spec":{"versions":[)" + changed + "]}}").code, 200);
    settle();
    EXPECT_EQ(get(at(V2, "a")).at({"scheme"}), "udp");
}

TEST_F(ConversionWebhooks, AdmissionWebhooksSeeTheVersionThatTheyWant) {
    define();
    ASSERT_EQ(post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
                   R"({"metadata":{"name":"v"},"webhooks":[{"name":"v.example.com","clientConfig":{"url":"https://admit.test/v"},)"
                   R"("sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"operations":["CREATE"],"apiGroups":["example.com"],)"
                   R"("apiVersions":["v2"],"resources":["routes"]}]}]})")
                  .code,
              201);
    loop.run_ready();
    std::string seen;
    servers.at("https://admit.test/v").answer = [&](const net::HttpRequest& request) {
        const Value review = *schema::parse_json(request.body);
        seen = review.string_at({"request", "object", "host"});
        return net::HttpResponse{
            .code = 200,
            .headers = {},
            .body = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true,"uid":")" +
                    std::string(review.string_at({"request", "uid"})) + "\"}}"};
    };
    ASSERT_EQ(post(V1, v1("a", "h:1")).code, 201);
    EXPECT_EQ(seen, "h");
    hook.answer = nullptr;
    EXPECT_EQ(post(V1, v1("b", "h:1")).code, 500);
}

TEST_F(ConversionWebhooks, DiscoveryTellsWhichVersionIsStored) {
    define();
    const auto hash = [&](const char* version) {
        return std::string(
            get(std::string("/apis/example.com/") + version).body.find("resources")->as_array().at(0).string_at({"storageVersionHash"}));
    };
    const std::string before = hash("v1");
    EXPECT_EQ(before.size(), 12u);
    EXPECT_EQ(hash("v2"), before);
    store_in("v2");
    EXPECT_NE(hash("v1"), before);
}

}  // namespace
}  // namespace porthole::apiserver
