#include <gtest/gtest.h>

#include "cel/environment.h"
#include "cel/library/authorizer.h"
#include "schema/json/json.h"

namespace porthole::cel {
namespace {

using Tree = schema::Value;

/// A declared object, as rules of custom resources see it.
struct Rules {
    ObjectTypes types;
    Tree object = *schema::parse_json(
        R"({"spec": {"replicas": 3, "ratio": 2, "since": "2024-05-01T10:00:00Z", "wait": "1h30m", "x-y": "dash", "namespace": "n", "port": "http",
                     "tags": ["b", "a"], "labels": {"a.b": "c"}, "gone": null}})");
    TypeRef self;
    Environment environment = declare();

    Environment declare() {
        ObjectType& spec = types.declare("Object.spec");
        spec.add("replicas", types::bounded(types::integer(), 0));
        spec.add("ratio", types::real());
        spec.add("since", types::timestamp());
        spec.add("wait", types::duration());
        spec.add("x-y", types::bounded(types::string(), 20));
        spec.add("namespace", types::string());
        spec.add("port", types::dyn());
        spec.add("tags", types::list_of(types::bounded(types::string(), 10), ListSemantics::Set, {}, 5));
        spec.add("labels", types::map(types::string(), types::string()));
        spec.add("gone", types::string());
        types.declare("Object").add("spec", types::object(spec), true);
        self = types::object(types.declare("Object"));
        return Environment::kubernetes({.minor = 37}).with_variable("self", self).with_variable("unset", types::integer());
    }
    Evaluation evaluate(std::string_view expression, EvaluateOptions options = {}) const {
        const auto program = environment.compile(expression);
        if (!program) return {Value::error(program.error().to_string()), 0, false};
        return program->evaluate(Activation().set("self", Value::of(object, self.get())), options);
    }
    std::string text(std::string_view expression) const { return evaluate(expression).value.to_string(); }
};

TEST(Cel, ReadsAnObjectAsItsTypesSay) {
    const Rules rules;
    struct {
        const char *name, *expression, *value;
    } const rows[] = {
        {"number", "self.spec.replicas + 1", "4"},
        {"whole number of a field of type number", "self.spec.ratio / 4.0", "0.5"},
        {"date-time", "self.spec.since.getFullYear()", "2024"},
        {"duration", "self.spec.wait > duration('1h')", "true"},
        {"name with a dash", "self.spec.x__dash__y", "dash"},
        {"reserved word", "self.spec.__namespace__", "n"},
        {"int or string", "type(self.spec.port) == string", "true"},
        {"a null counts as absent", "has(self.spec.gone)", "false"},
        {"reading what is absent", "self.spec.gone", "no such key: gone"},
        {"key of a map", "self.spec.labels['a.b']", "c"},
        {"a set has no order", "self.spec.tags == ['a', 'b']", "true"},
        {"sets unite", "(self.spec.tags + ['a', 'z']).size()", "3"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(rules.text(row.expression), row.value);
    }
}

TEST(Cel, ReportsIssuesInUpstreamsForm) {
    const Rules rules;
    struct {
        const char *expression, *issues;
    } const rows[] = {
        {"1 + x", "ERROR: <input>:1:5: undeclared reference to 'x' (in container '')\n | 1 + x\n | ....^"},
        {"self.spec.nope", "ERROR: <input>:1:10: undefined field 'nope'\n | self.spec.nope\n | .........^"},
        {"1 + 'a'", "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + 'a'\n | ..^"},
        {"'é' + 1", "ERROR: <input>:1:5: found no matching overload for '_+_' applied to '(string, int)'\n | 'é' + 1\n | .．..^"},
        {"1 +",
         "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', "
         "NUM_FLOAT, "
         "NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 1 +\n | ...^"},
        {"[1, 'a']", "ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'a']\n | ....^"},
        {"duration('x')", "ERROR: <input>:1:10: invalid duration argument\n | duration('x')\n | .........^"},
        {"has(self)", "ERROR: <input>:1:5: invalid argument to has() macro\n | has(self)\n | ....^"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.expression);
        const auto program = rules.environment.compile(row.expression);
        ASSERT_FALSE(program);
        EXPECT_EQ(program.error().to_string(), row.issues);
    }
}

TEST(Cel, LogicHidesErrorsThatDoNotDecide) {
    const Rules rules;
    EXPECT_EQ(rules.text("1 / 0 > 1 || true"), "true");
    EXPECT_EQ(rules.text("false && 1 / 0 > 1"), "false");
    EXPECT_EQ(rules.text("1 / 0 > 1 && true"), "division by zero");
    EXPECT_EQ(rules.text("[1, 0, 2].exists(i, 2 / i == 1)"), "true");
    EXPECT_EQ(rules.text("unset == 1"), "no such attribute(s): unset");
}

TEST(Cel, EndsAtTheCostLimit) {
    const Rules rules;
    const Evaluation whole = rules.evaluate("[1, 2, 3].all(i, i > 0)");
    EXPECT_EQ(whole.cost, 16u);
    EXPECT_FALSE(whole.is_cancelled);
    EXPECT_FALSE(rules.evaluate("[1, 2, 3].all(i, i > 0)", {.cost_limit = 16}).is_cancelled);
    const Evaluation cut = rules.evaluate("[1, 2, 3].all(i, i > 0) || true", {.cost_limit = 15});
    EXPECT_TRUE(cut.is_cancelled);
    EXPECT_EQ(cut.value.to_string(), "operation cancelled: actual cost limit exceeded");
}

TEST(Cel, DoesNothingThatCostsMoreThanIsLeft) {
    const Environment environment = Environment::kubernetes({.minor = 37}).with_variable("many", types::list(types::integer()));
    const auto program = environment.compile("many.distinct()");
    ASSERT_TRUE(program) << program.error().to_string();
    Tree many = Tree::array();
    for (int i = 0; i < 300'000; ++i) many.as_array().emplace_back(i);
    // Each item would be compared with all others, which takes minutes.
    EXPECT_TRUE(program->evaluate(Activation().set("many", Value::of(many)), {.cost_limit = 1'000'000}).is_cancelled);
}

TEST(Cel, EstimatesCostByDeclaredSizes) {
    const Rules rules;
    const auto program = rules.environment.compile("self.spec.tags.all(t, t.startsWith(self.spec.x__dash__y))");
    ASSERT_TRUE(program) << program.error().to_string();
    // A read of the list (3), and for at most 5 tags: the condition (2), the tag (1), the prefix (3) and its 20 characters (2), the result
    // (1).
    EXPECT_EQ(program->estimate_cost(), (CostRange{4, 3 + 5 * (2 + 1 + 3 + 2 + 1) + 1}));
}

TEST(Cel, BoundsWhatIsCompiled) {
    const Environment environment =
        Environment::kubernetes({.minor = 37}).with_limits({.code_points = 100'000, .depth = 250, .nodes = 1000});
    struct {
        const char* name;
        std::string expression;
    } const rows[] = {
        {"size", std::string(100'001, ' ')},
        {"parentheses", std::string(300, '(') + "1" + std::string(300, ')')},
        {"lists", std::string(300, '[') + std::string(300, ']')},
        {"operators",
         [] {
             std::string sum = "1";
             for (int i = 0; i < 300; ++i) sum += "+1";
             return sum;
         }()},
        {"macros that copy",
         [] {
             std::string chain = "optional.of(1)";
             for (int i = 0; i < 30; ++i) chain += ".optMap(x, x)";
             return chain;
         }()},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_FALSE(environment.compile(row.expression));
    }
}

TEST(Cel, BoundsTypes) {
    // Each stage doubles the type: the checker would take 2^45 steps.
    std::string maps = "[1]", lists = "[1]", open = "[]";
    for (int i = 0; i < 45; ++i) {
        maps += ".map(a, {a: a})";
        lists += ".map(a, [a])";
        open += ".map(a, {a: a})";
    }
    const Environment environment = Environment::kubernetes({.minor = 37});
    for (const std::string& expression : {maps, open, open + " == []"}) {
        const auto program = environment.compile(expression);
        ASSERT_FALSE(program);
        EXPECT_NE(program.error().to_string().find("too large"), std::string::npos) << program.error().to_string();
    }
    EXPECT_TRUE(environment.compile(lists));
}

/// Costs do not see how much a comparison or a text has to look at: values share their parts.
TEST(Cel, BoundsWalksOverValues) {
    std::string doubled = "[[1]]", nested = "[[[]]]";
    for (int i = 0; i < 40; ++i) {
        doubled += ".map(x, [x, x])";
        nested += ".map(x, [x, x])";
    }
    const std::string y = "dyn(" + doubled + ")";
    const std::string rows[] = {
        y + " == " + y,
        doubled + " in [" + doubled + "]",
        y + " in [1, 2]",
        "{" + y + ": 1, " + y + ": 2}.size() == 1",
        "'%s'.format([" + doubled + "])",
        doubled + ".flatten(50).size() == 1",
        nested + ".indexOf([])",
        "[" + doubled + "].distinct().size() == 1 && sets.contains([" + doubled + "], [" + doubled + "])",
        "[" + nested + "].lastIndexOf(" + nested + ")",
        "[" + y + "].includes(" + y + ")",
        "optional.of(" + y + ") == optional.of(" + y + ")",
    };
    const Environment environment = Environment::kubernetes({.minor = 37});
    for (const std::string& row : rows) {
        SCOPED_TRACE(row);
        const auto program = environment.compile(row);
        ASSERT_TRUE(program) << program.error().to_string();
        const Evaluation done = program->evaluate({}, {.cost_limit = 1'000'000, .work_limit = 100'000});
        EXPECT_TRUE(done.is_cancelled) << done.cost;
        EXPECT_LT(done.work, 200'000u);
    }
    // An error's text is cut, and no comparison is needed where kinds differ.
    const Evaluation done = environment.compile("{'a': 1}[" + y + "]")->evaluate({});
    EXPECT_LT(done.value.as_text().size(), 20'000u);
    EXPECT_LT(environment.compile(y)->evaluate({}).value.to_string().size(), 20'000u);
    EXPECT_EQ(environment.compile(y)->evaluate({}).value.to_tree(), std::nullopt);
}

/// The limit holds also where the caller gives none: what costs a unit may take ten steps.
TEST(Cel, BoundsWorkByTheCostLimit) {
    const auto program = Environment::kubernetes({.minor = 37}).compile("lists.range(1000).all(i, true || true || true || i in [1, 2, 3])");
    EXPECT_FALSE(program->evaluate({}, {.cost_limit = 10'000}).is_cancelled);
    const Tree big = *schema::parse_json("[[" + [] {
        std::string items = "1";
        for (int i = 0; i < 20'000; ++i) items += ",1";
        return items;
    }() + "]]");
    const auto equal = Environment::kubernetes({.minor = 37}).with_variable("x", types::dyn()).compile("x == x");
    Activation activation;
    activation.set("x", Value::of(big));
    EXPECT_TRUE(equal->evaluate(activation, {.cost_limit = 1000}).is_cancelled);
    EXPECT_EQ(equal->evaluate(activation, {.cost_limit = 10'000}).cost, 3u);
}

/// What is the square of a list's size is charged before it is done.
TEST(Cel, ChargesBeforeItRuns) {
    const Environment environment = Environment::kubernetes({.minor = 37}).with_variable("x", types::list(types::integer()));
    std::vector<Value> items;
    for (int i = 0; i < 3000; ++i) items.push_back(Value::integer(i));
    Activation activation;
    activation.set("x", Value::list(std::move(items)));
    for (const char* expression : {"x.distinct().size() == 3000", "sets.contains(x, x)", "sets.equivalent(x, x)"}) {
        SCOPED_TRACE(expression);
        const Evaluation done = environment.compile(expression)->evaluate(activation, {.cost_limit = 20'000, .work_limit = UINT64_MAX});
        EXPECT_TRUE(done.is_cancelled);
        EXPECT_LT(done.work, 1000u);
    }
}

TEST(Cel, BoundsWhatItMakes) {
    const auto repeated = [](std::string start, const char* stage) {
        for (int i = 0; i < 36; ++i) start += stage;
        return start;
    };
    const std::string text(400'000, 'a');
    const std::string rows[] = {
        repeated("[[1]]", ".map(x, x + x)") + ".size() == 1",
        repeated("['aaaaaaaa']", ".map(x, '%s%s'.format([x, x]))") + ".size() == 1",
        "text.replace('', text).size() == 1",
        "text.replace('a', text).size() == 1",
        "lists.range(1000).map(i, text).join(',').size() == 1",
        "lists.range(300).map(i, text.split('')).size() == 1",
    };
    const Environment environment = Environment::kubernetes({.minor = 37}).with_variable("text", types::string());
    Activation activation;
    activation.set("text", Value::string(text));
    for (const std::string& row : rows) {
        SCOPED_TRACE(row);
        const auto program = environment.compile(row);
        ASSERT_TRUE(program) << program.error().to_string();
        EXPECT_TRUE(program->evaluate(activation, {.work_limit = UINT64_MAX}).is_cancelled);
    }
}

TEST(Cel, BoundsNesting) {
    Value nested = Value::integer(1);
    for (int i = 0; i < 499; ++i) nested = Value::list({nested});
    const Environment environment = Environment::kubernetes({.minor = 37}).with_variable("x", types::dyn());
    Activation activation;
    activation.set("x", nested);
    EXPECT_FALSE(environment.compile("[x] == [x]")->evaluate(activation).is_cancelled);
    for (const char* expression : {"[[x]]", "{1: [x]}", "[optional.of(x)]", "[1].map(i, [x])", "[[1]] + [[x]]"})
        EXPECT_TRUE(environment.compile(expression)->evaluate(activation).is_cancelled) << expression;
}

TEST(Cel, CostsDoNotOverflow) {
    const auto program = Environment::kubernetes({.minor = 37}).compile("[[1], [2], [3], [4], [5]].flatten(9223372036854775807)");
    EXPECT_TRUE(program->evaluate({}, {.cost_limit = 1'000'000}).is_cancelled);
    EXPECT_EQ(program->evaluate({}).cost, UINT64_MAX);
}

TEST(Cel, CompilesWithinTheWorkOfSeveral) {
    const Environment environment = Environment::kubernetes({.minor = 37});
    Work work({.steps = 1000, .bytes = UINT64_MAX});
    const std::string sum = "1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10";
    int compiled = 0;
    while (compiled < 1000 && environment.compile(sum, work)) ++compiled;
    EXPECT_GT(compiled, 10);
    EXPECT_LT(compiled, 100);
    EXPECT_EQ(environment.compile("true", work).error().to_string(), "ERROR: <input>:-1:0: expressions are too large, all together");
    // A pattern is as large as the instructions to which it compiles.
    Work patterns({.steps = 1000, .bytes = UINT64_MAX});
    EXPECT_TRUE(environment.compile("'a'.matches('a+')", patterns));
    EXPECT_FALSE(environment.compile("'a'.matches('\\\\pL{100}')", patterns));
}

TEST(Cel, FindsTextsWithinTexts) {
    const Rules rules;
    struct {
        const char *expression, *value;
    } const rows[] = {
        {"'aabaabaaab'.indexOf('aabaaab')", "3"},
        {"'aabaabaaab'.indexOf('aab', 1)", "3"},
        {"'aabaabaaab'.indexOf('aabb')", "-1"},
        {"'aaaa'.lastIndexOf('aa')", "2"},
        {"'aaaa'.lastIndexOf('aa', 1)", "1"},
        {"'abcabc'.lastIndexOf('c', 1)", "-1"},
        {"'äöäö'.lastIndexOf('äö', 1)", "0"},
        {"'aaaa'.lastIndexOf('aaaaa')", "-1"},
        {"'aaaaa'.replace('aa', 'b')", "bba"},
        {"'aaaaa'.split('aa')", "[, , a]"},
        {"'aabaaab'.contains('abaaab')", "true"},
        {"'aabaaab'.contains('abaab')", "false"},
        {"'a'.contains('')", "true"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.expression);
        EXPECT_EQ(rules.text(row.expression), row.value);
    }
}

TEST(Cel, SearchesTakeNoProductOfTwoTexts) {
    const Rules rules;
    // Each would compare 10^9 pairs of characters.
    const std::string text = "'" + std::string(60'000, 'a') + "'", half(30'000, 'a');
    for (const char* call : {"contains", "indexOf", "lastIndexOf", "split"})
        for (const std::string& wanted : {"'" + half + "b'", "'b" + half + "'"})
            EXPECT_EQ(rules.text("type(" + text + "." + call + "(" + wanted + ")) != type(0.0)"), "true");
}

TEST(Cel, BoundsTheTextOfIssues) {
    std::string names = "[x";
    for (int i = 0; i < 5000; ++i) names += ",x" + std::to_string(i % 10);
    const auto program = Environment::kubernetes({.minor = 37}).compile(names.substr(0, 16'000) + "]");
    ASSERT_FALSE(program);
    EXPECT_LT(program.error().to_string().size(), 150'000u);
    EXPECT_TRUE(program.error().to_string().ends_with("more errors were truncated"));
}

TEST(Cel, ValuesOfTypeDynAreCheckedWhereTheyAreUsed) {
    struct {
        const char *expression, *result;
    } const rows[] = {
        {"[1].transformMapEntry(i, v, dyn([1])).size() > 0", "no such overload"},
        {"[1].transformMapEntry(i, v, dyn({i: v})).size() > 0", "true"},
        {"[dyn(0), dyn('a')].sum() == 0", "no such overload"},
        {"[dyn(0.5), dyn(1)].sum() == 0.0", "no such overload"},
        {"[dyn(1), dyn(2)].sum() == 3", "true"},
        {"timestamp(0).getHours('Europe') == 0", "unknown time zone Europe"},
        {"timestamp(0).getHours('.') == 0", "unknown time zone ."},
    };
    for (const auto& row : rows) {
        const auto program = Environment::extended({.minor = 37}).compile(row.expression);
        ASSERT_TRUE(program) << row.expression << ": " << program.error().to_string();
        const auto outcome = program->evaluate({});
        EXPECT_EQ(outcome.value.to_string(), row.result) << row.expression;
    }
}

TEST(Cel, ReadingTimeZonesCountsAsWork) {
    const auto program =
        Environment::kubernetes({.minor = 37}).compile("lists.range(100).all(i, timestamp(i).getHours('Europe/Berlin') >= 0)");
    EXPECT_TRUE(program->evaluate({}, {.work_limit = 50'000}).is_cancelled);
}

TEST(Cel, AddsLibrariesByVersion) {
    EXPECT_FALSE(Environment::kubernetes({.minor = 29}).compile("ip('10.0.0.1').family()"));
    EXPECT_TRUE(Environment::kubernetes({.minor = 30}).compile("ip('10.0.0.1').family()"));
    EXPECT_FALSE(Environment::kubernetes({.minor = 37}).compile("math.abs(-1)"));
    EXPECT_TRUE(Environment::extended({.minor = 37}).compile("math.abs(-1)"));
}

TEST(Cel, MakesObjects) {
    auto types = std::make_shared<ObjectTypes>();
    ObjectType& patch = types->declare("JSONPatch");
    patch.add("op", types::string());
    patch.add("path", types::string());
    patch.add("value", types::dyn());
    const Environment environment = Environment::kubernetes({.minor = 37}).with_types(types);
    const auto program = environment.compile("[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('x/y~z'), value: {'n': 1}}]");
    ASSERT_TRUE(program) << program.error().to_string();
    EXPECT_EQ(schema::to_json(*program->evaluate({}).value.to_tree()), R"([{"op":"add","path":"/a/x~1y~0z","value":{"n":1}}])");
    EXPECT_FALSE(environment.compile("JSONPatch{op: 1}"));
}

TEST(Cel, AsksTheAuthorizer) {
    struct : AuthorizationSource {
        AuthorizationAnswer authorize(const AuthorizationQuestion& question) const override {
            return {question.verb == "get" && question.group == "apps" && question.resource == "deployments" &&
                        question.namespace_name == "ns" && question.service_account_name == "robot",
                    "because", ""};
        }
    } const source;
    const Environment environment = Environment::kubernetes({.minor = 37}).with_variable("authorizer", authorizer_type());
    const auto program = environment.compile(
        "authorizer.serviceAccount('ns', 'robot').group('apps').resource('deployments').namespace('ns').check('get').allowed()");
    ASSERT_TRUE(program) << program.error().to_string();
    const Evaluation done = program->evaluate(Activation().set("authorizer", make_authorizer(source)));
    EXPECT_EQ(done.value.to_string(), "true");
    EXPECT_EQ(done.cost, 350'006u);
}

TEST(Cel, TellsWhichFieldsOfAVariableAreSelected) {
    const Environment environment =
        Environment::kubernetes({.minor = 37}).with_variable("claims", types::map(types::string(), types::dyn()));
    const struct {
        const char* expression;
        bool selects;
    } rows[] = {
        {"claims.email", true},          {"claims.?email.orValue('')", true},
        {"has(claims.email)", true},     {"[1].exists(x, claims.email == x)", true},
        {"{'a': [claims.email]}", true}, {"string(claims.a.b).startsWith(claims.email)", true},
        {"claims.email.verified", true}, {"claims['email']", false},
        {"claims.sub.email", false},     {"claims.map(claims, {'email': 1}).all(m, m.email == 1)", false},
        {"'claims.email'", false},
    };
    for (const auto& row : rows) {
        const auto program = environment.compile(row.expression);
        ASSERT_TRUE(program) << program.error().to_string();
        EXPECT_EQ(program->selects_field("claims", "email"), row.selects) << row.expression;
    }
}

TEST(Cel, AppendsToAnAccumulatorInPlace) {
    // Quadratic copying would take minutes.
    const auto program = Environment::kubernetes({.minor = 37}).compile("lists.range(100000).map(i, i + 1).filter(i, i % 2 == 0).size()");
    ASSERT_TRUE(program);
    EXPECT_EQ(program->evaluate({}).value.to_string(), "50000");
}

TEST(EscapeProperty, FollowsKubernetes) {
    EXPECT_EQ(escape_property("a.b/c-d__e"), "a__dot__b__slash__c__dash__d__underscores__e");
    EXPECT_EQ(escape_property("namespace"), "__namespace__");
    EXPECT_EQ(escape_property("1a"), "");
    EXPECT_EQ(escape_property("a b"), "");
}

}  // namespace
}  // namespace porthole::cel
