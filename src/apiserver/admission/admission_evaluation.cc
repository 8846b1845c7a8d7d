#include "apiserver/admission/admission_evaluation.h"

#include "apiserver/admission/admission_review.h"

namespace porthole::apiserver {
namespace {

/// What one attempt, and all attempts of one request, may cost on the loop: about a millisecond, and five.
constexpr std::uint64_t CheapAttempt = 20'000, CheapRequest = 100'000;
/// The decisions on which an expression's further questions depend, one after the other. A check costs so much that fewer are possible.
constexpr int MostAttempts = 64;

}  // namespace

Task<std::optional<ApiObject>> in_version(const ApiObject* object, const AdmissionAttributes& attributes, const schema::Kind& kind,
                                          const KindVersions* versions) {
    if (!object) co_return std::optional<ApiObject>();
    // The body of a subresource has a kind of its own.
    if (&object->kind() != &attributes.kind || !versions) co_return std::optional(*object);
    CO_TRY(ApiObject converted, co_await versions->convert(*object, kind));
    co_return std::optional(std::move(converted));
}

Task<VersionedRequest> VersionedRequest::make(const AdmissionAttributes& attributes, const schema::Kind& kind,
                                              const KindVersions* versions) {
    VersionedRequest made{.kind = &kind, .object = {}, .old_object = {}, .request = admission_request(kind, attributes)};
    CO_TRY(made.object, co_await in_version(attributes.object, attributes, kind, versions));
    CO_TRY(made.old_object, co_await in_version(attributes.old_object, attributes, kind, versions));
    co_return made;
}

AdmissionInput VersionedRequest::input(const AdmissionAttributes& attributes) const {
    return {.object = object ? &object->tree() : &attributes.connect_options,
            .old_object = old_object ? &old_object->tree() : nullptr,
            .request = &request,
            .request_resource = {.group = std::string(attributes.kind.group),
                                 .resource = std::string(attributes.kind.plural),
                                 .subresource = attributes.subresource,
                                 .namespace_name = attributes.namespace_,
                                 .name = attributes.name}};
}

AdmissionEvaluation::AdmissionEvaluation(const AdmissionDependencies& given, const User& user)
    : loop_(given.loop), pool_(given.pool), decisions_(given.authorizer, user), cheap_left_(CheapRequest) {}

void AdmissionEvaluation::Attempt::paid(const CostBudget& budget, std::uint64_t right_size) {
    cost += std::min(right_size, room) - budget.left;
    was_cut = was_cut || (budget.is_spent && room < right_size);
}

Task<> AdmissionEvaluation::run(std::function<void(Attempt&)> work) {
    bool is_cheap = true;
    for (int attempts = 0; attempts < MostAttempts; ++attempts) {
        is_cheap = is_cheap && (!pool_ || cheap_left_ > 0);
        Attempt attempt{.authorizer = decisions_, .room = UINT64_MAX};
        if (is_cheap) {
            if (pool_) attempt.room = std::min(CheapAttempt, cheap_left_);
            work(attempt);
            cheap_left_ -= std::min(cheap_left_, attempt.cost);
        } else {
            CO_TRY_VOID(co_await run_blocking<void>(*pool_, [&]() -> Result<void> {
                work(attempt);
                return {};
            }));
        }
        if (attempt.was_cut) {
            is_cheap = false;
            continue;
        }
        if (!decisions_.are_open()) co_return {};
        CO_TRY_VOID(co_await decisions_.decide());
    }
    co_return Error(Reason::InternalError, "Internal error occurred: expressions ask the authorizer too many questions");
}

}  // namespace porthole::apiserver
