#include "apiserver/reviews/reviews.h"

#include <algorithm>
#include <iterator>

#include "api/authentication_v1.h"
#include "api/authorization_v1.h"

namespace porthole::apiserver {
namespace {

using namespace api::authorization::v1;
using api::authentication::v1::SelfSubjectReview;
using api::authentication::v1::TokenReview;
using api::authentication::v1::UserInfo;

Error invalid(const schema::Kind& kind, const char* type, const std::string& field, const std::string& why) {
    Error error(Reason::Invalid, std::string(kind.kind) + "." + std::string(kind.group) + " \"\" is invalid: " + field + ": " + why);
    error.details->group = kind.group;
    error.details->kind = kind.kind;
    error.details->causes.push_back({type, why, field});
    return error;
}

/// The question in the terms of an authorizer. `spec` is any of the review specs. Error: Invalid unless it asks about
/// exactly one thing.
template <class Spec>
Result<AuthorizationAttributes> question(const schema::Kind& kind, const Spec& spec, User user) {
    if (spec.resource_attributes.has_value() == spec.non_resource_attributes.has_value()) {
        return invalid(kind, "FieldValueInvalid", "spec.resourceAttributes",
                       spec.resource_attributes
                           ? "Invalid value: cannot be specified in combination with nonResourceAttributes"
                           : "Invalid value: exactly one of nonResourceAttributes or resourceAttributes must be specified");
    }
    AuthorizationAttributes attributes{.user = std::move(user)};
    if (spec.non_resource_attributes) {
        attributes.verb = spec.non_resource_attributes->verb;
        attributes.path = spec.non_resource_attributes->path;
        return attributes;
    }
    const ResourceAttributes& resource = *spec.resource_attributes;
    attributes.is_resource = true;
    attributes.verb = resource.verb;
    attributes.group = resource.group;
    attributes.version = resource.version;
    attributes.resource = resource.resource;
    attributes.subresource = resource.subresource;
    attributes.namespace_ = resource.namespace_;
    attributes.name = resource.name;
    return attributes;
}

Task<SubjectAccessReviewStatus> answer(Authorizer& authorizer, AuthorizationAttributes attributes) {
    SubjectAccessReviewStatus status;
    auto decision = co_await authorizer.authorize(attributes);
    if (!decision) {
        status.evaluation_error = decision.error().message;
        co_return status;
    }
    status.allowed = decision->allowed();
    status.denied = decision->kind == Decision::Kind::Deny;
    status.reason = std::move(decision->reason);
    status.evaluation_error = std::move(decision->error);
    co_return status;
}

Task<ApiObject> self_subject_access(Authorizer& authorizer, User user, ApiObject object) {
    auto& review = object.edit<SelfSubjectAccessReview>();
    CO_TRY(auto attributes, question(SelfSubjectAccessReview::kind(), review.spec, std::move(user)));
    CO_TRY(review.status, co_await answer(authorizer, std::move(attributes)));
    co_return object;
}

template <class Review>
Result<AuthorizationAttributes> question_about_subject(const Review& review) {
    const SubjectAccessReviewSpec& spec = review.spec;
    if (spec.user.empty() && spec.groups.empty()) {
        return invalid(Review::kind(), "FieldValueInvalid", "spec.user", "Invalid value: at least one of user or group must be specified");
    }
    constexpr std::size_t MostGroups = 1000;  // each is compared with the subjects of all bindings
    if (spec.groups.size() > MostGroups) {
        return invalid(Review::kind(), "FieldValueTooMany", "spec.groups",
                       "Too many: " + std::to_string(spec.groups.size()) + ": must have at most " + std::to_string(MostGroups) + " items");
    }
    return question(Review::kind(), spec, {.name = spec.user, .uid = spec.uid, .groups = spec.groups, .extra = spec.extra});
}

Task<ApiObject> subject_access(Authorizer& authorizer, ApiObject object) {
    auto& review = object.edit<SubjectAccessReview>();
    CO_TRY(auto attributes, question_about_subject(review));
    CO_TRY(review.status, co_await answer(authorizer, std::move(attributes)));
    co_return object;
}

Task<ApiObject> local_subject_access(Authorizer& authorizer, ApiObject object) {
    auto& review = object.edit<LocalSubjectAccessReview>();
    CO_TRY(auto attributes, question_about_subject(review));
    if (!attributes.is_resource || attributes.namespace_ != review.metadata.namespace_) {
        co_return invalid(LocalSubjectAccessReview::kind(), "FieldValueInvalid", "spec.resourceAttributes.namespace",
                          "Invalid value: must match metadata.namespace");
    }
    CO_TRY(review.status, co_await answer(authorizer, std::move(attributes)));
    co_return object;
}

Task<ApiObject> self_subject_rules(const RbacAuthorizer& rbac, bool has_webhook, User user, ApiObject object) {
    auto& review = object.edit<SelfSubjectRulesReview>();
    if (review.spec.namespace_.empty()) co_return Error(Reason::BadRequest, "no namespace on request");
    if (has_webhook) {
        review.status.incomplete = true;
        review.status.evaluation_error = "webhook authorizer does not support user rule resolution";
    }
    rbac.visit_rules(user, review.spec.namespace_, [&](const api::rbac::v1::PolicyRule& rule, const auto&) {
        if (rule.non_resource_urls.empty()) {
            review.status.resource_rules.push_back(
                {.verbs = rule.verbs, .api_groups = rule.api_groups, .resources = rule.resources, .resource_names = rule.resource_names});
        } else {
            review.status.non_resource_rules.push_back({.verbs = rule.verbs, .non_resource_urls = rule.non_resource_urls});
        }
        return true;
    });
    co_return object;
}

UserInfo info(const User& user) { return {.username = user.name, .uid = user.uid, .groups = user.groups, .extra = user.extra}; }

/// The audiences of `wanted` that are the server's own: what a credential without audiences, as a bootstrap token, is meant for.
std::vector<std::string> own_audiences(const std::vector<std::string>& wanted, const std::vector<std::string>& own) {
    std::vector<std::string> both;
    std::ranges::copy_if(wanted, std::back_inserter(both),
                         [&](const std::string& one) { return std::ranges::find(own, one) != own.end(); });
    return both;
}

Task<ApiObject> token_review(const AuthenticatorChain& authenticators, const ServiceAccountTokens& tokens, ApiObject object) {
    auto& review = object.edit<TokenReview>();
    if (review.spec.token.empty()) {
        co_return invalid(TokenReview::kind(), "FieldValueRequired", "spec.token",
                          "Required value: token is required for TokenReview in authentication");
    }
    // No such token can be presented, and in a header it would be read as something else.
    if (std::ranges::any_of(review.spec.token, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; })) {
        review.status.error = "invalid bearer token";
        review.spec.token.clear();
        co_return object;
    }
    const std::vector<std::string>& own = tokens.settings().api_audiences;
    const std::vector<std::string> audiences = review.spec.audiences.empty() ? own : review.spec.audiences;
    const auto confirm = [&](User user, std::vector<std::string> confirmed) {
        if (!user.in_group(GroupAuthenticated)) user.groups.emplace_back(GroupAuthenticated);
        review.status.authenticated = true;
        review.status.user = info(user);
        review.status.audiences = std::move(confirmed);
    };
    if (auto verified = tokens.verify(review.spec.token, audiences); !verified) {
        review.status.error = verified.error().message;
    } else if (*verified) {
        confirm(std::move((*verified)->user), std::move((*verified)->audiences));
    } else if (std::vector<std::string> confirmed = own_audiences(audiences, own); !confirmed.empty()) {
        net::HttpRequest request;
        request.headers.add("authorization", "Bearer " + review.spec.token);
        auto user = co_await authenticators.authenticate(request);
        if (!user) {
            review.status.error = user.error().message;
        } else if (user->name != AnonymousUser) {
            confirm(std::move(*user), std::move(confirmed));
        }
    }
    review.spec.token.clear();  // the answer is not a place to keep it
    co_return object;
}

Task<ApiObject> self_subject(User user, ApiObject object) {
    object.edit<SelfSubjectReview>().status.user_info = info(user);
    co_return object;
}

}  // namespace

std::vector<VirtualResource> reviews(const ReviewDependencies& with) {
    Authorizer& authorizer = with.authorizer;
    const RbacAuthorizer& rbac = with.rbac;
    const AuthenticatorChain& authenticators = with.authenticators;
    const ServiceAccountTokens& tokens = with.tokens;
    return {
        {SelfSubjectAccessReview::kind(),
         [&](User user, ApiObject object) { return self_subject_access(authorizer, std::move(user), std::move(object)); }},
        {SubjectAccessReview::kind(), [&](User, ApiObject object) { return subject_access(authorizer, std::move(object)); }},
        {LocalSubjectAccessReview::kind(), [&](User, ApiObject object) { return local_subject_access(authorizer, std::move(object)); }},
        {SelfSubjectRulesReview::kind(),
         [&rbac, has_webhook = with.has_webhook_authorizer](User user, ApiObject object) {
             return self_subject_rules(rbac, has_webhook(), std::move(user), std::move(object));
         }},
        {TokenReview::kind(), [&](User, ApiObject object) { return token_review(authenticators, tokens, std::move(object)); }},
        {SelfSubjectReview::kind(), [](User user, ApiObject object) { return self_subject(std::move(user), std::move(object)); }},
    };
}

}  // namespace porthole::apiserver
