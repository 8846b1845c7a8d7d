#pragma once
#include <string>
#include <vector>

#include "api/admissionregistration_v1.h"
#include "apiserver/admission/admission_evaluation.h"
#include "apiserver/expressions/match_conditions.h"

namespace porthole::apiserver {

/// A MutatingAdmissionPolicy whose expressions are compiled. Immutable; evaluation is safe on any thread.
class CompiledMutation {
public:
    using Policy = api::admissionregistration::v1::MutatingAdmissionPolicy;
    static CompiledMutation compile(const Policy& policy);

    /// What a mutation's expression yields: an apply configuration, or the operations of a JSON patch.
    struct Patch {
        schema::Value tree;
        std::string error;  ///< instead of a tree, in upstream's words
    };

    bool fails_open() const { return fails_open_; }
    bool wants_changes() const { return wants_changes_; }  ///< reinvocationPolicy IfNeeded
    const MatchConditions& match_conditions() const { return conditions_; }
    const NamedExpressions& variables() const { return variables_; }
    std::size_t count() const { return mutations_.size(); }

    /// Requires: index < count().
    Patch evaluate(std::size_t index, const AdmissionInput& input, AdmissionEvaluation::Attempt& attempt) const;
    /// The object of that kind with the patch. Error: Invalid for a patch that does not fit, InternalError for one whose result cannot be
    /// an object of the kind.
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
