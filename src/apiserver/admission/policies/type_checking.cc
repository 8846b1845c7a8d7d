#include "apiserver/admission/policies/type_checking.h"

#include <algorithm>
#include <map>
#include <set>

#include "apiserver/expressions/kind_types.h"

namespace porthole::apiserver {
namespace {

using api::admissionregistration::v1::NamedRuleWithOperations;

bool has_wildcard(const std::vector<std::string>& names) {
    return std::ranges::any_of(names, [](const std::string& name) { return name.find('*') != std::string::npos; });
}

using Kinds = std::map<std::string, const schema::Kind*>;  // by group, version and kind

/// The kinds that a rule names; none where it names them by wildcards. False: there are enough.
bool add_kinds(const NamedRuleWithOperations& rule, const schema::Registry& registry, Kinds& kinds) {
    if (has_wildcard(rule.api_groups) || has_wildcard(rule.api_versions)) return true;
    std::size_t count = 0;
    const auto sorted = [](const std::vector<std::string>& names) { return std::set<std::string>(names.begin(), names.end()); };
    for (const std::string& group : sorted(rule.api_groups)) {
        for (const std::string& version : sorted(rule.api_versions)) {
            for (const std::string& resource : sorted(rule.resources)) {
                const schema::Kind* const kind = registry.find_resource(group, version, resource);
                if (!kind) continue;
                kinds.emplace(group + "/" + version + "/" + std::string(kind->kind), kind);
                if (++count == PolicyTypeCheck::MostKinds) return false;
            }
        }
    }
    return true;
}

}  // namespace

PolicyTypeCheck::PolicyTypeCheck(std::shared_ptr<const Policy> policy, const schema::Registry& registry) : policy_(std::move(policy)) {
    Kinds kinds;
    if (policy_->spec.match_constraints) {
        for (const NamedRuleWithOperations& rule : policy_->spec.match_constraints->resource_rules)
            if (!add_kinds(rule, registry, kinds) || kinds.size() >= MostKinds) break;
    }
    for (const auto& [name, kind] : kinds)
        kinds_.push_back({kind->api_version() + ", Kind=" + std::string(kind->kind), declare_kind(types_, *kind)});
    if (!policy_->spec.param_kind) return;
    const schema::Kind* const params = registry.find_kind(policy_->spec.param_kind->api_version, policy_->spec.param_kind->kind);
    if (params) params_ = declare_kind(types_, *params);
}

std::deque<AdmissionCompiler> PolicyTypeCheck::make_compilers() const {
    std::deque<AdmissionCompiler> compilers;
    for (const KindType& kind : kinds_) {
        AdmissionCompiler& compiler = compilers.emplace_back();
        compiler.assume(kind.type, params_);
        for (const auto& variable : policy_->spec.variables) compiler.add_variable(variable.name, variable.expression, names());
    }
    return compilers;
}

void PolicyTypeCheck::add_warning(const std::deque<AdmissionCompiler>& compilers, const std::string& expression, std::string field,
                                  Warnings& warnings) const {
    constexpr std::string_view Prefix = "compilation failed: ";
    std::string told;
    for (std::size_t i = 0; i < kinds_.size() && warnings.text < MostText; ++i) {
        const Expression checked = compilers[i].compile(expression, names(), {});
        if (checked.compiles()) continue;
        if (!told.empty()) told += "\n";
        std::string_view issues = checked.problem();
        if (issues.starts_with(Prefix)) issues.remove_prefix(Prefix.size());
        told += kinds_[i].name + ": " + std::string(issues) + "\n";
        warnings.text += issues.size();
    }
    if (!told.empty()) warnings.all.push_back({.field_ref = std::move(field), .warning = std::move(told)});
}

std::vector<PolicyTypeCheck::Warning> PolicyTypeCheck::check() const {
    const std::deque<AdmissionCompiler> compilers = make_compilers();
    Warnings warnings;
    for (std::size_t i = 0; i < policy_->spec.validations.size(); ++i) {
        const auto& validation = policy_->spec.validations[i];
        const std::string place = "spec.validations[" + std::to_string(i) + "].";
        add_warning(compilers, validation.expression, place + "expression", warnings);
        if (!validation.message_expression.empty())
            add_warning(compilers, validation.message_expression, place + "messageExpression", warnings);
    }
    return std::move(warnings.all);
}

}  // namespace porthole::apiserver
