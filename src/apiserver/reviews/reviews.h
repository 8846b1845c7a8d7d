#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "apiserver/authentication/service_account_tokens.h"
#include "apiserver/authorization/rbac.h"
#include "apiserver/validation/api_object.h"

/// Resources that are never stored: a POST is a question, and its answer is the reply.
namespace porthole::apiserver {

/// One such resource. Outlives the requests.
struct VirtualResource {
    const schema::Kind& kind;
    /// Fills the status of `object`, which has the spec that was sent. Errors: Invalid, Unauthorized.
    std::function<Task<ApiObject>(User user, ApiObject object)> create;
};

/// The collaborators of reviews; outlive them.
struct ReviewDependencies {
    Authorizer& authorizer;
    const RbacAuthorizer& rbac;
    const AuthenticatorChain& authenticators;
    const ServiceAccountTokens& tokens;
    std::function<bool()> has_webhook_authorizer;  ///< its rights are not in any list of rules
};

/// SelfSubjectAccessReview, SubjectAccessReview, LocalSubjectAccessReview, SelfSubjectRulesReview, TokenReview and
/// SelfSubjectReview.
std::vector<VirtualResource> reviews(const ReviewDependencies& dependencies);

}  // namespace porthole::apiserver
