#include <gtest/gtest.h>

#include "apiserver/expressions/admission_expressions.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

/// A request for a config map, and a compiler for what looks at it.
struct AdmissionExpressions : testing::Test {
    Value object = *schema::parse_json(R"({"kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}})");
    Value request = *schema::parse_json(R"({"operation": "CREATE", "name": "a", "userInfo": {"username": "u"}, "dryRun": false})");
    Value space = *schema::parse_json(R"({"metadata": {"name": "n", "creationTimestamp": "2024-05-01T10:00:00Z"}, "spec": {}})");
    AdmissionCompiler compiler;
    CostBudget budget;

    std::string value_of(const std::string& text) {
        const Expression expression = compiler.compile(text, {}, {});
        if (!expression.compiles()) return expression.problem();
        const AdmissionInput input{.object = &object, .request = &request, .namespace_object = &space};
        const AdmissionScope scope(input, compiler.variables(), budget);
        const auto result = evaluate(expression, scope.activation(), budget);
        if (!result) return OutOfBudget;
        return result->error.empty() ? result->value.to_string() : result->error;
    }
    std::string problem(const std::string& text, std::initializer_list<cel::TypeRef> results, AdmissionNames names = {}) {
        return compiler.compile(text, names, results).problem();
    }
};

TEST_F(AdmissionExpressions, SeeTheRequest) {
    struct {
        const char *name, *text, *value;
    } const rows[] = {
        {"object", "object.data.k + object.metadata.name", "va"},
        {"no old object", "oldObject == null", "true"},
        {"request", "request.operation + request.userInfo.username", "CREATEu"},
        {"absent in the request", "has(request.subResource)", "false"},
        {"namespace", "namespaceObject.metadata.creationTimestamp.getFullYear()", "2024"},
        {"error", "object.nope", "expression 'object.nope' resulted in error: no such key: nope"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(value_of(row.text), row.value);
    }
}

TEST_F(AdmissionExpressions, ThatDoNotFitAreRefusedInUpstreamsWords) {
    const cel::TypeRef boolean = cel::types::boolean(), text = cel::types::string(), null = cel::types::null();
    EXPECT_EQ(problem("true", {boolean}), "");
    EXPECT_EQ(problem("object.data.k", {boolean}), "must evaluate to bool but got dyn");
    EXPECT_EQ(problem("1", {text, null}), "must evaluate to one of [string null_type] but got int");
    EXPECT_EQ(problem("params.x == 1", {boolean}),
              "compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.x == 1\n | ^");
    EXPECT_EQ(problem("params.x == 1", {boolean}, {.params = true}), "");
    EXPECT_EQ(problem("request.uid == ''", {boolean}),
              "compilation failed: ERROR: <input>:1:8: undefined field 'uid'\n | request.uid == ''\n | .......^");
    EXPECT_NE(problem("authorizer.group('').resource('pods').check('get').allowed()", {boolean}, {.authorizer = false}), "");
    EXPECT_EQ(problem("authorizer.requestResource.check('get').allowed()", {boolean}), "");
}

TEST_F(AdmissionExpressions, VariablesAreKnownOnlyWhereThereAreAny) {
    EXPECT_EQ(problem("variables.x == 1", {}),
              "compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.x == 1\n | ^");
    compiler.add_variable("y", "variables.x", {});
    EXPECT_EQ(compiler.variables().at("y").problem(),
              "compilation failed: ERROR: <input>:1:10: undefined field 'x'\n | variables.x\n | .........^");
}

TEST_F(AdmissionExpressions, VariablesAreEvaluatedOnceWhenTheyAreRead) {
    compiler.add_variable("name", "object.metadata.name", {});
    compiler.add_variable("greeting", "'hello ' + variables.name", {});
    compiler.add_variable("broken", "object.nope", {});
    EXPECT_EQ(value_of("variables.greeting + variables.greeting"), "hello ahello a");
    EXPECT_EQ(value_of("true"), "true");
    EXPECT_EQ(value_of("variables.broken == 1"),
              "expression 'variables.broken == 1' resulted in error: composited variable \"broken\" fails to evaluate: no such key: nope");
    EXPECT_EQ(value_of("variables.other == 1"),
              "compilation failed: ERROR: <input>:1:10: undefined field 'other'\n | variables.other == 1\n | .........^");
    EXPECT_EQ(problem("variables.greeting + 1", {}).find("compilation failed: ERROR: <input>:1:20: found no matching overload"), 0u);
    // Twice read, it has cost once what it costs.
    budget = {};
    value_of("variables.name == ''");
    const std::uint64_t once = expression_costs::Policy - budget.left;
    budget = {};
    value_of("variables.name == '' || variables.name == ''");
    EXPECT_LT(expression_costs::Policy - budget.left, 2 * once);
}

TEST_F(AdmissionExpressions, EndWhenTheBudgetIsSpent) {
    budget.left = 3;
    EXPECT_EQ(value_of("object.data.k == 'v' && object.metadata.name == 'a'"), OutOfBudget);
    EXPECT_TRUE(budget.is_spent);
    compiler.add_variable("long", "[1, 2, 3, 4, 5, 6, 7, 8].all(i, i > 0)", {});
    budget = {.left = 10};
    EXPECT_EQ(value_of("variables.long"), OutOfBudget);
}

/// Policies' variables may be any text within limits: a chain of them, or one that is all of them.
TEST_F(AdmissionExpressions, VariablesThatHoldThemselvesEnd) {
    compiler.add_variable("self", "variables", {});
    EXPECT_EQ(value_of("variables.self == variables.self"), "true");
    EXPECT_EQ(value_of("variables.self.self == variables"), "true");
    EXPECT_EQ(value_of("'%s'.format([variables.self])"), "{}");
    compiler.add_variable("list", "[variables]", {});
    EXPECT_EQ(value_of("variables.list == [variables] && dyn(variables).list[0].list == variables.list"), "true");
    EXPECT_EQ(value_of("dyn(variables).self == 1"), "false");
    const Expression expression = compiler.compile("variables.self", {}, {});
    const AdmissionScope scope({}, compiler.variables(), budget);
    EXPECT_EQ(evaluate(expression, scope.activation(), budget)->value.to_tree(), std::nullopt);
}

TEST_F(AdmissionExpressions, LongChainsOfVariablesEnd) {
    compiler.add_variable("v0", "1", {});
    for (int i = 1; i < 2000; ++i) compiler.add_variable("v" + std::to_string(i), "variables.v" + std::to_string(i - 1), {});
    EXPECT_EQ(value_of("variables.v50"), "1");
    EXPECT_NE(value_of("variables.v1999").find("variables refer to too many others"), std::string::npos);
}

TEST_F(AdmissionExpressions, VariablesThatReadEachOtherShareABudget) {
    const std::string costly = "lists.range(100).all(i, i >= 0)";
    compiler.add_variable("v0", costly, {});
    for (int i = 1; i < 100; ++i) compiler.add_variable("v" + std::to_string(i), costly + " && variables.v" + std::to_string(i - 1), {});
    budget = {.left = 1000};  // enough for each
    EXPECT_EQ(value_of("variables.v99"), OutOfBudget);
    // What was not paid before the innermost ended, all together.
    budget = {.left = 1000};
    const AdmissionScope scope({}, compiler.variables(), budget);
    const Expression last = compiler.compile("variables.v99", {}, {});
    EXPECT_TRUE(last.program().evaluate(scope.activation(), {.work = &budget.work()}).is_cancelled);
    EXPECT_LT(budget.owed, 10'000u);
}

/// What costs do not count spends the budget, too.
TEST_F(AdmissionExpressions, WorkSpendsTheBudget) {
    std::string shared = "[[1]]";
    for (int i = 0; i < 40; ++i) shared += ".map(x, [x, x])";
    const std::string rows[] = {
        shared + ".all(y, y == y)",
        shared,  // a result that nothing could walk over
        "{'a': 1}[dyn(" + shared + ")] == 1",
        "dyn(" + shared + ") in [1, 2]",
    };
    for (const std::string& row : rows) {
        SCOPED_TRACE(row);
        budget = {.left = 10'000};
        const std::string value = value_of(row);
        EXPECT_TRUE(value == OutOfBudget || value.contains("no such key")) << value;
        EXPECT_LT(budget.work().steps(), 110'000u);
    }
    // Also a larger one: two lists of 2^60 items in all.
    for (int i = 0; i < 20; ++i) shared += ".map(x, [x, x])";
    budget = {.left = 1'000'000};
    EXPECT_EQ(value_of(shared + ".all(y, y == y)"), OutOfBudget);
}

TEST_F(AdmissionExpressions, MakeObjectsOfAnyFieldForPatches) {
    EXPECT_NE(problem("Object{}", {}), "");
    compiler.allow_patches();
    const auto made = [&](const std::string& text, const cel::TypeRef& type) {
        const Expression expression = compiler.compile(text, {}, {type});
        EXPECT_EQ(expression.problem(), "");
        const AdmissionScope scope({.object = &object}, compiler.variables(), budget);
        const auto result = evaluate(expression, scope.activation(), budget);
        return schema::to_json(*result->value.to_tree());
    };
    EXPECT_EQ(
        made("Object{spec: Object.spec{replicas: 1, template: Object.spec.template{x: [object.data.k]}}}", apply_configuration_type()),
        R"({"spec":{"replicas":1,"template":{"x":["v"]}}})");
    EXPECT_EQ(made("[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('b/c'), value: Object{n: 1}}]", json_patch_list_type()),
              R"([{"op":"add","path":"/a/b~1c","value":{"n":1}}])");
    EXPECT_EQ(problem("1", {apply_configuration_type()}), "must evaluate to Object but got int");
    EXPECT_EQ(problem("[1]", {json_patch_list_type()}), "must evaluate to list(JSONPatch) but got list(int)");
}

}  // namespace
}  // namespace porthole::apiserver
