#include "apiserver/validation_rules/definition_rules.h"

#include <gtest/gtest.h>

#include "schema/yaml/yaml.h"

namespace porthole::apiserver {
namespace {

std::string problems(const std::string& schema, const RuleCheck& check = {}) {
    schema::FieldErrors errors;
    check_rules(*schema::parse_yaml(schema), "s", check, errors);
    return errors.empty() ? "" : errors.text();
}

/// A spec with one rule.
std::string with_rule(const std::string& rule, const std::string& properties = "a: {type: integer}, t: {type: string}") {
    return "{type: object, properties: {spec: {type: object, properties: {" + properties + "}, x-kubernetes-validations: [{" + rule +
           "}]}}}";
}

constexpr const char* Place = "s.properties[spec].x-kubernetes-validations[0].";

TEST(DefinitionRules, ChecksWhatRulesSay) {
    struct {
        const char *rule, *field, *problem;  // field nullptr: accepted
    } const rows[] = {
        {"rule: 'self.a > 0'", nullptr, ""},
        {"rule: 'self.a > 0', message: positive, reason: FieldValueForbidden, fieldPath: .a", nullptr, ""},
        {"rule: ' '", "rule", "Required value: rule is not specified"},
        {"rule: 'true', message: ' '", "message", R"(Invalid value: " ": must be non-empty if specified)"},
        {R"(rule: 'true', message: "a\nb")", "message", R"(Invalid value: "a\nb": must not contain line breaks)"},
        {R"(rule: "self.a\n> 0")", "message", "Required value: message must be specified if rule contains line breaks"},
        {"rule: 'true', messageExpression: ' '", "messageExpression", "Required value: messageExpression must be non-empty if specified"},
        {"rule: 'true', reason: Because", "reason",
         R"(Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")"},
        {"rule: 'true', fieldPath: .b", "fieldPath", R"(Invalid value: ".b": must be a valid path)"},
        {"rule: 'self.a == oldSelf.a'", nullptr, ""},
        {"rule: 'oldSelf.hasValue()', optionalOldSelf: true", nullptr, ""},
        {"rule: 'true', optionalOldSelf: true", "optionalOldSelf", "Invalid value: true: may not be set if oldSelf is not used in rule"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.rule);
        EXPECT_EQ(problems(with_rule(row.rule)), row.field ? std::string(Place) + row.field + ": " + row.problem : "");
    }
}

TEST(DefinitionRules, CompilesExpressionsByTheTypesOfTheSchema) {
    EXPECT_EQ(
        problems(with_rule("rule: 'self.b < 1'")),
        std::string(Place) +
            R"(rule: Invalid value: {"Rule":"self.b \u003c 1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: )"
            "compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b < 1\n | ....^");
    EXPECT_EQ(
        problems(with_rule("rule: self.a")),
        std::string(Place) +
            R"(rule: Invalid value: {"Rule":"self.a","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: )"
            "cel expression must evaluate to a bool");
    EXPECT_EQ(
        problems(with_rule("rule: 'true', messageExpression: self.a")),
        std::string(Place) +
            R"(messageExpression: Invalid value: {"Rule":"true","Message":"","MessageExpression":"self.a","Reason":null,"FieldPath":"","OptionalOldSelf":null}: )"
            "messageExpression must evaluate to a string");
    EXPECT_TRUE(problems(with_rule("rule: 'true', messageExpression: self.b"))
                    .contains("messageExpression compilation failed: ERROR: <input>:1:5"));
}

TEST(DefinitionRules, SeesEveryKindOfSchema) {
    struct {
        const char *properties, *rule;
    } const rows[] = {
        {"namespace: {type: string}", "self.__namespace__ == 'a' || self.namespace == 'a'"},
        {"a-b.c: {type: string}", "self.a__dash__b__dot__c == 'a'"},
        {"p: {x-kubernetes-int-or-string: true}", "type(self.p) == int ? self.p < 5 : self.p.endsWith('%')"},
        {"o: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: integer}}}", "self.o.a > 1"},
        {"opt: {type: string, nullable: true}", "!has(self.opt) || self.opt != ''"},
        {"b: {type: string, format: byte}", "self.b == b'abc'"},
        {"d: {type: string, format: date}", "self.d.getFullYear() > 2000"},
        {"d: {type: string, format: date-time}", "self.d < timestamp('2030-01-01T00:00:00Z')"},
        {"d: {type: string, format: duration}", "self.d < duration('1h')"},
        {"l: {type: array, maxItems: 5, items: {type: string, maxLength: 5}}", "self.l.all(x, x.size() > 1)"},
        {"m: {type: object, maxProperties: 5, additionalProperties: {type: integer}}", "self.m.all(k, self.m[k] > 1)"},
        {"e: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}",
         "self.e.kind == 'Pod' && self.e.metadata.name.startsWith('a') && self.e.apiVersion != ''"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.rule);
        std::string rule = row.rule;
        for (std::size_t at = 0; (at = rule.find('\'', at)) != rule.npos; at += 2) rule.insert(at, 1, '\'');
        EXPECT_EQ(problems(with_rule("rule: '" + rule + "'", row.properties)), "");
    }
    EXPECT_EQ(problems("{type: object, x-kubernetes-validations: [{rule: \"self.metadata.name != '' && self.metadata.generateName != 'x' "
                       "&& self.kind != ''\"}]}"),
              "");
    EXPECT_TRUE(
        problems("{type: object, x-kubernetes-validations: [{rule: 'has(self.metadata.labels)'}]}").contains("undefined field 'labels'"));
    EXPECT_EQ(
        problems(
            "{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{rule: 'true'}]}}}"),
        "s.properties[a].x-kubernetes-validations: Internal error: internal error: failed to construct type information for "
        "x-kubernetes-validations rules: unable to convert structural schema to CEL declarations");
    EXPECT_EQ(problems("{type: object, properties: {1a: {type: integer, x-kubernetes-validations: [{rule: 'self > 0'}]}}}"), "");
}

TEST(DefinitionRules, RefusesOldValuesThatCannotBeFound) {
    const auto list = [](const std::string& more) {
        return "{type: object, properties: {l: {type: array, " + more +
               "items: {type: object, required: [k], properties: {k: {type: string}, v: {type: integer, x-kubernetes-validations: [{rule: "
               "'self >= "
               "oldSelf'}]}}}}}}";
    };
    const std::string refused =
        "s.properties[l].items.properties[v].x-kubernetes-validations[0].rule: Invalid value: \"self >= oldSelf\": oldSelf cannot be used "
        "on the "
        "uncorrelatable portion of the schema within s.properties[l]";
    EXPECT_EQ(problems(list("")), refused);
    EXPECT_EQ(problems(list("x-kubernetes-list-type: atomic, ")), refused);
    EXPECT_EQ(problems(list("x-kubernetes-list-type: set, ")), refused);
    EXPECT_EQ(problems(list("x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], ")), "");
    EXPECT_EQ(problems("{type: object, properties: {m: {type: object, additionalProperties: {type: integer, x-kubernetes-validations: "
                       "[{rule: 'self >= "
                       "oldSelf'}]}}}}"),
              "");
}

TEST(DefinitionRules, LimitsWhatRulesMayCost) {
    constexpr const char* Hint =
        " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";
    // Every text of a list of any length, each of any length, is searched for every other.
    const std::string quadratic =
        with_rule("rule: 'self.l.all(x, self.l.all(y, x.contains(y)))'", "l: {type: array, items: {type: string}}");
    EXPECT_EQ(problems(quadratic),
              "[" + std::string(Place) + "rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x" + Hint + ", " +
                  Place +
                  "rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema, s: "
                  "Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds "
                  "budget by factor of more than 100x" +
                  Hint + "]");
    // A list's items count as often as there can be some.
    const auto items = [](const std::string& most) {
        return "{type: object, properties: {l: {type: array, " + most +
               "items: {type: string, maxLength: 1000, x-kubernetes-validations: [{rule: \"self.contains('abc')\"}]}}}}";
    };
    EXPECT_EQ(problems(items("maxItems: 10, ")), "");
    EXPECT_TRUE(problems(items("")).starts_with(
        "[s.properties[l].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget "
        "by factor of"))
        << problems(items(""));
    std::string sum = "self.t";
    for (int i = 0; i < 8; ++i) sum += " + self.t";
    EXPECT_TRUE(problems(with_rule("rule: 'true', messageExpression: " + sum))
                    .contains("messageExpression: Forbidden: estimated messageExpression cost exceeds budget by factor of 1."));
}

TEST(DefinitionRules, LimitsWhatRulesTakeToCompile) {
    // Each stage has what is before it twice.
    std::string doubled = "optional.of(1)", rules;
    for (int i = 0; i < 11; ++i) doubled += ".optMap(a, a)";
    for (int i = 0; i < 200; ++i) rules += "{rule: '" + doubled + ".hasValue()'},";
    const std::string text = problems("{type: object, properties: {a: {type: integer}}, x-kubernetes-validations: [" + rules + "]}");
    EXPECT_TRUE(text.contains("expressions are too large, all together")) << text.substr(0, 1000);
}

TEST(DefinitionRules, LimitsTheSumOfCosts) {
    // Each rule costs less than the limit of one, and the sum more than that of all.
    std::string rules;
    for (int i = 0; i < 20; ++i) rules += "{rule: 'self.l.all(x, self.l.all(y, x < y || " + std::to_string(i) + " < 0))'},";
    const std::string schema =
        "{type: object, properties: {l: {type: array, maxItems: 1000, items: {type: integer}}}, x-kubernetes-validations: [" + rules + "]}";
    schema::FieldErrors errors;
    check_rules(*schema::parse_yaml(schema), "s", {}, errors);
    ASSERT_EQ(errors.size(), 5u) << (errors.empty() ? "" : errors.text());
    EXPECT_EQ(errors.causes()[0].message,
              "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema");
    EXPECT_EQ(errors.causes()[4].field, "s");
}

TEST(DefinitionRules, KeepsWhatIsStored) {
    // A function that only the release after the present one lets new expressions use.
    const std::string expensive =
        with_rule("rule: 'self.l.all(x, self.l.all(y, x != y))'", "l: {type: array, maxItems: 3000, items: {type: string, maxLength: 9}}");
    EXPECT_TRUE(problems(expensive).contains("estimated rule cost exceeds budget"));
    EXPECT_FALSE(problems(expensive, {.is_unchanged = true}).contains("estimated rule cost exceeds budget"));
    StoredExpressions stored;
    stored.add(*schema::parse_yaml(with_rule("rule: 'self.a > 0', messageExpression: \"'a'\"")));
    EXPECT_EQ(stored.rules, (std::set<std::string, std::less<>>{"self.a > 0"}));
    EXPECT_EQ(stored.messages, (std::set<std::string, std::less<>>{"'a'"}));
}

TEST(DefinitionRules, HoldForDefaults) {
    const auto schema = [](const std::string& value, const std::string& rule) {
        return "{type: object, properties: {a: {type: integer, default: " + value + ", x-kubernetes-validations: [{rule: '" + rule +
               "'}]}}}";
    };
    EXPECT_EQ(problems(schema("1", "self > 0")), "");
    EXPECT_EQ(problems(schema("0", "self > 0")), "s.properties[a].default: Invalid value: 0: failed rule: self > 0");
    EXPECT_EQ(
        problems("{type: object, properties: {o: {type: object, default: {a: 0}, properties: {a: {type: integer, x-kubernetes-validations: "
                 "[{rule: 'self > 0'}]}}}}}"),
        "s.properties[o].default.a: Invalid value: 0: failed rule: self > 0");
    // A default is what stays, and what is new.
    EXPECT_EQ(problems(schema("0", "self > oldSelf")), "s.properties[a].default: Invalid value: 0: failed rule: self > oldSelf");
    EXPECT_EQ(problems("{type: object, properties: {a: {type: integer, default: 1, x-kubernetes-validations: [{rule: 'oldSelf.hasValue()', "
                       "optionalOldSelf: true}]}}}"),
              "s.properties[a].default: Invalid value: 1: failed rule: oldSelf.hasValue()");
}

TEST(DefinitionRules, ShowsOnlyTextsWhereTheSchemaIsWrong) {
    EXPECT_EQ(problems(with_rule("rule: 'self.gone'"), {.is_structural = false}), "");
    EXPECT_EQ(problems(with_rule("rule: ' '"), {.is_structural = false}),
              std::string(Place) + "rule: Required value: rule is not specified");
}

TEST(DefinitionRules, BoundsTheAnswerToADefinitionOfMistakes) {
    std::string rules;
    for (int i = 0; i < 3000; ++i) rules += "{rule: '" + std::string(400, 'x') + " + " + std::to_string(i) + "'},";
    schema::FieldErrors errors;
    check_rules(*schema::parse_yaml("{type: object, x-kubernetes-validations: [" + rules + "]}"), "s", {}, errors);
    std::size_t size = 0;
    for (const Cause& cause : errors.causes()) size += cause.message.size() + cause.field.size();
    EXPECT_GE(size, std::size_t{1} << 20);
    EXPECT_LT(size, (std::size_t{1} << 20) + 10'000);
}

}  // namespace
}  // namespace porthole::apiserver
