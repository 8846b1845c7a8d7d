#pragma once
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/expressions/expression.h"
#include "cel/library/authorizer.h"
#include "schema/value.h"

/// The expressions of admission: of validating and mutating policies, and of webhooks' match conditions.
namespace porthole::apiserver {

/// What an expression may name in addition to object, oldObject, request, namespaceObject and the variables.
struct AdmissionNames {
    bool params = false;
    bool authorizer = true;
};

/// Variables, in the order in which they were added.
using NamedExpressions = std::deque<std::pair<std::string, Expression>>;

/// Compiles the expressions of one object. Variables that are added are known to what is compiled after them. What it yields may outlive
/// it. Used by one thread.
class AdmissionCompiler {
public:
    AdmissionCompiler();

    const Expression& add_variable(const std::string& name, const std::string& text, AdmissionNames names);
    Expression compile(const std::string& text, AdmissionNames names, std::initializer_list<cel::TypeRef> results) const;
    /// `object` and `oldObject`, and `params`, get these types from now on: for checking what is otherwise dyn. nullptr: dyn.
    void assume(cel::TypeRef object, cel::TypeRef params);
    /// What is compiled from now on may make `Object{...}` and `JSONPatch{...}`.
    void allow_patches();

    const NamedExpressions& variables() const { return variables_; }

private:
    cel::Environment environment(AdmissionNames names) const;

    std::shared_ptr<cel::ObjectTypes> types_;
    cel::Environment base_;
    cel::TypeRef params_type_;
    NamedExpressions variables_;
};

/// The types of patches' results.
cel::TypeRef apply_configuration_type();
cel::TypeRef json_patch_list_type();

/// What expressions look at. All outlive the evaluation; null where there is none.
struct AdmissionInput {
    const schema::Value* object = nullptr;
    const schema::Value* old_object = nullptr;
    const schema::Value* request = nullptr;
    const schema::Value* namespace_object = nullptr;
    const schema::Value* params = nullptr;
    const cel::AuthorizationSource* authorizer = nullptr;
    cel::AuthorizationQuestion request_resource = {};
};

/// The values of all names for a series of evaluations. Variables are evaluated at first use, once, at the cost of `budget`. All that it is
/// made with outlives it.
class AdmissionScope {
public:
    AdmissionScope(const AdmissionInput& input, const NamedExpressions& variables, CostBudget& budget);
    AdmissionScope(const AdmissionScope&) = delete;

    const cel::Activation& activation() const { return activation_; }

private:
    cel::Value variable(const std::string& name, const Expression& expression) const;

    CostBudget& budget_;
    mutable int depth_ = 0;  ///< variables that are being evaluated
    cel::Activation activation_;
};

}  // namespace porthole::apiserver
