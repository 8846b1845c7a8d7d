#include "schema/structural/structural_rules.h"

#include <gtest/gtest.h>

#include "schema/fields/owned_types.h"
#include "schema/json/json.h"
#include "schema/structural/schema_node.h"

namespace porthole::schema {
namespace {

std::string problems(std::string_view spec) {
    FieldErrors errors;
    SchemaPatterns patterns;
    validate_structural_schema(*parse_json("{\"type\":\"object\",\"properties\":{\"spec\":" + std::string(spec) + "}}"), "s", patterns,
                               errors);
    return errors.empty() ? "" : errors.text();
}

TEST(StructuralRules, RefuseWhatIsNotStructural) {
    struct {
        const char *spec, *problems;
    } const rows[] = {
        {R"({"type":"object","properties":{"a":{"type":"string"}}})", ""},
        {R"({"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]})", ""},
        {R"({"x-kubernetes-int-or-string":true,"allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]}]})", ""},
        {R"({})", "s.properties[spec].type: Required value: must not be empty for specified object fields"},
        {R"({"type":"array"})", "s.properties[spec].items: Required value: must be specified"},
        {R"({"type":"array","items":{}})", "s.properties[spec].items.type: Required value: must not be empty for specified array items"},
        {R"({"type":"text"})",
         R"(s.properties[spec].type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string")"},
        {R"({"type":"string","pattern":"("})",
         R"(s.properties[spec].pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`)"},
        {R"({"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}})",
         "s.properties[spec].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"},
        {R"({"type":"object","anyOf":[{"type":"object"}]})", "s.properties[spec].anyOf[0].type: Forbidden: must be empty to be structural"},
        {R"({"type":"object","anyOf":[{"properties":{"a":{"minLength":1}}}]})",
         "s.properties[spec].properties[a]: Required value: because it is defined in s.properties[spec].anyOf[0].properties[a]"},
        {R"({"type":"object","not":{"required":["a"],"nullable":true}})",
         "s.properties[spec].not.nullable: Forbidden: must be false to be structural"},
        {R"({"type":"string","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true})",
         R"(s.properties[spec].type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true)"},
        {R"({"type":"object","x-kubernetes-preserve-unknown-fields":false})",
         "s.properties[spec].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"},
        {R"({"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"bag"})",
         R"(s.properties[spec].x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "map", "set")"},
        {R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["id"],"items":{"type":"object","properties":{"id":{"type":"string"}}}})",
         "s.properties[spec].items.properties[id].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have "
         "a default "
         "or be a required property"},
        {R"({"type":"array","x-kubernetes-list-type":"set","items":{"type":"object"}})",
         "s.properties[spec].items.x-kubernetes-map-type: Required value: must be atomic as item of a list with "
         "x-kubernetes-list-type=set"},
        {R"({"type":"array","uniqueItems":true,"items":{"type":"string"}})",
         "s.properties[spec].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"},
        {R"({"type":"integer","default":"x"})",
         R"(s.properties[spec].default: Invalid value: "x": Invalid value: "string":  in body must be of type integer: "string")"},
    };
    for (const auto& row : rows) EXPECT_EQ(problems(row.spec), row.problems) << row.spec;
}

TEST(StructuralRules, KnowTheRootAndItsMetadata) {
    const auto root = [](std::string_view schema) {
        FieldErrors errors;
        SchemaPatterns patterns;
        validate_structural_schema(*parse_json(schema), "s", patterns, errors);
        return errors.empty() ? "" : errors.text();
    };
    EXPECT_EQ(root("{}"), "s.type: Required value: must not be empty at the root");
    EXPECT_EQ(root(R"({"type":"object","x-kubernetes-preserve-unknown-fields":true})"), "");
    EXPECT_EQ(root(R"({"type":"object","nullable":true})"), "s.nullable: Forbidden: nullable cannot be true at the root");
    EXPECT_EQ(
        root(R"({"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","maxLength":9}}}}})"), "");
    EXPECT_EQ(root(R"({"type":"object","properties":{"metadata":{"type":"object","properties":{"labels":{"type":"object"}}}}})"),
              "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly "
              "specified");
}

TEST(StructuralRules, BoundWhatAllPatternsBecome) {
    // A short pattern is a long program.
    const auto schema = [](int count) {
        std::string properties;
        for (int i = 0; i < count; ++i)
            properties +=
                (i ? ",\"p" : "\"p") + std::to_string(i) + R"(":{"type":"string","pattern":"[^)" + std::to_string(i) + R"(x]{999}"})";
        return R"({"type":"object","properties":{)" + properties + "}}";
    };
    EXPECT_EQ(problems(schema(50)), "");
    const std::string refused = problems(schema(2000));
    EXPECT_TRUE(refused.ends_with(".pattern: Forbidden: the patterns of the definition are too complex")) << refused.substr(0, 1000);
    EXPECT_EQ(refused.find("Forbidden"), refused.rfind("Forbidden")) << "said once";
    std::string repeated;
    for (int i = 0; i < 2000; ++i) repeated += (i ? ",\"p" : "\"p") + std::to_string(i) + R"(":{"type":"string","pattern":"[^x]{999}"})";
    EXPECT_EQ(problems(R"({"type":"object","properties":{)" + repeated + "}}"), "") << "each pattern counts once";
    SchemaPatterns patterns;
    Result<Regex> last = patterns.compile("a");
    for (int i = 0; i < 1000 && (last || last.error().reason == Reason::BadRequest); ++i) last = patterns.compile("(" + std::to_string(i));
    EXPECT_EQ(last.error().message, "the patterns of the definition are too complex") << "what is refused costs as well";
}

TEST(StructuralRules, TakeLinearTimeForLongPathsAndManyDefaults) {
    // Minutes or gigabytes where the text of a path is made for each node, or a schema is compiled for each default in it.
    std::string many, nested = R"({"type":"string","pattern":"[^x]{999}"})";
    for (int i = 0; i < 30000; ++i) many += (i ? ",\"" : "\"") + std::to_string(i) + R"(":{"type":"string"})";
    EXPECT_EQ(problems(R"({"type":"object","properties":{")" + std::string(700'000, 'n') + R"(":{"type":"object","properties":{)" + many +
                       "}}}}"),
              "");
    for (int i = 0; i < 150; ++i) nested = R"({"type":"object","default":{},"properties":{"a)" + std::to_string(i) + "\":" + nested + "}}";
    EXPECT_EQ(problems(nested), "");
    const std::string wrong =
        problems(R"({"type":"object","properties":{")" + std::string(700'000, 'n') + R"(":{"type":"object","properties":{)" +
                 many.substr(0, many.size() - 1) + R"(,"nullable":1,"id":"x"}}}})");
    EXPECT_LT(wrong.size(), 4u << 20);
}

TEST(StructuralRules, BoundWhatDefaultsCost) {
    std::string alternatives, items;
    for (int i = 0; i < 600; ++i) alternatives += (i ? ",{\"minLength\":" : "{\"minLength\":") + std::to_string(600 - i) + "}";
    for (int i = 0; i < 2000; ++i) items += i ? ",\"a\"" : "\"a\"";
    EXPECT_TRUE(problems(R"({"type":"array","default":[)" + items + R"(],"items":{"type":"string","anyOf":[)" + alternatives + "]}}")
                    .ends_with(".default: Forbidden: the defaults are too large to be checked against their schemas"));
}

TEST(StructuralRules, TakeLinearTimeForRequiredNames) {
    std::string names, properties;
    for (int i = 0; i < 20000; ++i) {
        names += (i ? ",\"" : "\"") + std::to_string(i) + '"';
        properties += (i ? ",\"" : "\"") + std::to_string(i) + R"(":{"type":"string"})";
    }
    const std::string items = R"({"type":"object","required":[)" + names + R"(],"properties":{)" + properties + "}}";
    EXPECT_EQ(problems(items), "");
    EXPECT_EQ(problems(R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":[)" + names + R"(],"items":)" +
                       items + "}"),
              "");
    OwnedTypes types;
    const Type metadata;
    const auto made = types.add_resource("Thing", *parse_json(items), metadata);
    ASSERT_TRUE(made);
    EXPECT_TRUE((*made)->find_field("19999")->is(Field::Required));
    std::string more;
    for (int i = 0; i < 65536; ++i) more += (i ? ",\"" : "\"") + std::to_string(i) + R"(":{"type":"string"})";
    EXPECT_FALSE(types.add_resource("Thing", *parse_json(R"({"type":"object","properties":{)" + more + "}}"), metadata));
}

TEST(StructuralRules, FindRulesInCel) {
    EXPECT_FALSE(has_validation_rules(*parse_json(R"({"type":"object"})")));
    EXPECT_TRUE(has_validation_rules(*parse_json(R"({"properties":{"a":{"items":{"x-kubernetes-validations":[{"rule":"self > 0"}]}}}})")));
}

}  // namespace
}  // namespace porthole::schema
