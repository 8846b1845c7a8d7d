#pragma once
#include <memory>

#include "apiserver/authorization/authorization_config.h"
#include "apiserver/authorization/authorizer.h"
#include "apiserver/outgoing/webhook.h"
#include "base/lru_map.h"

namespace porthole::apiserver {

/// Delegates decisions to a server. 8192 answers are cached, except for requests longer than 10,000 bytes. If the server fails, the options
/// decide whether the request is denied or left to the next authorizer; the decision includes the error. Requests that the match conditions
/// exclude are left to the next authorizer. Lives on one loop, which outlives it, as do the metrics.
class WebhookAuthorizer final : public Authorizer {
public:
    WebhookAuthorizer(std::unique_ptr<Webhook> webhook, WebhookAuthorizerOptions options, const Clock& clock,
                      AccessConditionMetrics& metrics);
    Task<Decision> authorize(const AuthorizationAttributes& attributes) override;

private:
    struct Answer {
        Decision decision;
        MonotonicTime until;
    };

    Result<bool> is_asked(const AuthorizationAttributes& attributes) const;
    Decision failed(std::string error) const;

    std::unique_ptr<Webhook> webhook_;
    const WebhookAuthorizerOptions options_;
    const Clock& clock_;
    AccessConditionMetrics& metrics_;
    LruMap<Answer> answers_;  ///< by the question
};

/// The question as spec of a SubjectAccessReview of that version.
schema::Value access_review_spec(const AuthorizationAttributes& attributes, std::string_view version);
/// The same for match conditions: version v1, with every list, map and string present, even if empty.
schema::Value match_condition_request(const AuthorizationAttributes& attributes);
/// A review that is both allowed and denied denies, with an error.
Decision decision_of_access_review(const schema::Value& review);

/// Allows or denies everything.
class FixedAuthorizer final : public Authorizer {
public:
    explicit FixedAuthorizer(Decision decision) : decision_(std::move(decision)) {}
    Task<Decision> authorize(const AuthorizationAttributes&) override { co_return decision_; }

private:
    Decision decision_;
};

}  // namespace porthole::apiserver
