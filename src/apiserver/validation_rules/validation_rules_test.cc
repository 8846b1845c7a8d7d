#include "apiserver/validation_rules/validation_rules.h"

#include <gtest/gtest.h>

#include "apiserver/validation_rules/rule_node.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

Value yaml(const std::string& text) { return *schema::parse_yaml(text); }

/// The rules of a schema, as a version of a definition has them.
struct RulesOf {
    explicit RulesOf(const std::string& text)
        : schema(yaml(text)), validator(*schema::SchemaValidator::compile(schema)), rules(schema, validator) {}

    schema::FieldErrors check(const Value& object, const Value* old = nullptr) const {
        schema::FieldErrors errors;
        rules.validate(object, old, errors);
        return errors;
    }
    std::string created(const std::string& object) const { return text(check(yaml(object))); }
    std::string updated(const std::string& old, const std::string& object) const {
        const Value before = yaml(old);
        return text(check(yaml(object), &before));
    }
    static std::string text(const schema::FieldErrors& errors) { return errors.empty() ? "" : errors.text(); }

    Value schema;
    schema::SchemaValidator validator;
    ValidationRules rules;
};

/// One rule on the field `spec` of this schema.
RulesOf on_spec(const std::string& properties, const std::string& rule, const std::string& more = "") {
    return RulesOf("{type: object, properties: {spec: {type: object, properties: {" + properties +
                   "}, x-kubernetes-validations: [{rule: \"" + rule + "\"" + more + "}]}}}");
}

/// The same within a budget, for an update that changes nothing.
schema::FieldErrors evaluate(const std::string& text, const Value& object, RuleBudget& budget) {
    const Value schema = yaml(text);
    const auto validator = schema::SchemaValidator::compile(schema);
    SchemaTypes types;
    const RuleNode::Ptr rules = RuleNode::create(schema, *validator->root(), types.declare(schema, true), types);
    schema::FieldErrors errors;
    evaluate_rules(*rules, object, &object, {}, false, budget, errors);
    return errors;
}

TEST(ValidationRules, RefuseWhatBreaksThem) {
    const RulesOf rules = on_spec("replicas: {type: integer}, limit: {type: integer}", "self.replicas <= self.limit");
    EXPECT_EQ(rules.created("{spec: {replicas: 1, limit: 2}}"), "");
    EXPECT_EQ(rules.created("{spec: {replicas: 3, limit: 2}}"), "spec: Invalid value: failed rule: self.replicas <= self.limit");
    EXPECT_EQ(rules.created("{}"), "");
    EXPECT_EQ(rules.created("{spec: null}"), "");
}

TEST(ValidationRules, AreEvaluatedAtEveryPlace) {
    const RulesOf rules(R"(
type: object
x-kubernetes-validations: [{rule: "self.metadata.name != 'bad' && self.kind == 'Widget'"}]
properties:
  list: {type: array, items: {type: integer, x-kubernetes-validations: [{rule: self > 0}]}}
  map: {type: object, additionalProperties: {type: string, x-kubernetes-validations: [{rule: self != 'bad'}]}}
  nested: {type: array, items: {type: array, items: {type: object, properties: {a: {type: string, x-kubernetes-validations: [{rule: self.size() < 3}]}}}}}
  embedded:
    type: object
    x-kubernetes-embedded-resource: true
    x-kubernetes-preserve-unknown-fields: true
    x-kubernetes-validations: [{rule: "self.kind == 'Pod' && self.metadata.name == 'web'"}]
  1odd: {type: integer, x-kubernetes-validations: [{rule: self > 0}]}
)");
    const std::string head = "apiVersion: v1, kind: Widget, metadata: {name: good}";
    struct {
        const char *object, *problem;
    } const rows[] = {
        {"list: [1, 2], map: {a: b}, nested: [[{a: b}]]", ""},
        {"list: [1, 0]", "list[1]: Invalid value: 0: failed rule: self > 0"},
        {"map: {x.y: bad}", R"(map[x.y]: Invalid value: "bad": failed rule: self != 'bad')"},
        {"nested: [[], [{}, {a: bcd}]]", R"(nested[1][1].a: Invalid value: "bcd": failed rule: self.size() < 3)"},
        {"embedded: {apiVersion: v1, kind: Pod, metadata: {name: web, labels: {a: b}}, spec: {}}", ""},
        {"embedded: {apiVersion: v1, kind: Node, metadata: {name: web}}",
         "embedded: Invalid value: failed rule: self.kind == 'Pod' && self.metadata.name == 'web'"},
        {"1odd: 0", "1odd: Invalid value: 0: failed rule: self > 0"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.object);
        EXPECT_EQ(rules.created("{" + head + ", " + row.object + "}"), row.problem);
    }
    EXPECT_EQ(rules.created("{kind: Widget, metadata: {name: bad}}"),
              "<nil>: Invalid value: failed rule: self.metadata.name != 'bad' && self.kind == 'Widget'");
}

TEST(ValidationRules, SayWhatTheDefinitionSays) {
    struct {
        const char *name, *more, *cause, *field, *message;
    } const rows[] = {
        {"message", ", message: ' too small '", "FieldValueInvalid", "spec", "Invalid value: too small"},
        {"reason required", ", message: m, reason: FieldValueRequired", "FieldValueRequired", "spec", "Required value: m"},
        {"reason forbidden", ", message: m, reason: FieldValueForbidden", "FieldValueForbidden", "spec", "Forbidden: m"},
        {"reason duplicate", ", message: m, reason: FieldValueDuplicate", "FieldValueDuplicate", "spec", "Duplicate value"},
        {"field path", ", message: m, fieldPath: .a", "FieldValueInvalid", "spec.a", "Invalid value: m"},
        {"expression", R"x(, message: m, messageExpression: "'a is ' + string(self.a)")x", "FieldValueInvalid", "spec",
         "Invalid value: a is 1"},
        {"expression that fails", R"x(, message: m, messageExpression: "string(1 / (self.a - 1))")x", "FieldValueInvalid", "spec",
         "Invalid value: m"},
        {"expression that is empty", R"x(, message: m, messageExpression: "' '")x", "FieldValueInvalid", "spec", "Invalid value: m"},
        {"expression of two lines", R"x(, messageExpression: "'a\\nb'")x", "FieldValueInvalid", "spec",
         "Invalid value: failed rule: self.a > 1"},
        {"expression that is too long", R"x(, message: m, messageExpression: "lists.range(2000).map(i, 'abc').join()")x",
         "FieldValueInvalid", "spec", "Invalid value: m"},
        {"expression of an old value that is not", R"x(, message: m, messageExpression: "string(oldSelf.a)")x", "FieldValueInvalid", "spec",
         "Invalid value: m"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto errors = on_spec("a: {type: integer}", "self.a > 1", row.more).check(yaml("{spec: {a: 1}}"));
        ASSERT_EQ(errors.size(), 1u);
        EXPECT_EQ(errors.causes()[0].type, row.cause);
        EXPECT_EQ(errors.causes()[0].field, row.field);
        EXPECT_EQ(errors.causes()[0].message, row.message);
    }
}

TEST(ValidationRules, CompareWithTheOldValue) {
    const RulesOf rules = on_spec("a: {type: integer}", "self.a >= oldSelf.a");
    EXPECT_EQ(rules.created("{spec: {a: 1}}"), "");
    EXPECT_EQ(rules.updated("{}", "{spec: {a: 1}}"), "");
    EXPECT_EQ(rules.updated("{spec: {a: 1}}", "{spec: {a: 2}}"), "");
    EXPECT_EQ(rules.updated("{spec: {a: 1}}", "{spec: {a: 0}}"), "spec: Invalid value: failed rule: self.a >= oldSelf.a");
    EXPECT_EQ(rules.updated("{spec: {}}", "{spec: {a: 0}}"),
              "spec: Invalid value: \"object\": no such key: a evaluating rule: self.a >= oldSelf.a");

    const RulesOf optional = on_spec("a: {type: integer}", "oldSelf.hasValue() ? self.a >= oldSelf.value().a : self.a == 1",
                                     ", optionalOldSelf: true, message: m");
    EXPECT_EQ(optional.created("{spec: {a: 1}}"), "");
    EXPECT_EQ(optional.created("{spec: {a: 2}}"), "spec: Invalid value: m");
    EXPECT_EQ(optional.updated("{spec: {a: 1}}", "{spec: {a: 2}}"), "");
    EXPECT_EQ(optional.updated("{spec: {a: 1}}", "{spec: {a: 0}}"), "spec: Invalid value: m");
}

TEST(ValidationRules, FindTheOldValueByKey) {
    const RulesOf rules(R"(
type: object
properties:
  list:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name, zone]
    items:
      type: object
      required: [name]
      properties:
        name: {type: string}
        zone: {type: integer, default: 1}
        size: {type: integer, x-kubernetes-validations: [{rule: self == oldSelf}]}
  map: {type: object, additionalProperties: {type: integer, x-kubernetes-validations: [{rule: self == oldSelf}]}}
)");
    const std::string old = "{list: [{name: a, zone: 1, size: 1}, {name: a, zone: 2, size: 2}], map: {a: 1, b: 2}}";
    EXPECT_EQ(rules.updated(old, "{list: [{name: b, zone: 1, size: 9}, {name: a, zone: 2, size: 2}, {name: a, zone: 1, size: 1}]}"), "");
    EXPECT_EQ(rules.updated(old, "{list: [{name: a, zone: 2, size: 1}]}"), "list[0].size: Invalid value: 1: failed rule: self == oldSelf");
    EXPECT_EQ(rules.updated(old, "{map: {b: 2, c: 3}}"), "");
    EXPECT_EQ(rules.updated(old, "{map: {b: 3}}"), "map[b]: Invalid value: 3: failed rule: self == oldSelf");
}

TEST(ValidationRules, CompareListsAsTheirTypesSay) {
    const auto list = [](const std::string& type) {
        return on_spec("l: {type: array, " + type +
                           "items: {type: object, properties: {k: {type: string}, v: {type: integer}}}}, s: {type: array, " +
                           (type.contains("set") ? "x-kubernetes-list-type: set, " : "") + "items: {type: integer}}",
                       "self == oldSelf", ", message: m");
    };
    const std::string old = "{spec: {l: [{k: a, v: 1}, {k: b, v: 2}], s: [1, 2]}}";
    const std::string reordered = "{spec: {l: [{k: b, v: 2}, {k: a, v: 1}], s: [1, 2]}}",
                      reordered_set = "{spec: {l: [{k: a, v: 1}, {k: b, v: 2}], s: [2, 1]}}";
    EXPECT_EQ(list("").updated(old, old), "");
    EXPECT_EQ(list("").updated(old, reordered), "spec: Invalid value: m");
    EXPECT_EQ(list("x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], ").updated(old, reordered), "");
    EXPECT_EQ(list("x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], ").updated(old, reordered_set), "spec: Invalid value: m");
    EXPECT_EQ(list("x-kubernetes-list-type: set, ").updated(old, reordered_set), "");
    const RulesOf merged = on_spec(
        "l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, properties: {k: {type: "
        "string}, "
        "v: {type: integer}}}}",
        "(oldSelf.l + self.l).map(x, x.v) == [9, 2, 3] && oldSelf.l + self.l == self.l + oldSelf.l.filter(x, x.k == 'b')", ", message: m");
    EXPECT_EQ(merged.updated("{spec: {l: [{k: a, v: 1}, {k: b, v: 2}]}}", "{spec: {l: [{k: a, v: 9}, {k: c, v: 3}]}}"), "");
    const RulesOf unknown = on_spec("o: {type: object, x-kubernetes-preserve-unknown-fields: true}", "self == oldSelf", ", message: m");
    EXPECT_EQ(unknown.updated("{spec: {o: {a: [1, {b: c}]}}}", "{spec: {o: {a: [1, {b: c}]}}}"), "");
    EXPECT_EQ(unknown.updated("{spec: {o: {a: [1, {b: c}]}}}", "{spec: {o: {a: [1, {b: d}]}}}"), "spec: Invalid value: m");
}

TEST(ValidationRules, CompareLongListsInTheTimeThatTheyCost) {
    // A list may be as long as a request, and comparing two costs a tenth of a unit for an item: going through one for each item of the
    // other would take an hour.
    std::string up, down;
    for (int i = 0; i < 50'000; ++i) up += std::to_string(i) + ",", down += std::to_string(49'999 - i) + ",";
    const RulesOf rules = on_spec("s: {type: array, x-kubernetes-list-type: set, items: {type: integer}}",
                                  "self.s == oldSelf.s && (self.s + oldSelf.s).size() == 50000", ", message: m");
    EXPECT_EQ(rules.updated("{spec: {s: [" + up + "]}}", "{spec: {s: [" + down + "]}}"), "");
}

TEST(ValidationRules, ForgiveWhatHasNotChanged) {
    const RulesOf rules(R"(
type: object
properties:
  spec:
    type: object
    x-kubernetes-validations: [{rule: "!has(self.a) || self.a > 10", message: whole}]
    properties:
      a: {type: integer, x-kubernetes-validations: [{rule: self > 10, message: small}]}
      b: {type: integer}
      l: {type: array, items: {type: integer, x-kubernetes-validations: [{rule: self > 10, message: item}]}}
)");
    const Value old = yaml("{spec: {a: 1, b: 1, l: [1]}}");
    const auto same = rules.check(old, &old);
    EXPECT_TRUE(same.empty());
    EXPECT_EQ(same.warnings(), (std::vector<std::string>{"spec: Invalid value: whole", "spec.a: Invalid value: 1: small",
                                                         "spec.l[0]: Invalid value: 1: item"}));
    EXPECT_EQ(rules.updated("{spec: {a: 1, b: 1, l: [1]}}", "{spec: {a: 1, b: 2, l: [1]}}"), "spec: Invalid value: whole");
    EXPECT_EQ(rules.updated("{spec: {a: 1, l: [1]}}", "{spec: {a: 20, l: [1]}}"), "");
    // An item of a list without keys is compared as part of the list.
    EXPECT_EQ(rules.updated("{spec: {a: 20, l: [1]}}", "{spec: {a: 20, l: [1, 20]}}"), "spec.l[0]: Invalid value: 1: item");
    // A rule that looks at the old value means the change itself.
    const RulesOf transition = on_spec("a: {type: integer}", "self.a > oldSelf.a");
    EXPECT_EQ(transition.updated("{spec: {a: 1}}", "{spec: {a: 1}}"), "spec: Invalid value: failed rule: self.a > oldSelf.a");
}

TEST(ValidationRules, TellOfMistakesWhileTheyRun) {
    struct {
        const char *rule, *problem;
    } const rows[] = {
        {"self.l[5] == 1", "index out of bounds: 5 evaluating rule: self.l[5] == 1"},
        {"self.a / 0 == 1", "division by zero evaluating rule: self.a / 0 == 1"},
        {"self.p + 1 == 2",
         "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.p + 1 == 2"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.rule);
        const RulesOf rules =
            on_spec("a: {type: integer}, l: {type: array, items: {type: integer}}, p: {x-kubernetes-int-or-string: true}", row.rule);
        EXPECT_EQ(rules.created("{spec: {a: 1, l: [], p: x}}"), std::string("spec: Invalid value: \"object\": ") + row.problem);
    }
}

TEST(ValidationRules, EndAtTheirBudgets) {
    std::string items;
    for (int i = 0; i < 1000; ++i) items += "1,";
    const std::string object = "{spec: {l: [" + items + "]}}";
    const std::string quadratic = "self.l.all(x, self.l.all(y, x == y))";
    EXPECT_EQ(on_spec("l: {type: array, items: {type: integer}}", quadratic).created(object),
              "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run "
              "due to call "
              "cost exceeds limit for rule: " +
                  quadratic);
    EXPECT_EQ(
        on_spec("l: {type: array, items: {type: integer}}", "false",
                ", messageExpression: \"self.l.all(x, self.l.all(y, x == y)) ? 'a' : 'b'\"")
            .created(object),
        "spec: Invalid value: \"object\": no further validation rules will be run due to call cost exceeds limit for messageExpression: "
        "\"self.l.all(x, self.l.all(y, x == y)) ? 'a' : 'b'\"");
    // Rules that are each within the limit, and too much together.
    RuleBudget budget{.cost = 8'000};
    const auto errors = evaluate(
        "{type: object, x-kubernetes-validations: [{rule: 'lists.range(1000).all(i, i >= 0)'}, {rule: 'lists.range(1001).all(i, i >= 0)'}, "
        "{rule: 'lists.range(1002).all(i, i >= 0)'}, {rule: 'false'}], properties: {a: {type: integer, x-kubernetes-validations: [{rule: "
        "'false'}]}}}",
        yaml("{a: 1}"), budget);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors.causes()[0].field, "<nil>");
    EXPECT_EQ(errors.causes()[0].message,
              "Invalid value: \"object\": validation failed due to running out of cost budget, no further validation rules will be run");
    EXPECT_LT(budget.cost, 0);
}

TEST(ValidationRules, BoundWhatRulesWithoutCostMayTake) {
    // The rule `true` costs nothing, and a long list of them would take an hour.
    std::string rules, items;
    for (int i = 0; i < 3000; ++i) rules += "{rule: 'true'},";
    for (int i = 0; i < 5000; ++i) items += "1,";
    const RulesOf many("{type: object, properties: {l: {type: array, items: {type: integer, x-kubernetes-validations: [" + rules + "]}}}}");
    const auto errors = many.check(yaml("{l: [" + items + "]}"));
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors.causes()[0].message,
              "Invalid value: \"integer\": validation failed due to running out of cost budget, no further validation rules will be run");
}

TEST(ValidationRules, BoundWhatComparisonsLookAt) {
    // Comparing a list of one list costs 1, however long that one is.
    std::string items;
    for (int i = 0; i < 10'000; ++i) items += "1,";
    const Value object = yaml("{a: [[" + items + "]]}");
    for (const char* comparison : {"self.a == oldSelf.a", "self.a in [oldSelf.a]", "sets.contains([self.a], [oldSelf.a])"}) {
        SCOPED_TRACE(comparison);
        RuleBudget budget{.work = 100'000};
        const auto errors = evaluate(
            "{type: object, properties: {a: {type: array, items: {type: array, items: {type: integer}}}}, "
            "x-kubernetes-validations: [{rule: \"lists.range(50000).all(i, " +
                std::string(comparison) + ")\"}]}",
            object, budget);
        ASSERT_EQ(errors.size(), 1u);
        EXPECT_TRUE(errors.text().contains("operation cancelled: actual cost limit exceeded"));
        EXPECT_EQ(budget.work, 0u);
    }
}

TEST(ValidationRules, BoundTheirErrors) {
    std::string items;
    for (int i = 0; i < 20'000; ++i) items += "0,";
    const RulesOf rules(
        "{type: object, properties: {l: {type: array, items: {type: integer, x-kubernetes-validations: [{rule: self > 0}]}}}}");
    EXPECT_EQ(rules.check(yaml("{l: [" + items + "]}")).size(), 1000u);
    const RulesOf talkative(
        "{type: object, properties: {l: {type: array, items: {type: integer, x-kubernetes-validations: [{rule: self > 0, message: " +
        std::string(100'000, 'm') + "}]}}}}");
    EXPECT_EQ(talkative.check(yaml("{l: [" + items + "]}")).size(), 3u);
    // Warnings are bounded, too, and hide no error.
    const Value old = yaml("{a: {l: [" + items + "]}, b: 1}"), changed = yaml("{a: {l: [" + items + "]}, b: 0}");
    const RulesOf both(
        "{type: object, properties: {a: {type: object, properties: {l: {type: array, items: {type: integer, x-kubernetes-validations: "
        "[{rule: "
        "self > 0}]}}}}, b: {type: integer, x-kubernetes-validations: [{rule: self > 0}]}}}");
    const auto errors = both.check(changed, &old);
    EXPECT_EQ(errors.warnings().size(), 100u);
    EXPECT_EQ(errors.text(), "b: Invalid value: 0: failed rule: self > 0");
}

TEST(ValidationRules, WaitForAnObjectOfTheRightForm) {
    const RulesOf rules = on_spec("a: {type: integer}", "self.a > 1");
    schema::FieldErrors errors;
    errors.too_long("spec.b", 3);
    rules.rules.validate(yaml("{spec: {a: 0}}"), nullptr, errors);
    EXPECT_EQ(errors.causes().back().field, "<nil>");
    EXPECT_EQ(errors.causes().back().message,
              "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to "
              "complete "
              "validation");
    // Other errors do not keep rules from being evaluated.
    schema::FieldErrors others;
    others.invalid("spec.b", 3, "should be less than 2");
    rules.rules.validate(yaml("{spec: {a: 0}}"), nullptr, others);
    EXPECT_EQ(others.causes().back().message, "Invalid value: failed rule: self.a > 1");
}

TEST(ValidationRules, ReportWhatDoesNotCompile) {
    // A definition can have been stored by another server.
    EXPECT_TRUE(
        on_spec("a: {type: integer}", "self.gone")
            .created("{spec: {}}")
            .starts_with(
                "spec: Invalid value: \"object\": rule compile error: compilation failed: ERROR: <input>:1:5: undefined field 'gone'"));
    EXPECT_EQ(
        RulesOf("{type: object, properties: {a: {x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{rule: 'true'}]}}}")
            .created("{a: 1}"),
        "");
    EXPECT_EQ(
        RulesOf(
            "{type: object, properties: {1a: {type: array, items: {x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: "
            "[{rule: 'true'}]}}}}")
            .created("{1a: [1]}"),
        "");
}

}  // namespace
}  // namespace porthole::apiserver
