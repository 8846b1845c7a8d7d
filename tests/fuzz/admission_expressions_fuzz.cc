// The variables, validations and patches of a policy, as any texts: they compile, or have issues, and are evaluated, at the limits that the
// server has; whatever they do ends within the budget of one attempt on the server's thread.
#include "apiserver/expressions/admission_expressions.h"
#include "fuzz_target.h"
#include "schema/json/json.h"

using namespace porthole;
using namespace porthole::fuzz;

namespace {

constexpr std::uint64_t Budget = 20'000;

/// The texts of a member that is a list of them.
std::vector<std::string> texts_of(const schema::Value& policy, const char* member) {
    std::vector<std::string> texts;
    const schema::Value* list = policy.find(member);
    if (!list || !list->is_array()) return texts;
    for (const schema::Value& one : list->as_array())
        if (one.is_string()) texts.push_back(one.as_string());
    return texts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const schema::Value object = *schema::parse_json(
        R"({"kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {"args": ["a", "b", "c"], "n": 3, "ratio": 1.5}})");
    static const schema::Value request = *schema::parse_json(R"({"operation": "CREATE", "name": "web", "userInfo": {"username": "u"}})");
    const auto policy = schema::parse_json({reinterpret_cast<const char*>(data), size});
    if (!policy || !policy->is_object()) return 0;
    apiserver::AdmissionCompiler compiler;
    std::size_t index = 0;
    for (const std::string& text : texts_of(*policy, "variables")) compiler.add_variable("v" + std::to_string(index++), text, {});
    apiserver::CostBudget budget{.left = Budget};
    const apiserver::AdmissionScope scope({.object = &object, .old_object = &object, .request = &request}, compiler.variables(), budget);
    const auto evaluate = [&](const std::string& text) {
        const apiserver::Expression expression = compiler.compile(text, {}, {});
        expect(expression.compiles() == expression.problem().empty());
        if (budget.is_spent) return;
        const auto result = apiserver::evaluate(expression, scope.activation(), budget);
        expect(result.has_value() != budget.is_spent);
        if (!result) return;
        // What is yielded can be walked over.
        static_cast<void>(result->value.to_string());
        static_cast<void>(result->value.to_tree());
    };
    for (const std::string& text : texts_of(*policy, "validations")) evaluate(text);
    compiler.allow_patches();
    for (const std::string& text : texts_of(*policy, "patches")) evaluate(text);
    return 0;
}
