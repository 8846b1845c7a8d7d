#include "schema/structural/schema_validator.h"

#include <gtest/gtest.h>

#include "schema/json/json.h"

namespace porthole::schema {
namespace {

/// The errors of `value` as the member spec of an object whose schema of spec is `schema`.
std::string problems(std::string_view schema, std::string_view value, const char* old = nullptr) {
    const auto validator =
        SchemaValidator::compile(*parse_json("{\"type\":\"object\",\"properties\":{\"spec\":" + std::string(schema) + "}}"));
    EXPECT_TRUE(validator) << validator.error().message;
    const auto wrapped = [](std::string_view text) { return *parse_json("{\"spec\":" + std::string(text) + "}"); };
    FieldErrors errors;
    if (old)
        validator->validate_update(wrapped(value), wrapped(old), errors);
    else
        validator->validate(wrapped(value), errors);
    return errors.empty() ? "" : errors.text();
}

TEST(SchemaValidator, SpeaksInUpstreamsWords) {
    struct {
        const char *schema, *value, *problems;
    } const rows[] = {
        {R"({"type":"integer"})", "3", ""},
        {R"({"type":"integer"})", "3.0", ""},
        {R"({"type":"integer"})", "3.5", R"(spec: Invalid value: "number": spec in body must be of type integer: "number")"},
        {R"({"type":"integer"})", R"("3")", R"(spec: Invalid value: "string": spec in body must be of type integer: "string")"},
        {R"({"type":"string"})", "null", R"(spec: Invalid value: "null": spec in body must be of type string: "null")"},
        {R"({"type":"string","nullable":true})", "null", ""},
        {R"({"type":"integer","minimum":1})", "0", "spec: Invalid value: 0: spec in body should be greater than or equal to 1"},
        {R"({"type":"integer","maximum":9})", "12", "spec: Invalid value: 12: spec in body should be less than or equal to 9"},
        {R"({"type":"number","minimum":1,"exclusiveMinimum":true})", "1", "spec: Invalid value: 1: spec in body should be greater than 1"},
        {R"({"type":"number","maximum":1,"exclusiveMaximum":true})", "1", "spec: Invalid value: 1: spec in body should be less than 1"},
        {R"({"type":"integer","multipleOf":3})", "4", "spec: Invalid value: 4: spec in body should be a multiple of 3"},
        {R"({"type":"integer","format":"int32"})", "4294967296",
         R"(<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec)"},
        {R"({"type":"string","enum":["b","a"]})", R"("c")", R"(spec: Unsupported value: "c": supported values: "b", "a")"},
        {R"({"type":"integer","enum":[1,2]})", "3", R"(spec: Unsupported value: 3: supported values: "1", "2")"},
        {R"({"type":"string","pattern":"^[a-z]+$"})", R"("A")", R"(spec: Invalid value: "A": spec in body should match '^[a-z]+$')"},
        {R"({"type":"string","maxLength":2})", R"("äöü")", "spec: Too long: may not be more than 2 bytes"},
        {R"({"type":"string","maxLength":3})", R"("äöü")", ""},
        {R"({"type":"string","minLength":2})", R"("a")", R"(spec: Invalid value: "a": spec in body should be at least 2 chars long)"},
        {R"({"type":"string","format":"date"})", R"("today")",
         R"(spec: Invalid value: "today": spec in body must be of type date: "today")"},
        {R"({"type":"array","items":{"type":"integer"}})", R"([1,"x"])",
         R"(spec[1]: Invalid value: "string": spec[1] in body must be of type integer: "string")"},
        {R"({"type":"array","items":{"type":"integer"},"minItems":1})", "[]",
         "spec: Invalid value: 0: spec in body should have at least 1 items"},
        {R"({"type":"array","items":{"type":"integer"},"maxItems":1})", "[1,2]", "spec: Too many: 2: must have at most 1 item"},
        {R"({"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"})", R"(["a","a"])",
         R"(spec[1]: Duplicate value: "a")"},
        {R"({"type":"array","items":{"type":"object","properties":{"id":{"type":"string"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["id"]})",
         R"([{"id":"a"},{"id":"a"}])", R"(spec[1]: Duplicate value: {"id":"a"})"},
        {R"({"type":"object","required":["a"]})", "{}", "spec.a: Required value"},
        {R"({"type":"object","minProperties":1})", "{}", "spec: Invalid value: 0: spec in body should have at least 1 properties"},
        {R"({"type":"object","maxProperties":1})", R"({"a":1,"b":2})", "spec: Too many: 2: must have at most 1 item"},
        {R"({"type":"object","additionalProperties":{"type":"string"}})", R"({"a":1})",
         R"(spec.a: Invalid value: "integer": spec.a in body must be of type string: "integer")"},
        {R"({"x-kubernetes-int-or-string":true})", R"("80%")", ""},
        {R"({"x-kubernetes-int-or-string":true})", "true",
         R"(spec: Invalid value: "boolean": spec in body must be of type integer,string: "boolean")"},
        {R"({"type":"object","x-kubernetes-embedded-resource":true})", R"({"kind":"Pod"})",
         "spec.apiVersion: Required value: must not be empty"},
        {R"({"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]})", R"({"a":1,"b":1})",
         R"(<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives)"},
        {R"({"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]})", "{}",
         R"([<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid, spec.a: Required value])"},
        {R"({"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]})", "{}",
         R"([<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf), spec.a: Required value])"},
        {R"({"type":"object","allOf":[{"required":["a"]},{"required":["b"]}]})", R"({"a":1})",
         R"([spec.b: Required value, <nil>: Invalid value: "": "spec" must validate all the schemas (allOf)])"},
        {R"({"type":"object","not":{"required":["a"]}})", R"({"a":1})",
         R"(<nil>: Invalid value: "": "spec" must not validate the schema (not))"},
    };
    for (const auto& row : rows) EXPECT_EQ(problems(row.schema, row.value), row.problems) << row.schema << " " << row.value;
}

TEST(SchemaValidator, ForgivesAnUpdateWhatWasThereBefore) {
    constexpr const char* Bounded =
        R"({"type":"object","properties":{"a":{"type":"integer","maximum":1},"b":{"type":"integer","maximum":1}}})";
    EXPECT_EQ(problems(Bounded, R"({"a":5,"b":1})", R"({"a":5})"), "");
    EXPECT_EQ(problems(Bounded, R"({"a":6})", R"({"a":5})"), "spec.a: Invalid value: 6: spec.a in body should be less than or equal to 1");
    EXPECT_EQ(problems(Bounded, R"({"a":5,"b":5})", R"({"a":5})"),
              "spec.b: Invalid value: 5: spec.b in body should be less than or equal to 1");

    constexpr const char* Keyed =
        R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["id"],"items":{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"integer","maximum":1}}}})";
    EXPECT_EQ(problems(Keyed, R"([{"id":"new","n":1},{"id":"old","n":7}])", R"([{"id":"old","n":7}])"), "");
    EXPECT_EQ(problems(Keyed, R"([{"id":"old","n":8}])", R"([{"id":"old","n":7}])"),
              "spec[0].n: Invalid value: 8: spec[0].n in body should be less than or equal to 1");
}

TEST(SchemaValidator, ChecksTheNamesThatMetadataMayHave) {
    const auto validator = SchemaValidator::compile(*parse_json(
        R"({"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","maxLength":1}}}}})"));
    FieldErrors errors;
    validator->validate(*parse_json(R"({"metadata":{"name":"long","labels":{"a":"b"}}})"), errors);
    EXPECT_EQ(errors.text(), "metadata.name: Too long: may not be more than 1 bytes");
}

TEST(SchemaValidator, GivesUpOnObjectsThatCostTooMuch) {
    std::string alternatives = "{}", items = "{}";
    for (int i = 0; i < 1000; ++i) alternatives += ",{}";
    for (int i = 0; i < 2000; ++i) items += ",{}";
    const std::string schema = R"({"type":"array","items":{"type":"object","not":{"oneOf":[)" + alternatives + "]}}}";
    EXPECT_EQ(problems(schema, "[" + items + "]"), R"(<nil>: Invalid value: "": the object is too large to be checked against its schema)");
}

TEST(SchemaValidator, CountsWhatIsLongInASchema) {
    constexpr int Many = 20'000;
    constexpr const char* TooLarge = R"(<nil>: Invalid value: "": the object is too large to be checked against its schema)";
    std::string names = "\"n\"", items = "{}", words = "\"w\"";
    for (int i = 0; i < Many; ++i) names += ",\"n" + std::to_string(i) + '"';
    for (int i = 0; i < Many; ++i) items += ",{}";
    for (int i = 0; i < Many; ++i) words += ",\"w\"";
    EXPECT_EQ(problems(R"({"type":"array","items":{"type":"object","anyOf":[{"required":[)" + names + "]},{}]}}", "[" + items + "]"),
              TooLarge);
    EXPECT_EQ(problems(R"({"type":"array","items":{"type":"string","enum":[)" + names + "]}}", "[" + words + "]"), TooLarge);
}

TEST(SchemaValidator, RefusesSchemasThatAreNestedTooDeeply) {
    std::string schema = R"({"type":"integer"})";
    for (int depth = 0; depth < 300; ++depth) schema = R"({"type":"array","items":)" + schema + "}";
    EXPECT_FALSE(SchemaValidator::compile(*parse_json(schema, {.depth = 2000})));
    EXPECT_FALSE(SchemaValidator::compile(*parse_json(R"({"type":"string","pattern":"("})")));
}

}  // namespace
}  // namespace porthole::schema
