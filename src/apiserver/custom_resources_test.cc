#include <gtest/gtest.h>

#include "apiserver/api_server_fixture.h"

namespace porthole::apiserver {
namespace {

constexpr const char* Definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* Widgets = "/apis/example.com/v1/namespaces/default/widgets";

class CustomResourcesTest : public ApiServerFixture {
protected:
    /// A definition of Widgets; `versions` in JSON.
    static std::string definition(const std::string& versions, const std::string& more_names = "", const std::string& more_spec = "") {
        return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},"spec":{)"
               R"("group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget")" +
               more_names + "}" + more_spec + R"(,"versions":[)" + versions + "]}}";
    }
    /// A version whose spec has `properties`.
    static std::string version(const std::string& name, bool storage, const std::string& properties, const std::string& more = "") {
        return R"({"name":")" + name + R"(","served":true,"storage":)" + (storage ? "true" : "false") +
               R"(,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{)" + properties +
               R"(}},"status":{"type":"object","properties":{"ready":{"type":"boolean"},"replicas":{"type":"integer"},"selector":{"type":"string"}}}}}})" +
               more + "}";
    }
    static constexpr const char* Size = R"("size":{"type":"integer","minimum":1},"color":{"type":"string","default":"red"})";

    void define(const std::string& body) {
        const Answer made = post(Definitions, body);
        ASSERT_EQ(made.code, 201) << made.text;
        settle();
    }
    /// Lets background tasks do what they have to.
    void settle() { EXPECT_TRUE(sim::run(loop, loop.sleep(std::chrono::milliseconds(10)))); }
    static std::string widget(const std::string& name, const std::string& spec, const std::string& more = "") {
        return R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":")" + name + R"("},"spec":)" + spec + more + "}";
    }
    std::string condition(const std::string& type) {
        const Answer found = get(std::string(Definitions) + "/widgets.example.com");
        const schema::Value* conditions = found.body.at_path({"status", "conditions"});
        if (!conditions) return "";
        for (const schema::Value& one : conditions->as_array())
            if (one.string_at({"type"}) == type)
                return std::string(one.string_at({"status"})) + " " + std::string(one.string_at({"reason"}));
        return "";
    }
};

TEST_F(CustomResourcesTest, AreServedOnceTheirDefinitionIsEstablished) {
    EXPECT_EQ(get(Widgets).code, 404);
    define(definition(version("v1", true, Size)));
    EXPECT_EQ(condition("Established"), "True InitialNamesAccepted");
    EXPECT_EQ(condition("NamesAccepted"), "True NoConflicts");

    const Answer made = post(Widgets, widget("a", R"({"size":3})"));
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(made.at({"spec", "color"}), "red");
    EXPECT_EQ(made.body.at_path({"metadata", "generation"})->as_int(), 1);
    EXPECT_EQ(get(std::string(Widgets) + "/a").text, made.text);
    const Answer list = get("/apis/example.com/v1/widgets");
    EXPECT_EQ(list.at({"kind"}), "WidgetList");
    EXPECT_EQ(list.body.find("items")->as_array().size(), 1u);
    const Answer lost = get("/apis/example.com/v1/widgets/a");
    EXPECT_EQ(lost.code, 404) << "they are in namespaces";
    EXPECT_EQ(lost.at({"reason"}), "NotFound");
    EXPECT_EQ(post("/apis/example.com/v1/widgets", widget("b", R"({"size":3})")).code, 404);
    EXPECT_EQ(remove(std::string(Widgets) + "/a").code, 200);
    EXPECT_EQ(get(std::string(Widgets) + "/a").code, 404);
}

TEST_F(CustomResourcesTest, AreInDiscoveryAndOpenApi) {
    define(definition(version("v1beta1", false, Size) + "," + version("v1", true, Size), R"(,"shortNames":["wd"],"categories":["all"])"));
    const Answer group = get("/apis/example.com");
    EXPECT_EQ(group.at({"preferredVersion", "version"}), "v1");
    const Answer resources = get("/apis/example.com/v1");
    const schema::Value& widgets = resources.body.find("resources")->as_array().at(0);
    EXPECT_EQ(widgets.string_at({"name"}), "widgets");
    EXPECT_EQ(widgets.string_at({"singularName"}), "widget");
    EXPECT_EQ(*widgets.find("shortNames"), schema::Value::array({"wd"}));
    const Answer all = call("GET", "/apis", "", "", "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList");
    EXPECT_TRUE(all.text.contains(R"("resource":"widgets")"));

    const Answer v3 = get("/openapi/v3/apis/example.com/v1");
    EXPECT_EQ(v3.code, 200);
    EXPECT_TRUE(v3.text.contains(R"("com.example.v1.Widget":)"));
    EXPECT_TRUE(v3.text.contains(R"("minimum":1)"));
    EXPECT_TRUE(get("/openapi/v2").text.contains(R"("com.example.v1.Widget":)"));
    EXPECT_TRUE(get("/openapi/v3").text.contains("apis/example.com/v1beta1"));

    EXPECT_EQ(remove(std::string(Definitions) + "/widgets.example.com").code, 200);
    settle();
    EXPECT_EQ(get("/apis/example.com").code, 404);
    EXPECT_FALSE(get("/openapi/v2").text.contains("com.example.v1.Widget"));
}

TEST_F(CustomResourcesTest, ThatTakeEveryMemberHaveNoMembersInVersion2OfOpenApi) {
    define(definition(R"({"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","description":"A widget.",)"
                      R"("x-kubernetes-preserve-unknown-fields":true,"properties":{"spec":{"type":"object"}}}}})"));
    const Answer v2 = get("/openapi/v2");
    const schema::Value* widget = v2.body.at_path({"definitions", "com.example.v1.Widget"});
    ASSERT_TRUE(widget);
    EXPECT_EQ(schema::to_json(*widget),
              R"({"type":"object","x-kubernetes-group-version-kind":[{"group":"example.com","kind":"Widget","version":"v1"}]})");
}

TEST_F(CustomResourcesTest, ArePrunedAndValidatedByTheirSchema) {
    define(definition(version("v1", true, Size)));
    const std::string unknown = widget("a", R"({"size":3,"other":1})");
    const Answer strict = post(std::string(Widgets) + "?fieldValidation=Strict", unknown);
    EXPECT_EQ(strict.code, 400);
    EXPECT_EQ(strict.at({"message"}),
              R"(Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.other")");
    const Answer dropped = post(Widgets, unknown);
    EXPECT_EQ(dropped.code, 201);
    EXPECT_EQ(dropped.body.at_path({"spec", "other"}), nullptr);
    const Answer wrong = post(Widgets, widget("b", R"({"size":0})"));
    EXPECT_EQ(wrong.code, 422);
    EXPECT_EQ(wrong.at({"message"}),
              R"(Widget.example.com "b" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1)");
    const Answer metadata = post(Widgets, R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"c","labels":{"x":1}}})");
    EXPECT_EQ(metadata.code, 400);
}

TEST_F(CustomResourcesTest, KeepTheRevisionWhereNobodyCanPutAnother) {
    define(definition(version("v1", true, R"("resourceVersion":{"type":"string"})")));
    const Answer made =
        post(Widgets, R"({"spec":{"resourceVersion":"9"},"metadata":{"name":"a"},"kind":"Widget","apiVersion":"example.com/v1"})");
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(made.at({"spec", "resourceVersion"}), "9");
    EXPECT_NE(made.at({"metadata", "resourceVersion"}), "");
}

TEST_F(CustomResourcesTest, ArePatchedInEveryFormButTheStrategicOne) {
    define(definition(version("v1", true, Size)));
    ASSERT_EQ(post(Widgets, widget("a", R"({"size":3})")).code, 201);
    const std::string path = std::string(Widgets) + "/a";
    EXPECT_EQ(merge(path, R"({"spec":{"size":4}})").body.at_path({"spec", "size"})->as_int(), 4);
    const Answer json = call("PATCH", path, R"([{"op":"replace","path":"/spec/size","value":5}])", "application/json-patch+json");
    EXPECT_EQ(json.body.at_path({"spec", "size"})->as_int(), 5);
    EXPECT_EQ(json.body.at_path({"metadata", "generation"})->as_int(), 3);
    EXPECT_EQ(call("PATCH", path, "{}", "application/strategic-merge-patch+json").code, 415);

    const std::string applied = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {color: blue}";
    const Answer conflicting =
        call("PATCH", path + "?fieldManager=other", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 6}",
             "application/apply-patch+yaml");
    EXPECT_EQ(conflicting.code, 409) << conflicting.text;
    const Answer merged = call("PATCH", path + "?fieldManager=me&force=true", applied, "application/apply-patch+yaml");
    EXPECT_EQ(merged.code, 200) << merged.text;
    EXPECT_EQ(merged.at({"spec", "color"}), "blue");
    EXPECT_TRUE(merged.text.contains(R"("f:spec":{"f:color":{}})"));
    const Answer created = call("PATCH", std::string(Widgets) + "/new?fieldManager=me",
                                "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: new}", "application/apply-patch+yaml");
    EXPECT_EQ(created.code, 201) << created.text;
}

TEST_F(CustomResourcesTest, AreUpdatedOnlyFromAKnownVersion) {
    define(definition(version("v1", true, Size)));
    const Answer made = post(Widgets, widget("a", R"({"size":3})"));
    const Answer blind = put(std::string(Widgets) + "/a", widget("a", R"({"size":4})"));
    EXPECT_EQ(blind.code, 422);
    EXPECT_TRUE(blind.at({"message"}).contains("metadata.resourceVersion: Invalid value: 0: must be specified for an update"));
    schema::Value changed = made.body;
    changed["spec"]["size"] = 7;
    EXPECT_EQ(put(std::string(Widgets) + "/a", schema::to_json(changed)).code, 200);
    EXPECT_EQ(put(std::string(Widgets) + "/a", schema::to_json(changed)).code, 409);
    EXPECT_EQ(put(std::string(Widgets) + "/b", widget("b", R"({"size":4})")).code, 404);
}

TEST_F(CustomResourcesTest, KeepStatusApartWithTheSubresource) {
    define(definition(version("v1", true, Size, R"(,"subresources":{"status":{}})")));
    const Answer made = post(Widgets, widget("a", R"({"size":3})", R"(,"status":{"ready":true})"));
    ASSERT_EQ(made.code, 201);
    EXPECT_EQ(made.body.find("status"), nullptr);
    const std::string path = std::string(Widgets) + "/a";
    const Answer status = call("PATCH", path + "/status", R"({"metadata":{"labels":{"x":"y"}},"spec":{"size":9},"status":{"ready":true}})",
                               "application/merge-patch+json");
    ASSERT_EQ(status.code, 200) << status.text;
    EXPECT_TRUE(status.body.at_path({"status", "ready"})->as_bool());
    EXPECT_EQ(status.body.at_path({"spec", "size"})->as_int(), 3);
    EXPECT_EQ(status.body.at_path({"metadata", "labels"}), nullptr);
    EXPECT_EQ(status.body.at_path({"metadata", "generation"})->as_int(), 1);
    const Answer main = merge(path, R"({"spec":{"size":4},"status":{"ready":false}})");
    EXPECT_TRUE(main.body.at_path({"status", "ready"})->as_bool());
    EXPECT_EQ(main.body.at_path({"metadata", "generation"})->as_int(), 2);
    EXPECT_EQ(merge(path + "/status", R"({"status":{"ready":"yes"}})").code, 422);
}

TEST_F(CustomResourcesTest, AreScaledWhereTheDefinitionSays) {
    define(definition(version(
        "v1", true, R"("count":{"type":"integer"})",
        R"(,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.count","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}})")));
    ASSERT_EQ(post(Widgets, widget("a", R"({"count":2})")).code, 201);
    const std::string path = std::string(Widgets) + "/a";
    ASSERT_EQ(merge(path + "/status", R"({"status":{"replicas":1,"selector":"app=x"}})").code, 200);
    const Answer scale = get(path + "/scale");
    EXPECT_EQ(scale.at({"kind"}), "Scale");
    EXPECT_EQ(scale.body.at_path({"spec", "replicas"})->as_int(), 2);
    EXPECT_EQ(scale.body.at_path({"status", "replicas"})->as_int(), 1);
    EXPECT_EQ(scale.at({"status", "selector"}), "app=x");
    EXPECT_EQ(merge(path + "/scale", R"({"spec":{"replicas":5}})").code, 200);
    EXPECT_EQ(get(path).body.at_path({"spec", "count"})->as_int(), 5);
}

TEST_F(CustomResourcesTest, AreNotScaledByNumbersThatAreNotThere) {
    define(definition(version("v1", true, R"("count":{"x-kubernetes-preserve-unknown-fields":true})",
                              R"(,"subresources":{"scale":{"specReplicasPath":".spec.count","statusReplicasPath":".status.replicas"}})")));
    struct {
        const char *name, *spec, *message;
    } const rows[] = {
        {"none", "{}", R"(Internal error occurred: the spec replicas field ".spec.count" does not exist)"},
        {"text", R"({"count":"5"})", R"(.spec.count accessor error: "5" is of the type string, expected int64)"},
        {"large", R"({"count":5000000000})", ".spec.count: 5000000000 is not a 32-bit integer"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        ASSERT_EQ(post(Widgets, widget(row.name, row.spec)).code, 201);
        const Answer scale = get(std::string(Widgets) + "/" + row.name + "/scale");
        EXPECT_EQ(scale.code, 500);
        EXPECT_EQ(scale.at({"message"}), row.message);
    }
    EXPECT_EQ(merge(std::string(Widgets) + "/none/scale", R"({"spec":{"replicas":3}})").body.at_path({"spec", "replicas"})->as_int(), 3)
        << "it can be set";
}

TEST_F(CustomResourcesTest, PrintTheColumnsOfTheirDefinition) {
    define(definition(version("v1", true, Size,
                              R"(,"additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size"},)"
                              R"({"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp","priority":1}])")));
    ASSERT_EQ(post(Widgets, widget("a", R"({"size":3})")).code, 201);
    const Answer table = call("GET", Widgets, "", "", "application/json;as=Table;v=v1;g=meta.k8s.io");
    EXPECT_EQ(table.body.find("columnDefinitions")->as_array().size(), 3u);
    const schema::Value& cells = *table.body.find("rows")->as_array().at(0).find("cells");
    EXPECT_EQ(cells.as_array().at(0), schema::Value("a"));
    EXPECT_EQ(cells.as_array().at(1), schema::Value(3));
}

TEST_F(CustomResourcesTest, AreSelectedByLabelsAndTheFieldsOfTheirDefinition) {
    define(definition(version("v1", true, Size, R"(,"selectableFields":[{"jsonPath":".spec.color"}])")));
    ASSERT_EQ(post(Widgets, widget("a", R"({"size":3,"color":"blue"})")).code, 201);
    ASSERT_EQ(post(Widgets, widget("b", R"({"size":3})")).code, 201);
    const Answer blue = get(std::string(Widgets) + "?fieldSelector=spec.color%3Dblue");
    ASSERT_EQ(blue.body.find("items")->as_array().size(), 1u);
    EXPECT_EQ(blue.body.find("items")->as_array()[0].string_at({"metadata", "name"}), "a");
    EXPECT_EQ(get(std::string(Widgets) + "?fieldSelector=spec.size%3D3").code, 400);
    EXPECT_EQ(merge(std::string(Widgets) + "/b", R"({"metadata":{"labels":{"x":"y"}}})").code, 200);
    EXPECT_EQ(get(std::string(Widgets) + "?labelSelector=x%3Dy").body.find("items")->as_array().size(), 1u);
}

TEST_F(CustomResourcesTest, AreReadBySchemasThatHaveChanged) {
    define(definition(version("v1", true, Size)));
    ASSERT_EQ(post(Widgets, widget("a", R"({"size":3})")).code, 201);
    auto watching = watch(Widgets, "resourceVersion=0");
    EXPECT_EQ(watching.next(), "ADDED a");
    const Answer changed =
        merge(std::string(Definitions) + "/widgets.example.com",
              R"({"spec":{"versions":[)" + version("v1", true, R"("size":{"type":"integer"},"shape":{"type":"string","default":"round"})") +
                  "]}}");
    ASSERT_EQ(changed.code, 200) << changed.text;
    settle();
    const Answer read = get(std::string(Widgets) + "/a");
    EXPECT_EQ(read.at({"spec", "shape"}), "round");
    EXPECT_EQ(read.body.at_path({"spec", "color"}), nullptr);
    const Answer list = get(Widgets);
    EXPECT_EQ(list.body.find("items")->as_array().at(0), read.body);
    ASSERT_EQ(post(Widgets, widget("b", R"({"size":3})")).code, 201);
    EXPECT_EQ(watching.next(), "END");
}

TEST_F(CustomResourcesTest, AreServedInSeveralVersions) {
    define(definition(version("v1beta1", true, Size, R"(,"deprecated":true)") + "," + version("v1", false, Size)));
    ASSERT_EQ(post(Widgets, widget("a", R"({"size":3})")).code, 201);
    const std::string older = "/apis/example.com/v1beta1/namespaces/default/widgets";
    EXPECT_EQ(get(older + "/a").at({"apiVersion"}), "example.com/v1beta1");
    EXPECT_EQ(get(std::string(Widgets) + "/a").at({"apiVersion"}), "example.com/v1");
    EXPECT_EQ(get(Widgets).body.find("items")->as_array().at(0).string_at({"apiVersion"}), "example.com/v1");
    EXPECT_EQ(warnings_of("GET", older), "299 - \"example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget\"\n");

    // Storage moves to v1: what was stored before is still readable, and a write without a change rewrites it.
    const std::string path = std::string(Definitions) + "/widgets.example.com";
    ASSERT_EQ(merge(path, R"({"spec":{"versions":[)" + version("v1beta1", false, Size) + "," + version("v1", true, Size) + "]}}").code,
              200);
    settle();
    EXPECT_EQ(*get(path).body.at_path({"status", "storedVersions"}), schema::Value::array({"v1beta1", "v1"}));
    const Answer before = get(std::string(Widgets) + "/a");
    EXPECT_EQ(before.at({"apiVersion"}), "example.com/v1");
    const Answer rewritten = put(std::string(Widgets) + "/a", before.text);
    EXPECT_EQ(rewritten.code, 200);
    EXPECT_NE(rewritten.at({"metadata", "resourceVersion"}), before.at({"metadata", "resourceVersion"}));
    const Answer again = put(std::string(Widgets) + "/a", rewritten.text);
    EXPECT_EQ(again.at({"metadata", "resourceVersion"}), rewritten.at({"metadata", "resourceVersion"}));

    EXPECT_EQ(merge(path, R"({"spec":{"versions":[)" + version("v1", true, Size) + "]}}").code, 422);
    EXPECT_EQ(call("PATCH", path + "/status", R"({"status":{"storedVersions":["v1"]}})", "application/merge-patch+json").code, 200);
    EXPECT_EQ(merge(path, R"({"spec":{"versions":[)" + version("v1", true, Size) + "]}}").code, 200);
}

TEST_F(CustomResourcesTest, KeepNoProtobuf) {
    define(definition(version("v1", true, Size)));
    constexpr const char* Protobuf = "application/vnd.kubernetes.protobuf";
    EXPECT_EQ(call("GET", Widgets, "", "", Protobuf).code, 406);
    EXPECT_EQ(call("GET", Widgets, "", "", std::string(Protobuf) + ",application/json").code, 200);
    EXPECT_EQ(call("POST", Widgets, "k8s", Protobuf).code, 415);
}

TEST_F(CustomResourcesTest, GoBeforeTheirDefinition) {
    define(definition(version("v1", true, Size)));
    ASSERT_EQ(
        post(Widgets, R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"held","finalizers":["wait.example.com"]}})")
            .code,
        201);
    ASSERT_EQ(post(Widgets, widget("free", R"({"size":1})")).code, 201);
    const std::string path = std::string(Definitions) + "/widgets.example.com";
    const Answer deleting = remove(path);
    EXPECT_EQ(deleting.code, 200);
    EXPECT_TRUE(deleting.text.contains("customresourcecleanup.apiextensions.k8s.io"));
    settle();
    EXPECT_EQ(get(std::string(Widgets) + "/free").code, 404);
    EXPECT_EQ(get(std::string(Widgets) + "/held").code, 200);
    EXPECT_EQ(condition("Terminating").substr(0, 4), "True");
    const Answer refused = post(Widgets, widget("late", R"({"size":1})"));
    EXPECT_EQ(refused.code, 403);
    EXPECT_EQ(refused.at({"message"}),
              R"(widgets.example.com "late" is forbidden: create not allowed while custom resource definition is terminating)");
    EXPECT_EQ(merge(std::string(Widgets) + "/held", R"({"metadata":{"finalizers":null}})").code, 200);
    EXPECT_TRUE(sim::run(loop, loop.sleep(std::chrono::seconds(3))));
    EXPECT_EQ(get(path).code, 404);
    EXPECT_EQ(get(Widgets).code, 404);
}

TEST_F(CustomResourcesTest, DoNotComeWhileSomeoneElseHoldsTheirDefinition) {
    std::string body = definition(version("v1", true, Size));
    body.replace(body.find(R"("name":"widgets.example.com")"), 0, R"("finalizers":["example.com/hold"],)");
    define(body);
    const std::string path = std::string(Definitions) + "/widgets.example.com";
    EXPECT_EQ(remove(path).code, 200);
    EXPECT_TRUE(sim::run(loop, loop.sleep(std::chrono::seconds(3))));
    EXPECT_EQ(condition("Terminating"), "False InstanceDeletionCompleted");
    EXPECT_EQ(post(Widgets, widget("late", R"({"size":1})")).code, 403);
    EXPECT_EQ(merge(path, R"({"metadata":{"finalizers":null}})").code, 200);
    settle();
    EXPECT_EQ(get(path).code, 404);
    define(definition(version("v1", true, Size)));
    EXPECT_TRUE(get(Widgets).body.find("items")->as_array().empty());
}

TEST_F(CustomResourcesTest, OfAnotherDefinitionWithTheNameStay) {
    define(definition(version("v1", true, Size)));
    ASSERT_EQ(
        post(Widgets, R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"held","finalizers":["wait.example.com"]}})")
            .code,
        201);
    const std::string path = std::string(Definitions) + "/widgets.example.com";
    EXPECT_EQ(remove(path).code, 200);
    settle();
    ASSERT_EQ(merge(path, R"({"metadata":{"finalizers":null}})").code, 200);
    define(definition(version("v1", true, Size)));
    ASSERT_EQ(post(Widgets, widget("fresh", R"({"size":1})")).code, 201);
    EXPECT_TRUE(sim::run(loop, loop.sleep(std::chrono::seconds(5))));
    EXPECT_EQ(get(std::string(Widgets) + "/fresh").code, 200);
}

TEST_F(CustomResourcesTest, TakeNoNameThatAnotherHas) {
    define(definition(version("v1", true, Size)));
    const std::string other =
        R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com",)"
        R"("scope":"Namespaced","names":{"plural":"gadgets","kind":"Widget"},"versions":[)" +
        version("v1", true, Size) + "]}}";
    ASSERT_EQ(post(Definitions, other).code, 201);
    settle();
    const Answer found = get(std::string(Definitions) + "/gadgets.example.com");
    EXPECT_TRUE(found.text.contains(R"("reason":"ListKindConflict")")) << found.text;
    EXPECT_EQ(get("/apis/example.com/v1/namespaces/default/gadgets").code, 404);
    // The name is free once the first is gone.
    EXPECT_EQ(remove(std::string(Definitions) + "/widgets.example.com").code, 200);
    EXPECT_TRUE(sim::run(loop, loop.sleep(std::chrono::seconds(2))));
    EXPECT_EQ(get("/apis/example.com/v1/namespaces/default/gadgets").code, 200);
}

TEST_F(CustomResourcesTest, WithNamesFromAForgedStatusAreNotServed) {
    define(definition(version("v1", true, Size)));
    const std::string other =
        R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com",)"
        R"("scope":"Namespaced","names":{"plural":"gadgets","kind":"Gadget"},"versions":[)" +
        version("v1", true, Size) + "]}}";
    ASSERT_EQ(post(Definitions, other).code, 201);
    settle();
    const Answer forged =
        merge(std::string(Definitions) + "/gadgets.example.com/status",
              R"({"status":{"acceptedNames":{"plural":"widgets","kind":"Widget"},"conditions":[{"type":"Established","status":"True"}]}})");
    EXPECT_EQ(forged.code, 200) << forged.text;
    settle();
    EXPECT_EQ(get(Widgets).code, 200);
    EXPECT_EQ(get("/apis/example.com/v1/namespaces/default/gadgets").code, 200);  // the status has been put right
}

TEST_F(CustomResourcesTest, NeverTakeTheNameOfABuiltInResource) {
    const std::string ingresses =
        R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"ingresses.networking.k8s.io",)"
        R"("annotations":{"api-approved.kubernetes.io":"unapproved"}},"spec":{"group":"networking.k8s.io","scope":"Namespaced",)"
        R"("names":{"plural":"ingresses","kind":"Ingress"},"versions":[)" +
        version("v9", true, Size) + "]}}";
    ASSERT_EQ(post(Definitions, ingresses).code, 201);
    settle();
    EXPECT_EQ(get("/apis/networking.k8s.io/v9/namespaces/default/ingresses").code, 404);
    EXPECT_EQ(get("/apis/networking.k8s.io/v1/namespaces/default/ingresses").code, 200);
    EXPECT_EQ(remove(std::string(Definitions) + "/ingresses.networking.k8s.io").code, 200);
    settle();
    EXPECT_EQ(get(std::string(Definitions) + "/ingresses.networking.k8s.io").code, 404);
}

TEST_F(CustomResourcesTest, LeaveTheDefinitionsOfBuiltInKindsInOpenApi) {
    const auto built_in = [&] { return *get("/openapi/v2").body.at_path({"definitions", "io.k8s.api.core.v1.Pod", "properties", "spec"}); };
    const schema::Value before = built_in();
    ASSERT_EQ(post(Definitions,
                   R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"pods.core.api.k8s.io",)"
                   R"("annotations":{"api-approved.kubernetes.io":"unapproved"}},"spec":{"group":"core.api.k8s.io","scope":"Namespaced",)"
                   R"("names":{"plural":"pods","kind":"Pod"},"versions":[)" +
                       version("v1", true, Size) + "]}}")
                  .code,
              201);
    settle();
    EXPECT_EQ(built_in(), before);
    EXPECT_TRUE(get("/openapi/v2").body.at_path({"definitions", "io.k8s.api.core.v1.Pod_v2", "properties", "spec", "properties", "size"}));
}

TEST_F(CustomResourcesTest, AreThereAgainAfterARestart) {
    define(definition(version("v1", true, Size, R"(,"selectableFields":[{"jsonPath":".spec.color"}])")));
    ASSERT_EQ(post(Widgets, widget("a", R"({"size":3,"color":"blue"})")).code, 201);
    TearDown();
    SetUpAgain();
    EXPECT_EQ(get(std::string(Widgets) + "/a").at({"spec", "color"}), "blue");
    EXPECT_EQ(get(std::string(Widgets) + "?fieldSelector=spec.color%3Dblue").body.find("items")->as_array().size(), 1u);
}

TEST_F(CustomResourcesTest, AreCountedByQuotas) {
    define(definition(version("v1", true, Size)));
    ASSERT_EQ(
        post("/api/v1/namespaces/default/resourcequotas", R"({"metadata":{"name":"q"},"spec":{"hard":{"count/widgets.example.com":"1"}}})")
            .code,
        201);
    EXPECT_EQ(post(Widgets, widget("a", R"({"size":3})")).code, 201);
    const Answer refused = post(Widgets, widget("b", R"({"size":3})"));
    EXPECT_EQ(refused.code, 403);
    EXPECT_TRUE(refused.at({"message"}).contains("exceeded quota: q, requested: count/widgets.example.com=1")) << refused.text;
}

TEST_F(CustomResourcesTest, KeepWhatTheirSchemaLeavesOpen) {
    define(definition(
        version("v1", true,
                R"("open":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"port":{"x-kubernetes-int-or-string":true},)"
                R"("template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},)"
                R"("note":{"type":"string","nullable":true})")));
    const std::string spec =
        R"({"open":{"a":{"b":[1,{"c":null}]}},"port":"http","template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"x":1}},"note":null})";
    const Answer made = post(std::string(Widgets) + "?fieldValidation=Strict", widget("a", spec));
    ASSERT_EQ(made.code, 201) << made.text;
    EXPECT_EQ(made.body.at_path({"spec", "open", "a", "b"})->as_array().size(), 2u);
    EXPECT_EQ(made.body.at_path({"spec", "template", "spec", "x"})->as_int(), 1);
    EXPECT_TRUE(made.body.at_path({"spec", "note"})->is_null());
    const std::string applied = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {open: {a: {d: 1}}, port: 80}";
    const Answer merged = call("PATCH", std::string(Widgets) + "/a?fieldManager=me&force=true", applied, "application/apply-patch+yaml");
    ASSERT_EQ(merged.code, 200) << merged.text;
    EXPECT_EQ(merged.body.at_path({"spec", "open", "a"})->as_object().size(), 2u);
    EXPECT_EQ(merged.body.at_path({"spec", "port"})->as_int(), 80);
}

TEST_F(CustomResourcesTest, MayBelongToNoNamespace) {
    std::string body = definition(version("v1", true, Size));
    body.replace(body.find("Namespaced"), std::string("Namespaced").size(), "Cluster");
    define(body);
    ASSERT_EQ(post("/apis/example.com/v1/widgets", widget("a", R"({"size":3})")).code, 201);
    EXPECT_EQ(get("/apis/example.com/v1/widgets/a").code, 200);
    EXPECT_EQ(get(std::string(Widgets) + "/a").code, 404);
}

TEST_F(CustomResourcesTest, StayEditableWhenTheirSchemaBecomesNarrower) {
    define(definition(version("v1", true, R"("size":{"type":"integer"},"color":{"type":"string"})")));
    ASSERT_EQ(post(Widgets, widget("a", R"({"size":0})")).code, 201);
    ASSERT_EQ(merge(std::string(Definitions) + "/widgets.example.com", R"({"spec":{"versions":[)" + version("v1", true, Size) + "]}}").code,
              200);
    settle();
    EXPECT_EQ(merge(std::string(Widgets) + "/a", R"({"spec":{"color":"blue"}})").code, 200);
    EXPECT_EQ(merge(std::string(Widgets) + "/a", R"({"spec":{"size":-1}})").code, 422);
    EXPECT_EQ(merge(std::string(Widgets) + "/a", R"({"spec":{"size":1}})").code, 200);
}

TEST_F(CustomResourcesTest, ObeyTheRulesOfTheirDefinition) {
    // What the conformance tests named CustomResourceValidationRules ask for.
    define(definition(version(
        "v1", true,
        R"x("x":{"type":"integer"},"y":{"type":"integer"},"extra":{"type":"string","x-kubernetes-validations":[{"rule":"self.startsWith('a')"}]},)x"
        R"("kept":{"type":"integer","x-kubernetes-validations":[{"rule":"self == oldSelf","message":"is immutable"}]})",
        R"(,"subresources":{"status":{}})")));
    const std::string made = get(std::string(Definitions) + "/widgets.example.com").text;
    EXPECT_FALSE(made.contains("ValidationRulesIgnored"));
    EXPECT_EQ(post(Widgets, widget("a", R"({"x":1,"y":1,"extra":"abc","kept":1})")).code, 201);

    const Answer refused = post(Widgets, widget("b", R"({"extra":"bcd"})"));
    EXPECT_EQ(refused.code, 422);
    EXPECT_EQ(refused.at({"message"}),
              R"x(Widget.example.com "b" is invalid: spec.extra: Invalid value: "bcd": failed rule: self.startsWith('a'))x");
    const schema::Value& cause = refused.body.at_path({"details", "causes"})->as_array().at(0);
    EXPECT_EQ(cause.string_at({"reason"}), "FieldValueInvalid");
    EXPECT_EQ(cause.string_at({"field"}), "spec.extra");

    const std::string one = std::string(Widgets) + "/a";
    EXPECT_EQ(merge(one, R"({"spec":{"kept":1,"x":2}})").code, 200);
    const Answer changed = merge(one, R"({"spec":{"kept":2}})");
    EXPECT_EQ(changed.code, 422);
    EXPECT_EQ(changed.at({"message"}), R"(Widget.example.com "a" is invalid: spec.kept: Invalid value: 2: is immutable)");
    const Answer applied =
        call("PATCH", one + "?fieldManager=me&force=true", widget("a", R"({"extra":"x"})"), "application/apply-patch+yaml");
    EXPECT_EQ(applied.code, 422) << applied.text;
    // A transition rule says nothing where there was no value.
    EXPECT_EQ(merge(one, R"({"spec":{"kept":null}})").code, 200);
    EXPECT_EQ(merge(one, R"({"spec":{"kept":7}})").code, 200);
}

TEST_F(CustomResourcesTest, ObeyRulesOfTheWholeObjectAlsoWhenStatusIsWritten) {
    const std::string rules =
        R"(,"x-kubernetes-validations":[{"rule":"!has(self.status) || !has(self.status.replicas) || self.status.replicas <= self.spec.limit",)"
        R"x("messageExpression":"'at most %d'.format([self.spec.limit])","reason":"FieldValueForbidden","fieldPath":".status.replicas"}])x";
    std::string one = version("v1", true, R"("limit":{"type":"integer"})", R"(,"subresources":{"status":{}})");
    one.insert(one.find(R"("type":"object")") + std::string(R"("type":"object")").size(), rules);
    define(definition(one));
    ASSERT_EQ(post(Widgets, widget("a", R"({"limit":2})")).code, 201);
    const std::string status = std::string(Widgets) + "/a/status";
    EXPECT_EQ(merge(status, R"({"status":{"replicas":2}})").code, 200);
    const Answer refused = merge(status, R"({"status":{"replicas":3}})");
    EXPECT_EQ(refused.code, 422);
    EXPECT_EQ(refused.at({"message"}), R"(Widget.example.com "a" is invalid: status.replicas: Forbidden: at most 2)");
    EXPECT_EQ(merge(std::string(Widgets) + "/a", R"({"spec":{"limit":1}})").code, 422);
}

TEST_F(CustomResourcesTest, EndAtTheCostLimitOfTheirRules) {
    define(definition(version("v1", true,
                              R"x("l":{"type":"array","maxItems":700,"items":{"type":"integer"},)x"
                              R"x("x-kubernetes-validations":[{"rule":"self.all(a, self.all(b, a == b))"}]})x")));
    const auto list = [](int count) {
        std::string items = "3";
        for (int i = 1; i < count; ++i) items += ",3";
        return "{\"l\":[" + items + "]}";
    };
    EXPECT_EQ(post(Widgets, widget("short", list(100))).code, 201);
    const Answer refused = post(Widgets, widget("long", list(700)));
    EXPECT_EQ(refused.code, 422);
    EXPECT_EQ(
        refused.at({"message"}),
        "Widget.example.com \"long\" is invalid: spec.l: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no "
        "further validation rules will be run due to call cost exceeds limit for rule: self.all(a, self.all(b, a == b))");
}

TEST_F(CustomResourcesTest, StayEditableWhenTheirDefinitionGetsRules) {
    define(definition(version("v1", true, R"("size":{"type":"integer"},"color":{"type":"string"})")));
    ASSERT_EQ(post(Widgets, widget("a", R"({"size":1})")).code, 201);
    const std::string ruled =
        R"({"spec":{"versions":[)" +
        version("v1", true, R"("size":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1"}]},"color":{"type":"string"})") +
        "]}}";
    ASSERT_EQ(merge(std::string(Definitions) + "/widgets.example.com", ruled).code, 200);
    settle();
    const std::string one = std::string(Widgets) + "/a";
    EXPECT_EQ(merge(one, R"({"spec":{"color":"red"}})").code, 200);
    EXPECT_TRUE(warnings_of("PUT", one,
                            [&] {
                                Answer found = get(one);
                                found.body.ensure_path({"spec", "color"}) = "blue";
                                return schema::to_json(found.body);
                            }())
                    .contains("spec.size: Invalid value: 1: failed rule: self > 1"));
    EXPECT_EQ(merge(one, R"({"spec":{"size":0}})").code, 422);
    EXPECT_EQ(merge(one, R"({"spec":{"size":2}})").code, 200);
}

TEST_F(CustomResourcesTest, DefinitionsAreRefusedForRulesThatAreWrong) {
    struct {
        const char *name, *properties, *problem;
    } const rows[] = {
        {"undefined field",
         R"("a":{"type":"object","properties":{"b":{"type":"string"}},"x-kubernetes-validations":[{"rule":"self.c == 'x'"}]})",
         "compilation failed: ERROR: <input>:1:5: undefined field 'c'"},
        {"syntax", R"("a":{"type":"integer","x-kubernetes-validations":[{"rule":"self = 42"}]})",
         "compilation failed: ERROR: <input>:1:6: Syntax error"},
        {"costs too much",
         R"x("a":{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"string"}}},"x-kubernetes-validations":[{"rule":"self.all(x, x.all(y, y.all(z, z == 'a')))"}]})x",
         "estimated rule cost exceeds budget by factor of more than 100x"},
        {"default", R"("a":{"type":"integer","default":0,"x-kubernetes-validations":[{"rule":"self > 0"}]})",
         "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].default: Invalid value: 0: failed rule: self > 0"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const Answer answer = post(Definitions, definition(version("v1", true, row.properties)));
        EXPECT_EQ(answer.code, 422);
        EXPECT_TRUE(answer.at({"message"}).contains(row.problem)) << answer.text;
    }
}

TEST_F(CustomResourcesTest, DefinitionsKeepTheRulesThatTheyHave) {
    // Expensive by the size of its list, which no longer is bounded: what is unchanged is not held against another change.
    const auto with = [&](const std::string& most, const std::string& more) {
        return definition(
            version("v1", true,
                    R"("l":{"type":"array",)" + most +
                        R"x("items":{"type":"string"},"x-kubernetes-validations":[{"rule":"self.all(x, x.contains('abc'))"}]})x"),
            more);
    };
    EXPECT_EQ(post(Definitions, with("", "")).code, 422);
    define(with(R"("maxItems":2,)", ""));
    const std::string path = std::string(Definitions) + "/widgets.example.com";
    EXPECT_EQ(merge(path, R"({"spec":{"names":{"shortNames":["wd"]}}})").code, 200);
    EXPECT_EQ(merge(path, R"({"metadata":{"labels":{"a":"b"}}})").code, 200);
}

TEST_F(CustomResourcesTest, DefinitionsNestDefaultsWithoutBeingCompiledForEach) {
    // A chain of defaults costs the square of its length where the schema below each is compiled for it.
    std::string schema = R"({"type":"object","default":{},"properties":{)";
    for (int i = 0; i < 10'000; ++i) schema += (i ? ",\"p" : "\"p") + std::to_string(i) + R"(":{"type":"integer"})";
    schema += "}}";
    for (int depth = 0; depth < 80; ++depth) schema = R"({"type":"object","default":{},"properties":{"n":)" + schema + "}}";
    const Answer answer = post(Definitions, definition(version("v1", true, "\"n\":" + schema)));
    EXPECT_EQ(answer.code, 201) << answer.text.substr(0, 500);
}

TEST_F(CustomResourcesTest, DefinitionsMustBeStructural) {
    struct {
        const char* name;
        std::string body;
        const char* problem;
    } const rows[] = {
        {"name",
         R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"x.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[)" +
             version("v1", true, Size) + "]}}",
         R"(metadata.name: Invalid value: "x.example.com": must be spec.names.plural+"."+spec.group)"},
        {"type", definition(version("v1", true, R"("a":{})")),
         "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].type: Required value: must not be empty for specified "
         "object fields"},
        {"storage", definition(version("v1", false, Size)),
         R"(spec.versions: Invalid value: ["v1"]: must have exactly one version marked as storage version)"},
        {"schema", definition(R"({"name":"v1","served":true,"storage":true})"),
         "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const Answer answer = post(Definitions, row.body);
        EXPECT_EQ(answer.code, 422) << answer.text;
        EXPECT_TRUE(answer.at({"message"}).contains(row.problem)) << answer.text;
    }
}

}  // namespace
}  // namespace porthole::apiserver
