#include "schema/openapi/openapi.h"

#include <gtest/gtest.h>

#include <protozero/pbf_reader.hpp>
#include <set>

#include "api/registry.h"
#include "schema/json/json.h"
#include "schema/openapi/gnostic.h"

namespace porthole::schema {
namespace {

struct OpenApiTest : testing::Test {
    OpenApi openapi_{api::registry(), "v1.36.0"};

    Value parsed(const OpenApiDocument& document) {
        auto value = parse_json(*document.body);
        CHECK(value.has_value());
        return std::move(*value);
    }
};

void collect_references(const Value& value, std::set<std::string>& references) {
    if (value.is_array()) {
        for (const Value& item : value.as_array()) collect_references(item, references);
    } else if (value.is_object()) {
        for (const Member& member : value.as_object()) {
            if (member.key == "$ref" && member.value.is_string())
                references.insert(member.value.as_string());
            else
                collect_references(member.value, references);
        }
    }
}

/// kubectl 1.20 throws the whole document away for one definition that breaks these rules.
void check_strictly(const Value& schema, const std::string& where) {
    if (schema.find("$ref")) {
        EXPECT_FALSE(schema.find("type") || schema.find("properties")) << where;
        return;
    }
    const std::string_view type = schema.string_at({"type"});
    EXPECT_TRUE(std::set<std::string_view>({"", "string", "number", "integer", "boolean", "object", "array"}).contains(type)) << where;
    EXPECT_EQ(type == "array", schema.find("items") != nullptr) << where;
    if (schema.find("properties")) EXPECT_EQ(type, "object") << where;
    if (const Value* items = schema.find("items")) check_strictly(*items, where + "[]");
    if (const Value* values = schema.find("additionalProperties")) check_strictly(*values, where + "{}");
    if (const Value* properties = schema.find("properties")) {
        for (const Member& member : properties->as_object()) check_strictly(member.value, where + "." + member.key);
    }
}

/// Each definition and each of its members: `kubectl explain` shows their descriptions, and "<no description>" for those without.
void check_descriptions(const Value& definitions, const std::string& where) {
    for (const Member& definition : definitions.as_object()) {
        const std::string name = where + " " + definition.key;
        EXPECT_NE(definition.value.string_at({"description"}), "") << name;
        const Value* properties = definition.value.find("properties");
        if (!properties) continue;
        for (const Member& property : properties->as_object())
            EXPECT_NE(property.value.string_at({"description"}), "") << name << "." << property.key;
    }
}

TEST_F(OpenApiTest, EveryTypeAndEveryFieldHasADescription) {
    check_descriptions(*parsed(openapi_.v2_json()).find("definitions"), "v2");
    const Value index = parsed(openapi_.v3_index());
    for (const Member& path : index.find("paths")->as_object()) {
        const OpenApiDocument* document = openapi_.v3(path.key);
        ASSERT_TRUE(document) << path.key;
        const Value parsed_document = parsed(*document);
        if (const Value* schemas = parsed_document.at_path({"components", "schemas"})) check_descriptions(*schemas, path.key);
    }
}

TEST_F(OpenApiTest, AFieldsOwnDescriptionWinsOverThatOfItsType) {
    const std::string own = R"("description":"Rights and identities for all containers.")";
    const auto security_context = [&](const Value& definitions) {
        return to_json(*definitions.at_path({"io.k8s.api.core.v1.PodSpec", "properties", "securityContext"}));
    };
    const Value v2 = *parsed(openapi_.v2_json()).find("definitions");
    const Value v3 = *parsed(*openapi_.v3("api/v1")).at_path({"components", "schemas"});
    EXPECT_EQ(security_context(v2), R"({"$ref":"#/definitions/io.k8s.api.core.v1.PodSecurityContext",)" + own + R"(,"default":{}})");
    EXPECT_EQ(security_context(v3),
              R"({"allOf":[{"$ref":"#/components/schemas/io.k8s.api.core.v1.PodSecurityContext"}],)" + own + R"(,"default":{}})")
        << "readers of version 3 ignore what is next to a reference";
    for (const Value* definitions : {&v2, &v3}) {
        EXPECT_EQ(definitions->string_at({"io.k8s.api.core.v1.Pod", "properties", "metadata", "description"}),
                  "Standard object's metadata.");
        EXPECT_EQ(definitions->string_at({"io.k8s.api.core.v1.PodTemplateSpec", "properties", "metadata", "description"}),
                  "Labels and annotations of the pods.");
        EXPECT_EQ(definitions->string_at({"io.k8s.api.core.v1.PodList", "description"}), "A list of objects of the kind Pod.");
    }
}

TEST_F(OpenApiTest, V2IsWholeAndStrict) {
    const Value document = parsed(openapi_.v2_json());
    const Value& definitions = *document.find("definitions");
    std::set<std::string> references;
    collect_references(document, references);
    for (const std::string& reference : references) {
        ASSERT_TRUE(reference.starts_with("#/definitions/")) << reference;
        EXPECT_TRUE(definitions.find(reference.substr(14))) << reference;
    }
    for (const Member& definition : definitions.as_object()) check_strictly(definition.value, definition.key);
    EXPECT_EQ(to_json(*definitions.at_path({"io.k8s.api.apps.v1.Deployment", "x-kubernetes-group-version-kind"})),
              R"([{"group":"apps","kind":"Deployment","version":"v1"}])");
    const Value& containers = *definitions.at_path({"io.k8s.api.core.v1.PodSpec", "properties", "containers"});
    EXPECT_EQ(containers.string_at({"x-kubernetes-patch-strategy"}), "merge");
    EXPECT_EQ(containers.string_at({"x-kubernetes-patch-merge-key"}), "name");
    EXPECT_EQ(to_json(*containers.find("x-kubernetes-list-map-keys")), R"(["name"])");
}

TEST_F(OpenApiTest, OperationIdsAreUnique) {
    const Value document = parsed(openapi_.v2_json());
    std::set<std::string_view> ids;
    for (const Member& path : document.find("paths")->as_object()) {
        for (const Member& method : path.value.as_object()) {
            EXPECT_TRUE(ids.insert(method.value.string_at({"operationId"})).second) << method.value.string_at({"operationId"});
        }
    }
    EXPECT_TRUE(ids.contains("patchAppsV1NamespacedDeployment"));
    EXPECT_TRUE(ids.contains("listCoreV1PodForAllNamespaces"));
    EXPECT_TRUE(ids.contains("readRbacAuthorizationV1ClusterRole"));
    EXPECT_TRUE(ids.contains("deleteCoreV1CollectionNamespacedPod"));
}

TEST_F(OpenApiTest, V3PatchesHaveWhatKubectlLooksFor) {
    const OpenApiDocument* apps = openapi_.v3("apis/apps/v1");
    ASSERT_TRUE(apps);
    const Value document = parsed(*apps);
    const Value* patch = document.at_path({"paths", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "patch"});
    ASSERT_TRUE(patch);
    EXPECT_EQ(to_json(*patch->find("x-kubernetes-group-version-kind")), R"({"group":"apps","kind":"Deployment","version":"v1"})");
    bool validates = false;
    for (const Value& parameter : patch->find("parameters")->as_array()) {
        validates = validates || (parameter.string_at({"name"}) == "fieldValidation" && parameter.string_at({"in"}) == "query");
    }
    EXPECT_TRUE(validates);
    EXPECT_TRUE(patch->at_path({"requestBody", "content", "application/strategic-merge-patch+json"}));
    std::set<std::string> references;
    collect_references(document, references);
    for (const std::string& reference : references) {
        ASSERT_TRUE(reference.starts_with("#/components/schemas/")) << reference;
        EXPECT_TRUE(document.at_path({"components", "schemas", reference.substr(21)})) << reference;
    }
    // Only what this group needs.
    EXPECT_FALSE(document.at_path({"components", "schemas", "io.k8s.api.batch.v1.Job"}));
}

TEST_F(OpenApiTest, TheIndexNamesTheHashesOfTheDocuments) {
    const Value index = parsed(openapi_.v3_index());
    const std::string_view url = index.string_at({"paths", "apis/apps/v1", "serverRelativeURL"});
    EXPECT_EQ(url, "/openapi/v3/apis/apps/v1?hash=" + openapi_.v3("apis/apps/v1")->hash);
    EXPECT_TRUE(index.at_path({"paths", "api/v1"}));
    EXPECT_EQ(openapi_.v3("apis/nope/v1"), nullptr);
    EXPECT_NE(openapi_.v3("api/v1")->hash, openapi_.v3("apis/apps/v1")->hash);
}

/// The text of field `tag` inside a message.
std::string field(std::string_view message, protozero::pbf_tag_type tag) {
    protozero::pbf_reader reader(message.data(), message.size());
    return reader.next(tag) ? std::string(reader.get_view()) : std::string();
}
/// The value of the pair called `name` in field `tag` of a map wrapper.
std::string entry(std::string_view message, protozero::pbf_tag_type tag, std::string_view name) {
    protozero::pbf_reader reader(message.data(), message.size());
    while (reader.next(tag)) {
        const std::string pair(reader.get_view());
        if (field(pair, 1) == name) return field(pair, 2);
    }
    return "";
}

TEST_F(OpenApiTest, ProtobufSaysTheSame) {
    const std::string& document = *openapi_.v2_protobuf().body;
    EXPECT_EQ(field(document, 1), "2.0");
    EXPECT_EQ(field(field(document, 2), 2), "v1.36.0");
    const std::string deployment = entry(field(document, 9), 1, "io.k8s.api.apps.v1.Deployment");
    EXPECT_EQ(field(entry(deployment, 31, "x-kubernetes-group-version-kind"), 2),
              "[{\"group\":\"apps\",\"kind\":\"Deployment\",\"version\":\"v1\"}]\n");
    EXPECT_EQ(field(field(deployment, 22), 1), "object");
    const std::string spec = entry(field(deployment, 25), 1, "spec");
    EXPECT_EQ(field(spec, 1), "#/definitions/io.k8s.api.apps.v1.DeploymentSpec");
    EXPECT_EQ(field(spec, 4), "What is wanted.") << "next to the reference";
    const std::string item = entry(field(document, 8), 2, "/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
    EXPECT_EQ(field(field(item, 8), 5), "patchAppsV1NamespacedDeployment");
    // The numbers of definitions and paths agree with the JSON form.
    const Value json = parsed(openapi_.v2_json());
    std::size_t definitions = 0;
    const std::string all = field(document, 9);
    for (protozero::pbf_reader reader(all.data(), all.size()); reader.next(1); reader.skip()) ++definitions;
    EXPECT_EQ(definitions, json.find("definitions")->as_object().size());
}

TEST_F(OpenApiTest, ProtobufTellsThatAnythingIsAllowedBesides) {
    std::string out;
    append_gnostic_definition("a", *parse_json(R"({"type":"object","additionalProperties":true})"), out);
    // Definitions.NamedSchema.Schema, there additional_properties (21) with boolean (2).
    const std::string item = field(entry(out, 1, "a"), 21);
    protozero::pbf_reader reader(item);
    ASSERT_TRUE(reader.next(2));
    EXPECT_TRUE(reader.get_bool());
}

// --- What other servers have ---

constexpr const char* Flunder = R"({
  "paths": {
    "/apis/wardle.example.com/v1/flunders": {
      "parameters": [{"$ref": "#/parameters/pretty"}, {"name": "x", "in": "header", "type": "string"}],
      "get": {"operationId": "listFlunder", "responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/example.Flunder"}}}}
    },
    "/apis/wardle.example.com/v12/others": {"get": {"responses": {"200": {"schema": {"$ref": "#/definitions/example.Other"}}}}},
    "/apis/apps/v1/deployments": {"get": {"operationId": "evil"}}
  },
  "definitions": {
    "example.Flunder": {"type": "object", "properties": {
      "metadata": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
      "spec": {"$ref": "#/definitions/example.Spec"}},
      "x-kubernetes-group-version-kind": [{"group": "wardle.example.com", "version": "v1", "kind": "Flunder"}]},
    "example.Spec": {"properties": {"list": {"type": "array"}, "odd": {"type": 5, "items": {"type": "string"}, "enum": "x"}}},
    "example.Other": {"type": "object"},
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"description": "theirs", "type": "object"}
  },
  "parameters": {"pretty": {"name": "pretty", "in": "query", "type": "string", "uniqueItems": true}}
})";

std::shared_ptr<const OpenApiPart> part_of(std::string_view document, std::string_view root) {
    auto part = read_openapi_part(document, root);
    CHECK(part.has_value());
    return std::make_shared<OpenApiPart>(*std::move(part));
}

TEST_F(OpenApiTest, APartHoldsWhatItsPathsNeedInAFormThatKubectlAccepts) {
    const auto part = part_of(Flunder, "/apis/wardle.example.com/v1");
    ASSERT_EQ(part->paths.size(), 1u);
    const Value& get = *part->paths.find("/apis/wardle.example.com/v1/flunders")->find("get");
    EXPECT_EQ(to_json(*get.find("parameters")), R"([{"name":"pretty","in":"query","uniqueItems":true,"type":"string"}])");
    EXPECT_EQ(part->definitions.size(), 3u) << "those that are referred to, at any depth";
    for (const Member& definition : part->definitions) check_strictly(definition.value, definition.key);
    EXPECT_EQ(to_json(*part->definitions.find("example.Spec")),
              R"({"type":"object","properties":{"list":{"type":"array","items":{}},"odd":{}}})");
    EXPECT_FALSE(read_openapi_part("[]", "/apis/a/v1"));
    EXPECT_FALSE(
        read_openapi_part(R"({"paths":{"/apis/a/v1":{"get":{"responses":{"200":{"schema":{"$ref":"#/definitions/x"}}}}}}})", "/apis/a/v1"));
}

TEST_F(OpenApiTest, ShortDocumentsThatAskForManyCopiesAreRefused) {
    const std::string text(1 << 20, 'x');
    const std::string schema = R"("schema":{"description":")" + text + R"("})";
    const auto body = R"({"name":"body","in":"body",)" + schema + "}";
    const auto repeated = [](int times, const std::string& one) {
        std::string all;
        for (int i = 0; i < times; ++i) all += (i ? "," : "") + one;
        return all;
    };
    std::string paths;
    for (int i = 0; i < 1000; ++i)
        paths += (i ? ",\"/apis/a/v1/" : "\"/apis/a/v1/") + std::to_string(i) + R"(":{"get":{"parameters":[{"$ref":"#/parameters/p"}]}})";
    const std::string responses = R"({"get":{"produces":["a","b","c","d","e","f","g","h"],"responses":{"200":{)" + schema + R"(},"201":{)" +
                                  schema + R"(},"default":{)" + schema + R"(},"404":{)" + schema + R"(},"500":{)" + schema + "}}}}";
    const struct {
        const char* name;
        std::string document;
        bool refused;
    } rows[] = {
        {"one parameter of many paths", R"({"parameters":{"p":)" + body + R"(},"paths":{)" + paths + "}}", true},
        {"a path's parameter in its methods", R"({"paths":{"/apis/a/v1":{"get":{},"put":{},"parameters":[)" + body + "]}}}", false},
        {"the same, named again and again",
         R"({"parameters":{"p":)" + body + R"(},"paths":{"/apis/a/v1":{"get":{"parameters":[)" +
             repeated(100000, R"({"$ref":"#/parameters/p"})") + "]}}}}",
         false},
        {"media types of answers", R"({"paths":{"/apis/a/v1":)" + responses + "}}", true},
        {"media types repeated",
         R"({"paths":{"/apis/a/v1":{"post":{"consumes":[)" + repeated(100000, R"("a")") + R"(],"parameters":[)" + body + "]}}}}", false},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto part = read_openapi_part(row.document, "/apis/a/v1");
        EXPECT_EQ(part.has_value(), !row.refused);
        if (part) EXPECT_LT(to_json(to_v3(*part)).size(), LargestOpenApiPart);
    }
}

TEST_F(OpenApiTest, AnOperationHasAFewMediaTypesAndKnownTypesOnly) {
    const auto part = part_of(R"({"paths":{"/apis/a/v1/{name}":{"get":{
      "consumes": ["1","2","2","3","4","5","6","7","8","9"],
      "parameters": [{"name":"name","in":"path","type":"file"},{"name":"q","in":"query","type":"array"},{"name":"n","in":"query","type":"integer"}],
      "responses": {"default":{"description":"d"},"200":{"description":"ok"},"2XX":{"description":"x"},"":{},"20":{}}}}}})",
                              "/apis/a/v1");
    EXPECT_EQ(to_json(*part->paths.find("/apis/a/v1/{name}")->find("get")),
              R"({"consumes":["1","2","3","4","5","6","7","8"],)"
              R"("parameters":[{"name":"name","in":"path","required":true,"type":"string"},{"name":"q","in":"query","type":"string"},)"
              R"({"name":"n","in":"query","type":"integer"}],)"
              R"("responses":{"default":{"description":"d"},"200":{"description":"ok"}}})");
}

TEST_F(OpenApiTest, ADefinitionIsTheSameOnlyIfWhatItRefersToIs) {
    const auto part = [](const std::string& group, const std::string& foo) {
        const std::string path = "/apis/" + group + "/v1";
        return part_of(R"({"paths":{")" + path +
                           R"(":{"get":{"responses":{"200":{"schema":{"$ref":"#/definitions/Spec"}}}}}},"definitions":{)"
                           R"("Spec":{"properties":{"x":{"$ref":"#/definitions/Middle"},"again":{"$ref":"#/definitions/Spec"}}},)"
                           R"("Middle":{"properties":{"y":{"$ref":"#/definitions/Foo"}}},"Foo":{"type":")" +
                           foo + R"("}}})",
                       path);
    };
    openapi_.set_others(
        {.v3_hashes = {},
         .v2_parts = {{"apis/a/v1", part("a", "string")}, {"apis/b/v1", part("b", "integer")}, {"apis/c/v1", part("c", "integer")}}});
    const Value merged = parsed(openapi_.v2_json());
    const auto followed = [&](const std::string& group) {
        std::string_view name = merged.string_at({"paths", "/apis/" + group + "/v1", "get", "responses", "200", "schema", "$ref"});
        std::string all(name);
        for (const std::string_view member : {"x", "y"}) {
            name = merged.string_at({"definitions", name.substr(14), "properties", member, "$ref"});
            all += " " + std::string(name);
        }
        return all + " " + std::string(merged.string_at({"definitions", name.substr(14), "type"}));
    };
    EXPECT_EQ(followed("a"), "#/definitions/Spec #/definitions/Middle #/definitions/Foo string");
    EXPECT_EQ(followed("b"), "#/definitions/Spec_v2 #/definitions/Middle_v2 #/definitions/Foo_v2 integer");
    EXPECT_EQ(followed("c"), followed("b")) << "the same once more";
    EXPECT_EQ(merged.string_at({"definitions", "Spec_v2", "properties", "again", "$ref"}), "#/definitions/Spec_v2");
    EXPECT_FALSE(merged.at_path({"definitions", "Spec_v3"}));
}

TEST_F(OpenApiTest, AnotherServersPartJoinsTheDocumentAndItsDefinitionsKeepTheirMeaning) {
    const Value before = parsed(openapi_.v2_json());
    const auto part = part_of(Flunder, "/apis/wardle.example.com/v1");
    openapi_.set_others({.v3_hashes = {}, .v2_parts = {{"apis/wardle.example.com/v1", part}, {"apis/wardle.example.com/v2", part}}});
    const Value merged = parsed(openapi_.v2_json());
    EXPECT_EQ(merged.find("paths")->as_object().size(), before.find("paths")->as_object().size() + 1);
    EXPECT_EQ(merged.find("definitions")->as_object().size(), before.find("definitions")->as_object().size() + 3)
        << "the second part has the same definitions";
    EXPECT_EQ(merged.string_at({"definitions", "example.Flunder", "properties", "metadata", "$ref"}),
              "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta_v2");
    EXPECT_EQ(merged.string_at({"definitions", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta_v2", "description"}), "theirs");
    EXPECT_EQ(*merged.at_path({"definitions", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}),
              *before.at_path({"definitions", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}));
    const std::string protobuf = *openapi_.v2_protobuf().body;
    EXPECT_NE(entry(field(protobuf, 8), 2, "/apis/wardle.example.com/v1/flunders"), "");
    EXPECT_NE(entry(field(protobuf, 9), 1, "example.Flunder"), "");
    openapi_.set_others({});
    EXPECT_EQ(parsed(openapi_.v2_json()), before);
}

TEST_F(OpenApiTest, AGroupVersionThatAnotherServerHasIsDescribedByThatServer) {
    openapi_.set_others({.v3_hashes = {}, .v2_parts = {{"apis/apps/v1", part_of(Flunder, "/apis/apps/v1")}}});
    const Value merged = parsed(openapi_.v2_json());
    EXPECT_EQ(merged.string_at({"paths", "/apis/apps/v1/deployments", "get", "operationId"}), "evil");
    EXPECT_FALSE(merged.at_path({"paths", "/apis/apps/v1/daemonsets"}));
    EXPECT_TRUE(merged.at_path({"paths", "/apis/batch/v1/jobs"}));
}

TEST_F(OpenApiTest, APartWithoutADocumentOfVersion3IsConverted) {
    const std::string path = "apis/wardle.example.com/v1";
    openapi_.set_others({.v3_hashes = {},
                         .v2_parts = {{path, part_of(R"({
      "paths": {"/apis/wardle.example.com/v1/flunders": {"post": {
        "consumes": ["*/*"], "produces": ["application/json"],
        "parameters": [{"name": "body", "in": "body", "required": true, "schema": {"$ref": "#/definitions/F"}},
                       {"name": "pretty", "in": "query", "type": "string"}],
        "responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/F"}}}}}},
      "definitions": {"F": {"properties": {"f": {"description": "x", "$ref": "#/definitions/F"}}}}})",
                                                     "/" + path)}}});
    ASSERT_TRUE(openapi_.v3(path));
    const Value document = parsed(*openapi_.v3(path));
    EXPECT_EQ(to_json(*document.at_path({"paths", "/apis/wardle.example.com/v1/flunders", "post"})),
              R"({"requestBody":{"content":{"*/*":{"schema":{"$ref":"#/components/schemas/F"}}},"required":true},)"
              R"("parameters":[{"name":"pretty","in":"query","schema":{"type":"string"}}],)"
              R"("responses":{"200":{"description":"OK","content":{"application/json":{"schema":{"$ref":"#/components/schemas/F"}}}}}})");
    EXPECT_EQ(to_json(*document.at_path({"components", "schemas", "F"})),
              R"({"type":"object","properties":{"f":{"description":"x","allOf":[{"$ref":"#/components/schemas/F"}]}}})");
    EXPECT_EQ(parsed(openapi_.v3_index()).string_at({"paths", path, "serverRelativeURL"}),
              "/openapi/v3/" + path + "?hash=" + openapi_.v3(path)->hash);
    openapi_.set_others({});
    EXPECT_EQ(openapi_.v3(path), nullptr);
}

}  // namespace
}  // namespace porthole::schema
