#pragma once
#include <functional>
#include <optional>

#include "apiserver/admission/plugins.h"
#include "apiserver/authorization/expression_authorizer.h"
#include "apiserver/expressions/admission_expressions.h"

namespace porthole::apiserver {

/// A request in one version of its resource, as webhooks and expressions see it.
struct VersionedRequest {
    /// Errors: those of KindVersions::convert().
    static Task<VersionedRequest> make(const AdmissionAttributes& attributes, const schema::Kind& kind, const KindVersions* versions);

    const schema::Kind* kind = nullptr;
    std::optional<ApiObject> object, old_object;
    schema::Value request;  ///< the variable `request`

    /// Points into this; the rest is added by the caller.
    AdmissionInput input(const AdmissionAttributes& attributes) const;
};

/// The object or the old one as `kind` has it. Without `versions`, or as the body of a subresource with a kind of its own, it is as it is.
/// Errors: those of KindVersions::convert().
Task<std::optional<ApiObject>> in_version(const ApiObject* object, const AdmissionAttributes& attributes, const schema::Kind& kind,
                                          const KindVersions* versions);

/// Evaluates the expressions of one request. What is cheap runs at once, on the loop; what is not, in the worker pool, so that a costly
/// policy delays its own requests only. Belongs to one request, and lives as long as its admission by one plugin.
class AdmissionEvaluation {
public:
    AdmissionEvaluation(const AdmissionDependencies& given, const User& user);

    /// What one attempt may use, and what it says of itself.
    struct Attempt {
        const cel::AuthorizationSource& authorizer;
        std::uint64_t room;      ///< no budget may be larger
        std::uint64_t cost = 0;  ///< of all evaluations
        bool was_cut = false;    ///< a budget of less than its right size was spent

        /// A budget of `right_size`, or what there is room for.
        CostBudget budget(std::uint64_t right_size) const { return {.left = std::min(right_size, room)}; }
        /// At the end of the use of budget(right_size).
        void paid(const CostBudget& budget, std::uint64_t right_size);
    };
    /// Calls `work` until it was neither cut nor had to guess what the authorizer decides. It starts from the beginning every time, and
    /// touches nothing that the loop changes. Error: InternalError when the authorizer's decisions lead to ever more questions.
    Task<> run(std::function<void(Attempt&)> work);

private:
    EventLoop& loop_;
    WorkerPool* pool_;
    ExpressionAuthorizer decisions_;
    std::uint64_t cheap_left_;
};

}  // namespace porthole::apiserver
