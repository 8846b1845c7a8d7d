#include "apiserver/expressions/expression.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::apiserver {
namespace {

constexpr int ReleaseMinor = 36;
/// Values that comparisons may look at for a unit of cost. Upstream charges 1 for two objects however large they are.
constexpr std::uint64_t WorkOfUnit = 20;

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
    static const cel::Environment environment = cel::Environment::kubernetes({.minor = ReleaseMinor});
    return environment;
}

Expression::Expression(const cel::Environment& environment, std::string text, std::initializer_list<cel::TypeRef> results)
    : text_(std::move(text)) {
    auto compiled = environment.compile(text_);
    if (!compiled) {
        problem_ = "compilation failed: " + compiled.error().to_string();
        return;
    }
    const cel::TypeRef& found = compiled->type();
    if (results.size() == 0 || std::ranges::any_of(results, [&](const cel::TypeRef& one) { return *one == *found; }))
        program_ = *std::move(compiled);
    else
        problem_ = "must evaluate to " + expected_text(results) + " but got " + type_text(found);
}

void Expression::refuse_whole(const std::string& variable) {
    if (!program_ || !program_->uses_whole(variable)) return;
    program_.reset();
    problem_ = "compilation failed: " + variable + " can only be used by its fields, such as " + variable + ".name";
}

std::uint64_t CostBudget::limit() const { return std::min(expression_costs::Call, left - std::min(left, owed)); }

BoundedEvaluation evaluate_within(std::uint64_t limit, const Expression& expression, const cel::Activation& activation) {
    const std::uint64_t work_limit = limit * WorkOfUnit;
    cel::Evaluation done = expression.program().evaluate(activation, {.cost_limit = limit, .work_limit = work_limit});
    const std::uint64_t cost = std::max(done.cost, done.work / WorkOfUnit);
    return {std::move(done.value), done.work > work_limit ? std::max(cost, limit + 1) : cost};
}

std::optional<ExpressionResult> evaluate(const Expression& expression, const cel::Activation& activation, CostBudget& budget) {
    ExpressionResult result;
    if (!expression.compiles()) {
        result.error = "compilation error: " + expression.problem();
        result.fails_to_compile = true;
        return result;
    }
    const BoundedEvaluation done = evaluate_within(std::min(expression_costs::Call, budget.left), expression, activation);
    const std::uint64_t cost = done.cost + std::exchange(budget.owed, 0);
    if (cost > budget.left) {
        budget.left = 0;
        budget.is_spent = true;
        return {};
    }
    budget.left -= cost;
    result.value = done.value;
    if (done.value.is_error())
        result.error = "expression '" + expression.text() + "' resulted in error: " + std::string(done.value.as_text());
    return result;
}

}  // namespace porthole::apiserver
