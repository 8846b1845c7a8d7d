#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "apiserver/authentication/service_account_tokens.h"
#include "apiserver/authorization/rbac.h"
#include "apiserver/validation/api_object.h"

/// Resources that only answer: a POST is a question, the reply its answer, and nothing is stored.
namespace porthole::apiserver {

/// One such resource. Outlives the requests.
struct VirtualResource {
    const schema::Kind& kind;
    /// Fills the status of `object`, which has the spec that was sent. Errors: Invalid, Unauthorized.
    std::function<Task<ApiObject>(User user, ApiObject object)> create;
};

/// What the answers are made from; outlives them.
struct ReviewDependencies {
    Authorizer& authorizer;
    const RbacAuthorizer& rbac;
    const AuthenticatorChain& authenticators;
    const ServiceAccountTokens& tokens;
    std::function<bool()> has_webhook_authorizer;  ///< what it allows is in no list of rules
};

/// SelfSubjectAccessReview, SubjectAccessReview, LocalSubjectAccessReview, SelfSubjectRulesReview, TokenReview and
/// SelfSubjectReview.
std::vector<VirtualResource> reviews(const ReviewDependencies& dependencies);

}  // namespace porthole::apiserver
