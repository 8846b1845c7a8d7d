#include "apiserver/validation_rules/rule_compiler.h"

#include "base/strings.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

/// As upstream 1.36: its environment for new expressions is that of 1.35.
const cel::Environment& base_environment(RuleDialect dialect) {
    static const cel::Environment New = cel::Environment::kubernetes({.minor = 35}), Stored = cel::Environment::kubernetes({.minor = 36});
    return dialect == RuleDialect::New ? New : Stored;
}

void compile_message(const ValidationRule& rule, const cel::Environment& environment, cel::Work& work, CompiledRule& compiled) {
    auto program = environment.compile(rule.message_expression, work);
    if (!program)
        compiled.message_error = "messageExpression compilation failed: " + program.error().to_string();
    else if (!program->type()->is(cel::TypeKind::String))
        compiled.message_error = "messageExpression must evaluate to a string";
    else
        compiled.message = *std::move(program);
}

}  // namespace

const cel::Environment& RuleEnvironments::get(RuleDialect dialect, bool optional_old_self) {
    std::optional<cel::Environment>& made = made_[dialect == RuleDialect::New][optional_old_self];
    if (!made) {
        const cel::TypeRef old_self = optional_old_self ? cel::types::optional(self_) : self_;
        made = base_environment(dialect).with_variable("self", self_).with_variable("oldSelf", old_self);
    }
    return *made;
}

CompiledRule compile_rule(const ValidationRule& rule, RuleEnvironments& environments, RuleDialect dialect, RuleDialect message_dialect) {
    CompiledRule compiled;
    if (trim(rule.rule).empty()) return compiled;
    const bool is_optional = rule.optional_old_self.value_or(false);
    auto program = environments.get(dialect, is_optional).compile(rule.rule, environments.work());
    if (!program) {
        compiled.error = "compilation failed: " + program.error().to_string();
        environments.work().make(compiled.error.size());
        return compiled;
    }
    if (!program->type()->is(cel::TypeKind::Bool)) {
        compiled.error = "cel expression must evaluate to a bool";
        return compiled;
    }
    compiled.uses_old_self = program->uses_variable("oldSelf");
    compiled.program = *std::move(program);
    if (!rule.message_expression.empty())
        compile_message(rule, environments.get(message_dialect, is_optional), environments.work(), compiled);
    return compiled;
}

std::vector<ValidationRule> rules_of(const schema::Value& schema) {
    std::vector<ValidationRule> rules;
    const schema::Value& given = schema::at(schema, "x-kubernetes-validations");
    if (!given.is_array()) return rules;
    for (const schema::Value& one : given.as_array())
        if (auto rule = schema::from_value<ValidationRule>(one)) rules.push_back(*std::move(rule));
    return rules;
}

}  // namespace porthole::apiserver
