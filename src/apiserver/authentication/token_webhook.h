#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/authentication/authenticator.h"
#include "apiserver/outgoing/webhook.h"
#include "base/lru_map.h"
#include "runtime/sync.h"

namespace porthole::apiserver {

/// A server that authenticates bearer tokens by TokenReviews: --authentication-token-webhook-config-file and its like.
struct TokenWebhookOptions {
    std::string kubeconfig;                  ///< path
    std::string version = "v1beta1";         ///< of authentication.k8s.io
    Duration ttl = std::chrono::minutes(2);  ///< for which an answer is remembered; 0: not at all
};

/// Sends every bearer token to the server, once for all concurrent requests that have it. A failure is a bad credential, or TooManyRequests
/// if the server has too many calls. Answers are cached for `ttl` by the token's SHA-256: 4096 that accept, and separately as many that
/// refuse, so that invented tokens displace no user. Lives on one loop, which outlives it.
class TokenWebhookAuthenticator final : public Authenticator {
public:
    TokenWebhookAuthenticator(std::unique_ptr<Webhook> webhook, TokenWebhookOptions options, std::vector<std::string> audiences,
                              const Clock& clock);
    Task<std::optional<User>> authenticate(const net::HttpRequest& request) override;

private:
    struct Answer {
        std::optional<User> user;
        MonotonicTime until;
    };
    struct Question {
        Event ended;
        std::optional<Result<std::optional<User>>> outcome;  ///< nullopt if the request that asked has been cancelled
    };
    Task<std::optional<User>> ask(std::string token, std::string key);
    const Answer* remembered(const std::string& key);

    std::unique_ptr<Webhook> webhook_;
    const TokenWebhookOptions options_;
    const std::vector<std::string> audiences_;
    const Clock& clock_;
    LruMap<Answer> users_, strangers_;
    std::map<std::string, std::shared_ptr<Question>> asked_;  ///< in progress
};

/// The user of an answered TokenReview; nullopt if it does not authenticate, or not for any of `audiences`. Error: Unauthorized for an
/// answer with an error, or without a name.
Result<std::optional<User>> user_of_token_review(const schema::Value& review, const std::vector<std::string>& audiences);

}  // namespace porthole::apiserver
