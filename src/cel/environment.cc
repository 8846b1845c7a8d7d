#include "cel/environment.h"

#include <algorithm>

#include "cel/checker/checker.h"
#include "cel/checker/cost_estimate.h"
#include "cel/library/libraries.h"
#include "cel/library/validators.h"
#include "cel/plan.h"

namespace porthole::cel {

struct Environment::State {
    std::shared_ptr<const Functions> functions;
    std::shared_ptr<const std::vector<Macro>> macros;
    Declarations declarations;
    CompileLimits limits;
    bool validates_literals = true;
    bool mixed_literals = false;
};

namespace {

/// The names of types, as values: `type(x) == int`.
void add_type_names(Declarations& declarations) {
    const TypeRef named[] = {types::boolean(),
                             types::integer(),
                             types::unsigned_integer(),
                             types::real(),
                             types::string(),
                             types::bytes(),
                             types::timestamp(),
                             types::duration(),
                             types::null(),
                             types::list(types::dyn()),
                             types::map(types::dyn(), types::dyn()),
                             types::type_of()};
    for (const TypeRef& type : named) declarations.type_names.emplace(type->name, type);
    declarations.type_names.emplace("optional_type", types::optional(types::dyn()));
    for (const char* name : {"net.IP", "net.CIDR"}) declarations.type_names.emplace(name, types::opaque(name));
}

}  // namespace

Environment make_environment(Compatibility compatibility, bool extended) {
    auto functions = std::make_shared<Functions>();
    auto macros = std::make_shared<std::vector<Macro>>();
    for (const Library& library : all_libraries()) {
        if (library.since > compatibility.minor || library.in == (extended ? Library::In::Kubernetes : Library::In::Extended)) continue;
        for (const LibraryFunction& function : library.functions) functions->declare(function.declaration, function.run);
        macros->insert(macros->end(), library.macros.begin(), library.macros.end());
    }
    auto state = std::make_shared<Environment::State>();
    state->declarations.functions = functions.get();
    add_type_names(state->declarations);
    state->functions = std::move(functions);
    state->macros = std::move(macros);
    state->validates_literals = compatibility.minor >= 29;
    return Environment(std::move(state));
}

Environment Environment::kubernetes(Compatibility compatibility) { return make_environment(compatibility, false); }
Environment Environment::extended(Compatibility compatibility) { return make_environment(compatibility, true); }

Environment Environment::with_variable(std::string name, TypeRef type) const {
    auto state = std::make_shared<State>(*state_);
    state->declarations.variables.insert_or_assign(std::move(name), std::move(type));
    return Environment(std::move(state));
}
Environment Environment::with_types(std::shared_ptr<const ObjectTypes> types) const {
    auto state = std::make_shared<State>(*state_);
    state->declarations.objects = std::move(types);
    return Environment(std::move(state));
}
Environment Environment::with_container(std::string container) const {
    auto state = std::make_shared<State>(*state_);
    state->declarations.container = std::move(container);
    return Environment(std::move(state));
}
Environment Environment::with_limits(CompileLimits limits) const {
    auto state = std::make_shared<State>(*state_);
    state->limits = limits;
    return Environment(std::move(state));
}
Environment Environment::with_mixed_literals() const {
    auto state = std::make_shared<State>(*state_);
    state->mixed_literals = true;
    return Environment(std::move(state));
}

CompileResult<Program> Environment::compile(std::string_view expression) const {
    Work work;
    return compile(expression, true, work);
}
CompileResult<Program> Environment::compile(std::string_view expression, Work& work) const { return compile(expression, true, work); }
CompileResult<Program> Environment::compile_unchecked(std::string_view expression) const {
    Work work;
    return compile(expression, false, work);
}

CompileResult<Program> Environment::compile(std::string_view expression, bool checked, Work& work) const {
    Issues issues(expression);
    const auto fail = [&]() -> CompileResult<Program> {
        if (work.is_used_up()) {
            issues = Issues(expression);
            issues.add({}, "expressions are too large, all together");
        }
        return std::unexpected(std::move(issues));
    };
    if (work.is_used_up()) return fail();
    auto plan = std::make_shared<Plan>();
    plan->text = expression;
    plan->environment = state_;
    const ParseLimits limits{state_->limits.code_points, state_->limits.depth, state_->limits.nodes};
    const ExpressionPtr tree = parse(plan->text, *state_->macros, limits, issues, work);
    if (!tree || work.is_used_up()) return fail();
    if (checked) check(*tree, state_->declarations, issues, work);
    if (checked && issues.empty() && state_->validates_literals) validate_literals(*tree, issues, work);
    if (checked && issues.empty() && !state_->mixed_literals) validate_homogeneous(*tree, issues);
    if (!issues.empty() || work.is_used_up()) return fail();
    plan->type = checked ? tree->type : types::dyn();
    plan->root = make_plan(*tree, state_->declarations, *plan, issues, work);
    if (!issues.empty() || work.is_used_up()) return fail();
    plan->depth = tree->depth;
    if (checked) {
        plan->estimate = estimate_cost(*tree, state_->declarations);
        find_selections(*tree, plan->selections);
    }
    return Program(std::move(plan));
}

CostRange Program::estimate_cost() const { return plan_->estimate; }

}  // namespace porthole::cel
