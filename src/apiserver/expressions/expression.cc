#include "apiserver/expressions/expression.h"

#include <algorithm>

#include "base/strings.h"
#include "base/version.h"

namespace porthole::apiserver {
namespace {

/// As messages outside of the checker show a type: "google.protobuf.Timestamp" where the checker's say "timestamp".
std::string type_text(const cel::TypeRef& type) {
    if (type->parameters.empty()) return type->name;
    return type->name + "(" + join(type->parameters, ", ", type_text) + ")";
}

/// "bool", or "one of [string null_type]".
std::string expected_text(std::initializer_list<cel::TypeRef> results) {
    if (results.size() == 1) return type_text(*results.begin());
    return "one of [" + join(results, " ", type_text) + "]";
}

}  // namespace

const std::string OutOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";

const cel::Environment& expression_environment() {
    static const cel::Environment environment = cel::Environment::kubernetes({.minor = KubernetesMinor});
    return environment;
}

Expression::Expression(const cel::Environment& environment, std::string text, std::initializer_list<cel::TypeRef> results) {
    cel::Work work(expression_costs::Compilation);
    *this = Expression(environment, std::move(text), results, work);
}

Expression::Expression(const cel::Environment& environment, std::string text, std::initializer_list<cel::TypeRef> results, cel::Work& work)
    : text_(std::move(text)) {
    auto compiled = environment.compile(text_, work);
    if (!compiled) {
        problem_ = "compilation failed: " + compiled.error().to_string();
        work.make(problem_.size());
        return;
    }
    const cel::TypeRef& found = compiled->type();
    if (results.size() == 0 || std::ranges::any_of(results, [&](const cel::TypeRef& one) { return *one == *found; })) {
        program_ = *std::move(compiled);
        text_ = {};
    } else {
        problem_ = "must evaluate to " + expected_text(results) + " but got " + type_text(found);
    }
}

std::uint64_t CostBudget::limit() const { return std::min(expression_costs::Call, left - std::min(left, owed)); }

cel::Work& CostBudget::work() {
    if (!counted) {
        counted.emplace(
            cel::Work::Limits{.steps = cel::cost_product(left, cel::EvaluateOptions::WorkInUnit),
                              .bytes = std::min(cel::cost_product(left, expression_costs::BytesInUnit), expression_costs::MostBytes)});
    }
    return *counted;
}

namespace {

ExpressionResult failed_to_compile(const Expression& expression) {
    return {.value = {}, .error = "compilation error: " + expression.problem(), .fails_to_compile = true};
}

ExpressionResult result_of(const Expression& expression, cel::Evaluation done) {
    if (!done.value.is_error()) return {.value = std::move(done.value), .error = ""};
    std::string error = "expression '" + expression.text() + "' resulted in error: " + std::string(done.value.as_text());
    return {.value = std::move(done.value), .error = std::move(error)};
}

}  // namespace

ExpressionResult evaluate(const Expression& expression, const cel::Activation& activation) {
    if (!expression.compiles()) return failed_to_compile(expression);
    return result_of(expression, expression.program().evaluate(activation, {.cost_limit = expression_costs::Call}));
}

std::optional<ExpressionResult> evaluate(const Expression& expression, const cel::Activation& activation, CostBudget& budget) {
    if (!expression.compiles()) return failed_to_compile(expression);
    cel::Evaluation done =
        expression.program().evaluate(activation, {.cost_limit = std::min(expression_costs::Call, budget.left), .work = &budget.work()});
    const std::uint64_t cost = done.cost + std::exchange(budget.owed, 0);
    if (cost > budget.left || budget.work().is_used_up() || !done.value.count_parts(budget.work())) {
        budget.left = 0;
        budget.is_spent = true;
        return {};
    }
    budget.left -= cost;
    return result_of(expression, std::move(done));
}

}  // namespace porthole::apiserver
