#include "schema/fields/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/apps_v1.h"
#include "api/core_v1.h"
#include "api/registry.h"
#include "schema/fields/decoding_fixture.h"
#include "schema/random_object.h"

namespace porthole::schema {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Kind& kind(std::string_view api_version, std::string_view name) { return *api::registry().find_kind(api_version, name); }

std::string decoding_error(const Kind& kind, std::string_view json, FieldValidation mode = FieldValidation::Strict) {
    const auto decoded = decode_object(kind, json, mode);
    return decoded ? "no error" : decoded.error().message;
}

TEST(Decoding, TellsUnknownAndDuplicateFieldsByTheMode) {
    const Kind& deployment = kind("apps/v1", "Deployment");
    const std::string_view text = R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","nme":"b"},
        "spec":{"replicas":1,"replicas":2,"template":{"spec":{"containers":[{"name":"c","imagee":"x"}]}}}})";
    EXPECT_EQ(decoding_error(deployment, text),
              "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: unknown field \"metadata.nme\", "
              "unknown field \"spec.template.spec.containers[0].imagee\", duplicate field \"spec.replicas\"");

    const auto warned = decode_object(deployment, text, FieldValidation::Warn);
    ASSERT_TRUE(warned);
    EXPECT_THAT(warned->warnings, ElementsAre("unknown field \"metadata.nme\"", "unknown field \"spec.template.spec.containers[0].imagee\"",
                                              "duplicate field \"spec.replicas\""));
    EXPECT_EQ(warned->value.at_path({"spec", "replicas"})->as_int(), 2);
    EXPECT_EQ(warned->value.at_path({"metadata", "nme"}), nullptr);

    const auto ignored = decode_object(deployment, text, FieldValidation::Ignore);
    ASSERT_TRUE(ignored);
    EXPECT_THAT(ignored->warnings, IsEmpty());
}

TEST(Decoding, TellsOfAHundredFindingsAndCutsTheirPaths) {
    const std::string key(100'000, 'k');
    std::string twice;
    for (int i = 0; i < 1000; ++i) twice += R"("a":"1",)";
    // In a body with apiVersion, and in one that is read as a tree for want of it.
    for (const char* head : {R"({"apiVersion":"apps/v1","kind":"Deployment",)", "{"}) {
        const auto decoded =
            decode_object(kind("apps/v1", "Deployment"), head + ("\"" + key + "\":{" + twice + "\"b\":1}}"), FieldValidation::Warn);
        ASSERT_TRUE(decoded);
        EXPECT_LE(decoded->warnings.size(), 200u);
        for (const std::string& warning : decoded->warnings) EXPECT_LT(warning.size(), 5000u);
    }
}

TEST(Decoding, RefusesWhatTakesFarMoreMemoryThanItsText) {
    const auto pod_of = [](const char* head, std::size_t containers) {
        std::string text = std::string(head) + R"("spec":{"containers":[{})";
        for (std::size_t i = 1; i < containers; ++i) text += ",{}";
        return decode_object(kind("v1", "Pod"), text + "]}}", FieldValidation::Ignore);
    };
    for (const char* head : {R"({"apiVersion":"v1","kind":"Pod",)", "{"}) {
        EXPECT_TRUE(pod_of(head, 50'000));
        const auto refused = pod_of(head, 1'000'000);
        ASSERT_FALSE(refused);
        EXPECT_TRUE(refused.error().message.ends_with("the object takes too much memory")) << refused.error().message;
    }
}

TEST(Decoding, TellsWrongTypesInGosWords) {
    const std::string start = "Deployment in version \"v1\" cannot be handled as a Deployment: ";
    struct {
        const char* name;
        const char* spec;
        const char* message;
    } const rows[] = {
        {"text for a number", R"({"replicas":"3"})",
         "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"},
        {"fraction for a number", R"({"replicas":1.5})",
         "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32"},
        {"too large", R"({"replicas":3000000000})",
         "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32"},
        {"object for a list", R"({"template":{"spec":{"containers":{}}}})",
         "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container"},
        {"number for a text, in a list", R"({"template":{"spec":{"containers":[{"image":1}]}}})",
         "json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.image of type string"},
        {"list for a struct", R"({"template":[]})",
         "json: cannot unmarshal array into Go struct field DeploymentSpec.spec.template of type v1.PodTemplateSpec"},
        {"number for a label", R"({"template":{"metadata":{"labels":{"a":1}}}})",
         "json: cannot unmarshal number into Go struct field ObjectMeta.spec.template.metadata.labels of type string"},
        {"bad quantity", R"({"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"1x"}}}]}}})",
         "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
        {"bad time", R"({"template":{"metadata":{"creationTimestamp":"yesterday"}}})",
         "parsing time \"yesterday\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"yesterday\" as \"2006\""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(decoding_error(kind("apps/v1", "Deployment"), std::string("{\"spec\":") + row.spec + "}"), start + row.message);
    }
}

TEST(Decoding, WritesWhatKubernetesWouldWrite) {
    const auto decoded = decode_object(kind("v1", "Pod"),
                                       R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":null},"spec":{"hostNetwork":false,
        "nodeName":"","containers":[{"name":"c","resources":{"limits":{"cpu":"0.5","memory":"1024Mi"}}}]}})",
                                       FieldValidation::Strict);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(
        to_json(decoded->value),
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"500m","memory":"1Gi"}}}]},"status":{}})");
}

TEST(Decoding, ReadsStraightWhatHasNoFaultAndNamesItsKind) {
    const Kind& deployment = kind("apps/v1", "Deployment");
    struct {
        const char* name;
        std::string text;
        FieldValidation mode;
        bool straight;
    } const rows[] = {
        {"faultless", R"({"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":1}})", FieldValidation::Strict, true},
        {"unknown field", R"({"apiVersion":"apps/v1","kind":"Deployment","x":1})", FieldValidation::Strict, false},
        {"unknown field, warned of", R"({"apiVersion":"apps/v1","kind":"Deployment","x":1})", FieldValidation::Warn, true},
        {"wrong type", R"({"apiVersion":"apps/v1","kind":"Deployment","spec":1})", FieldValidation::Ignore, false},
        {"no JSON", "{", FieldValidation::Ignore, false},
        {"no version", R"({"kind":"Deployment"})", FieldValidation::Ignore, false},
        {"another version", R"({"apiVersion":"apps/v2","kind":"Deployment"})", FieldValidation::Ignore, false},
        {"no kind", R"({"apiVersion":"apps/v1"})", FieldValidation::Ignore, false},
        {"another kind", R"({"apiVersion":"apps/v1","kind":"DaemonSet"})", FieldValidation::Ignore, false},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(decode_struct(deployment, row.text, row.mode).has_value(), row.straight);
    }
}

TEST(Defaults, AreTheSameInAStructAsInATree) {
    for (const Kind* kind : api::kinds()) {
        SCOPED_TRACE(kind->kind);
        for (std::uint32_t seed = 0; seed < 6; ++seed) {
            Instance object = seed == 0 ? Instance(*kind->type) : RandomObject(seed).make(*kind->type);
            const Value before = to_value(*kind, object.get());
            Value tree = before;
            apply_table_defaults(tree, *kind->type);
            const bool changed = apply_table_defaults(*kind->type, object.get());
            EXPECT_EQ(to_json(to_value(*kind, object.get())), to_json(canonical(*kind->type, tree).value()));
            EXPECT_TRUE(changed || to_value(*kind, object.get()) == before);
            EXPECT_FALSE(apply_table_defaults(*kind->type, object.get())) << "nothing is left to be set";
        }
    }
}

TEST(Defaults, FillWhatIsNotSet) {
    Value deployment = *parse_json(R"({"spec":{"replicas":0,"selector":{},"template":{"spec":{"containers":[
        {"name":"c","ports":[{"containerPort":80}],"livenessProbe":{"httpGet":{"port":80},"periodSeconds":5}}],
        "volumes":[{"name":"v","secret":{"secretName":"s"}}]}}}})");
    apply_table_defaults(deployment, api::apps::v1::Deployment::schema_type());
    EXPECT_EQ(to_json(deployment["spec"]["replicas"]), "0") << "a number that is set stays, even zero";
    EXPECT_EQ(deployment.string_at({"spec", "strategy", "type"}), "RollingUpdate");
    const Value& pod = *deployment.at_path({"spec", "template", "spec"});
    EXPECT_EQ(pod.string_at({"restartPolicy"}), "Always");
    EXPECT_EQ(to_json(at(pod, "securityContext")), "{}");
    const Value& container = pod.at_path({"containers"})->as_array()[0];
    EXPECT_EQ(
        to_json(at(container, "livenessProbe")),
        R"({"httpGet":{"port":80,"path":"/","scheme":"HTTP"},"periodSeconds":5,"timeoutSeconds":1,"successThreshold":1,"failureThreshold":3})");
    EXPECT_EQ(container.at_path({"ports"})->as_array()[0].string_at({"protocol"}), "TCP");
    EXPECT_EQ(pod.at_path({"volumes"})->as_array()[0].at_path({"secret", "defaultMode"})->as_int(), 420);
    EXPECT_EQ(pod.find("affinity"), nullptr) << "a struct by pointer is not made";
}

TEST(Structure, SaysWhatTheTablesKnow) {
    struct {
        const char* name;
        const char* kind;
        const char* object;
        const char* text;
    } const rows[] = {
        {"fine", "Deployment", R"({"spec":{"selector":{},"template":{"spec":{"containers":[{"name":"c"}]}}}})", "[]"},
        {"required", "Deployment", R"({"spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}})",
         "[spec.selector: Required value, spec.template.spec.containers[0].name: Required value]"},
        {"empty required list", "Deployment", R"({"spec":{"selector":{},"template":{"spec":{"containers":[]}}}})",
         "spec.template.spec.containers: Required value"},
        {"enumeration", "Deployment",
         R"({"spec":{"selector":{},"strategy":{"type":"Slowly"},"template":{"spec":{"containers":[{"name":"c"}]}}}})",
         R"(spec.strategy.type: Unsupported value: "Slowly": supported values: "Recreate", "RollingUpdate")"},
        {"bound", "Deployment", R"({"spec":{"replicas":-1,"selector":{},"template":{"spec":{"containers":[{"name":"c"}]}}}})",
         "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
        {"duplicate by key", "Deployment", R"({"spec":{"selector":{},"template":{"spec":{"containers":[{"name":"c"},{"name":"c"}]}}}})",
         R"(spec.template.spec.containers[1]: Duplicate value: {"name":"c"})"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        FieldErrors errors;
        validate_structure(*parse_json(row.object), kind("apps/v1", row.kind), errors);
        EXPECT_EQ(errors.text(), row.text);
    }
}

TEST(Structure, RefusesAChangeOfAnImmutableField) {
    FieldErrors errors;
    validate_immutable(*parse_json(R"({"value":1,"description":"a"})"), *parse_json(R"({"value":2,"description":"b"})"),
                       kind("scheduling.k8s.io/v1", "PriorityClass"), errors);
    EXPECT_EQ(errors.text(), "value: Invalid value: 2: field is immutable");
}

TEST(FieldPath, IsAValueOfAnyLength) {
    const std::string name(50, 'n');
    FieldPath path;
    std::string text;
    for (int i = 0; i < 4; ++i) {  // short, and longer than what is kept in place
        path = path.child(name).index(12345);
        text += (i == 0 ? "" : ".") + name + "[12345]";
        EXPECT_EQ(path.text(), text);
    }
    const FieldPath copy = path;
    path = FieldPath("short").key("a/b");
    EXPECT_EQ(path.text(), "short[a/b]");
    EXPECT_EQ(copy.text(), text);
    path = copy;
    EXPECT_EQ(path.text(), text);
}

TEST(FieldErrors, AreBoundedInNumberAndSize) {
    FieldErrors many;
    for (int i = 0; i < 100'000; ++i) many.required(FieldPath("spec").index(i));
    EXPECT_EQ(many.size(), FieldErrors::MostCauses);
    EXPECT_TRUE(many.text().ends_with("spec[999]: Required value, and 99000 more errors]"));
    FieldErrors large;
    const FieldPath path = FieldPath("spec").key(std::string(600'000, 'k'));
    for (int i = 0; i < 1000; ++i) large.required(path);
    EXPECT_EQ(large.size(), 2u);
    many.append(large);
    EXPECT_EQ(many.size(), FieldErrors::MostCauses);
    EXPECT_TRUE(many.text().ends_with("and 100000 more errors]"));
}

TEST(FieldErrors, BecomeAStatus) {
    FieldErrors errors;
    const FieldPath container = FieldPath("spec").child("containers").index(0);
    errors.required(container.child("name"));
    errors.invalid(FieldPath("metadata").child("labels").key("a/b"), "x y", "must not contain blanks");
    errors.required(container.child("name"));
    errors.too_many(FieldPath("spec.hosts"), 3, 1);
    errors.too_long(FieldPath("spec.data"), 10);
    errors.forbidden(FieldPath("spec.x"), "not now");
    errors.not_supported(FieldPath("spec.y"), "c", {"a", "b"});
    const Error error = errors.to_error("apps", "Deployment", "web");
    EXPECT_EQ(error.reason, Reason::Invalid);
    EXPECT_EQ(
        error.message,
        "Deployment.apps \"web\" is invalid: [spec.containers[0].name: Required value, metadata.labels[a/b]: Invalid value: \"x y\": must "
        "not "
        "contain blanks, spec.hosts: Too many: 3: must have at most 1 item, spec.data: Too long: may not be more than 10 bytes, spec.x: "
        "Forbidden: not now, spec.y: Unsupported value: \"c\": supported values: \"a\", \"b\"]");
    ASSERT_EQ(error.details->causes.size(), 7u);
    EXPECT_EQ(error.details->causes[1].type, "FieldValueInvalid");
    EXPECT_EQ(error.details->causes[1].message, "Invalid value: \"x y\": must not contain blanks");
    EXPECT_EQ(error.details->causes[1].field, "metadata.labels[a/b]");
}

}  // namespace
}  // namespace porthole::schema
