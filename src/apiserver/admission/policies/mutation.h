#pragma once
#include <string>
#include <vector>

#include "api/admissionregistration_v1.h"
#include "apiserver/admission/admission_evaluation.h"
#include "apiserver/expressions/match_conditions.h"

namespace porthole::apiserver {

/// A MutatingAdmissionPolicy with compiled expressions. Immutable; evaluation is safe on any thread.
class CompiledMutation {
public:
    using Policy = api::admissionregistration::v1::MutatingAdmissionPolicy;
    static CompiledMutation compile(const Policy& policy);

    /// The result of a mutation's expression: an apply configuration, or the operations of a JSON patch.
    struct Patch {
        schema::Value tree;
        std::string error;  ///< instead of a tree, with upstream's message
    };

    bool fails_open() const { return fails_open_; }
    bool wants_changes() const { return wants_changes_; }  ///< reinvocationPolicy IfNeeded
    const MatchConditions& match_conditions() const { return conditions_; }
    const NamedExpressions& variables() const { return variables_; }
    std::size_t count() const { return mutations_.size(); }

    /// Requires: index < count().
    Patch evaluate(std::size_t index, const AdmissionInput& input, AdmissionEvaluation::Attempt& attempt) const;
    /// The object of that kind with the patch applied. Error: Invalid for a patch that cannot be applied, InternalError if the result is
    /// not a valid object of the kind.
    Result<schema::Value> apply(std::size_t index, const schema::Kind& kind, const schema::Value& object, schema::Value patch) const;

private:
    struct Mutation {
        bool is_json_patch = false;  ///< else an apply configuration
        Expression expression;
    };
    bool fails_open_ = false, wants_changes_ = false;
    NamedExpressions variables_;
    MatchConditions conditions_;
    std::vector<Mutation> mutations_;
};

}  // namespace porthole::apiserver
