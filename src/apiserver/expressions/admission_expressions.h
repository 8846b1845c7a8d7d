#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/expressions/expression.h"
#include "cel/library/authorizer.h"
#include "schema/value.h"

/// The expressions of admission: of validating and mutating policies, and of webhooks' match conditions.
namespace porthole::apiserver {

/// The names available to an expression in addition to object, oldObject, request, namespaceObject and the variables.
struct AdmissionNames {
    bool params = false;
    bool authorizer = true;
};

/// Variables by name.
using NamedExpressions = std::map<std::string, Expression, std::less<>>;

/// Compiles the expressions of one object, all within expression_costs::Compilation. A variable is available to expressions compiled after
/// it; without any, the name `variables` is not defined. Results may outlive it. Used by one thread.
class AdmissionCompiler {
public:
    AdmissionCompiler();

    const Expression& add_variable(const std::string& name, const std::string& text, AdmissionNames names);
    Expression compile(const std::string& text, AdmissionNames names, std::initializer_list<cel::TypeRef> results) const;
    /// Sets the types of `object`, `oldObject` and `params`, which are otherwise dyn, for expressions compiled from now on. nullptr: dyn.
    void assume(cel::TypeRef object, cel::TypeRef params);
    /// Expressions compiled from now on may construct `Object{...}` and `JSONPatch{...}`.
    void allow_patches();

    const NamedExpressions& variables() const { return variables_; }

private:
    cel::Environment environment(AdmissionNames names) const;

    std::shared_ptr<cel::ObjectTypes> types_;
    cel::Environment base_;
    cel::TypeRef params_type_;
    mutable cel::Work work_{expression_costs::Compilation};
    NamedExpressions variables_;
};

/// The types of patches' results.
cel::TypeRef apply_configuration_type();
cel::TypeRef json_patch_list_type();

/// The input of expressions. All outlive the evaluation; null if absent.
struct AdmissionInput {
    const schema::Value* object = nullptr;
    const schema::Value* old_object = nullptr;
    const schema::Value* request = nullptr;
    const schema::Value* namespace_object = nullptr;
    const schema::Value* params = nullptr;
    const cel::AuthorizationSource* authorizer = nullptr;
    cel::AuthorizationQuestion request_resource = {};
};

/// The values of all names for a series of evaluations. Variables are evaluated on first use, once, and charged to `budget`. All arguments
/// outlive it. It outlives the values, of which `variables` itself may be one.
class AdmissionScope : private cel::LazyFields {
public:
    AdmissionScope(const AdmissionInput& input, const NamedExpressions& variables, CostBudget& budget);
    AdmissionScope(const AdmissionScope&) = delete;

    const cel::Activation& activation() const { return activation_; }

private:
    const cel::TypeRef& type() const override;
    std::optional<cel::Value> field(std::string_view name) const override;
    cel::Value evaluate_variable(const std::string& name, const Expression& expression) const;

    const NamedExpressions& variables_;
    CostBudget& budget_;
    cel::Activation activation_;
    mutable std::map<std::string_view, cel::Value> values_;  ///< of the variables that have been read
    mutable std::size_t depth_ = 0;                          ///< of the variables that are being evaluated, each for another one
};

}  // namespace porthole::apiserver
