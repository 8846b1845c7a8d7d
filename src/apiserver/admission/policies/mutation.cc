#include "apiserver/admission/policies/mutation.h"

#include "base/strings.h"
#include "schema/fields/fields.h"
#include "schema/patch/field_walk.h"
#include "schema/patch/patch.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

/// Objects that an expression makes are named for their places: `Object.spec{...}` is the value of the field spec of an `Object{...}`. Adds
/// one line for each that is not.
void check_names(const cel::Value& value, const std::string& place, std::vector<std::string>& problems) {
    if (value.is(cel::Kind::Object)) {
        if (const std::string& name = value.type()->name; name != place)
            problems.push_back("unexpected type name " + quote(name) + ", expected " + quote(place) +
                               ", which matches field name path from root Object type");
        for (std::size_t i = 0; i < value.count(); ++i) {
            const auto [field, content] = value.entry(i);
            check_names(content, place + "." + std::string(field.as_text()), problems);
        }
    } else if (value.is(cel::Kind::List)) {
        for (std::size_t i = 0; i < value.count(); ++i) check_names(value.item(i), place, problems);
    } else if (value.is(cel::Kind::Map)) {
        for (std::size_t i = 0; i < value.count(); ++i) check_names(value.entry(i).second, place, problems);
    }
}

std::string misnamed(const cel::Value& value, const std::string& place) {
    std::vector<std::string> problems;
    check_names(value, place, problems);
    return problems.empty() ? "" : "type mismatch: " + join(problems, "\n");
}

CompiledMutation::Patch patch_of(const cel::Value& value) {
    auto tree = value.to_tree();
    if (!tree) return {.tree = {}, .error = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"};
    return {.tree = *std::move(tree), .error = ""};
}

CompiledMutation::Patch apply_configuration(const cel::Value& value) {
    if (std::string problem = misnamed(value, "Object"); !problem.empty()) return {.tree = {}, .error = std::move(problem)};
    return patch_of(value);
}

/// Operations as RFC 6902 has them: what JSONPatch{} leaves out is empty, but a value and a place to take it from.
CompiledMutation::Patch json_patch(const cel::Value& list) {
    CompiledMutation::Patch patch{.tree = Value::array()};
    for (std::size_t i = 0; i < list.count(); ++i) {
        const cel::Value operation = list.item(i);
        if (!operation.is(cel::Kind::Object))  // a null is assignable to an object
            return {.tree = {}, .error = "type mismatch: unexpected type name \"" + operation.type()->name + "\", expected \"JSONPatch\""};
        if (const auto value = operation.find("value"); value && value->is(cel::Kind::Object)) {
            // An object of a patch may be of any place.
            if (std::string problem = misnamed(*value, value->type()->name); !problem.empty())
                return {.tree = {}, .error = std::move(problem)};
        }
        CompiledMutation::Patch one = patch_of(operation);
        if (!one.error.empty()) return one;
        for (const char* field : {"op", "path"})
            if (!one.tree.find(field)) one.tree[field] = "";
        if (one.tree.string_at({"from"}).empty()) one.tree.erase("from");
        patch.tree.as_array().push_back(std::move(one.tree));
    }
    return patch;
}

Result<Value> apply_to(const schema::Kind& kind, const Value& object, Value configuration) {
    configuration["apiVersion"] = kind.api_version();
    configuration["kind"] = kind.kind;
    auto typed = schema::conform_object(kind, configuration, {}, schema::FieldValidation::Strict);
    if (!typed)
        return Error(Reason::Invalid, "error applying patch: failed to convert patch object to typed object: " + typed.error().message);
    const schema::Node root = schema::Node::of_struct(*kind.type);
    const auto atomics = schema::atomic_fields(root, configuration);
    if (!atomics.empty()) {
        return Error(Reason::Invalid, "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: " +
                                          join(atomics, ", "));
    }
    // What names no items, or names them twice, cannot be merged.
    if (const auto fields = schema::fields_of(root, configuration); !fields)
        return Error(Reason::Invalid, "error applying patch: failed to convert patch object to typed object: " + fields.error().message);
    auto merged = schema::conform_object(kind, schema::merge_fields(root, object, configuration), {}, schema::FieldValidation::Ignore);
    if (!merged) return Error(Reason::InternalError, "Internal error occurred: " + merged.error().message);
    return std::move(merged->value);
}

}  // namespace

CompiledMutation CompiledMutation::compile(const Policy& policy) {
    const AdmissionNames names{.params = policy.spec.param_kind.has_value()};
    AdmissionCompiler compiler;
    CompiledMutation compiled;
    for (const auto& variable : policy.spec.variables) compiler.add_variable(variable.name, variable.expression, names);
    compiled.fails_open_ = policy.spec.failure_policy.value_or("Fail") == "Ignore";
    compiled.wants_changes_ = policy.spec.reinvocation_policy == "IfNeeded";
    compiled.conditions_ = compile_match_conditions(compiler, policy.spec.match_conditions, names);
    compiler.allow_patches();
    for (const auto& one : policy.spec.mutations) {
        if (one.patch_type == "JSONPatch" && one.json_patch)
            compiled.mutations_.push_back({true, compiler.compile(one.json_patch->expression, names, {json_patch_list_type()})});
        else if (one.patch_type == "ApplyConfiguration" && one.apply_configuration)
            compiled.mutations_.push_back(
                {false, compiler.compile(one.apply_configuration->expression, names, {apply_configuration_type()})});
    }
    compiled.variables_ = compiler.variables();
    return compiled;
}

CompiledMutation::Patch CompiledMutation::evaluate(std::size_t index, const AdmissionInput& input,
                                                   AdmissionEvaluation::Attempt& attempt) const {
    const Mutation& mutation = mutations_[index];
    if (!mutation.expression.compiles()) return {.tree = {}, .error = mutation.expression.problem()};
    CostBudget budget = attempt.budget(expression_costs::Policy);
    const AdmissionScope scope(input, variables_, budget);
    const auto result = apiserver::evaluate(mutation.expression, scope.activation(), budget);
    attempt.paid(budget, expression_costs::Policy);
    if (!result) return {.tree = {}, .error = OutOfBudget};
    if (!result->error.empty()) return {.tree = {}, .error = result->error};
    return mutation.is_json_patch ? json_patch(result->value) : apply_configuration(result->value);
}

Result<Value> CompiledMutation::apply(std::size_t index, const schema::Kind& kind, const Value& object, Value patch) const {
    if (!mutations_[index].is_json_patch) return apply_to(kind, object, std::move(patch));
    auto patched = schema::apply_json_patch(object, patch);
    // As upstream: a test that fails means that there is nothing to do.
    if (!patched && schema::is_failed_test(patched.error())) return object;
    if (!patched) return Error(Reason::Invalid, "JSONPath: " + patched.error().message);
    if (patched->string_at({"apiVersion"}) != kind.api_version() || patched->string_at({"kind"}) != kind.kind)
        return Error(Reason::InternalError, "Internal error occurred: the patch changes the kind of the object");
    auto typed = schema::conform_object(kind, *std::move(patched), {}, schema::FieldValidation::Strict);
    if (!typed) return Error(Reason::InternalError, "Internal error occurred: " + typed.error().message);
    return std::move(typed->value);
}

}  // namespace porthole::apiserver
