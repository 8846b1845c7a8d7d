#include "apiserver/authentication/jwt_authenticator.h"

#include <algorithm>

#include "apiserver/authentication/service_account_tokens.h"
#include "base/result.h"
#include "runtime/scope.h"

namespace porthole::apiserver {
namespace {

constexpr Duration LongestWaitForKeys = std::chrono::minutes(1), BetweenLooks = std::chrono::milliseconds(200),
                   BetweenRefusals = std::chrono::seconds(10);

}  // namespace

JwtAuthenticator::JwtAuthenticator(JwtIssuer issuer, OutgoingClients& clients, EventLoop& loop, Logger log)
    : issuer_(issuer), clock_(loop), log_(log), keys_(std::move(issuer), clients, loop, std::move(log)) {}

Task<std::optional<User>> JwtAuthenticator::authenticate(const net::HttpRequest& request) {
    const auto token = parse_jwt(bearer_token(request));
    if (!token || token->claims.string_at({"iss"}) != issuer_.url) co_return std::optional<User>();
    auto user = co_await user_of(*token);
    if (!user && !is_cancelled(user)) log_refusal(user.error());
    co_return std::move(user);
}

void JwtAuthenticator::log_refusal(const Error& error) {
    if (logged_ && clock_.now() - *logged_ < BetweenRefusals) return;
    logged_ = clock_.now();
    log_.warn("a token of this issuer is refused", {{"issuer", issuer_.url}, {"error", error.message}});
}

Task<std::optional<User>> JwtAuthenticator::user_of(const Jwt& token) {
    const auto& allowed = issuer_.algorithms;
    // Also refuses "none" and the algorithms with a shared secret, for which anybody knows the public key.
    if (!net::is_jws_algorithm(token.algorithm) || (!allowed.empty() && std::ranges::find(allowed, token.algorithm) == allowed.end()))
        co_return Error(Reason::Unauthorized, "oidc: the token is signed with an algorithm that is not allowed");
    if (!is_signed_by(token, keys_.known())) {
        CO_TRY_VOID(co_await keys_.renew());
        if (!is_signed_by(token, keys_.known())) co_return Error(Reason::Unauthorized, "oidc: the token is not signed by its issuer");
    }
    CO_TRY(User user, user_of_claims(issuer_, token.claims, clock_.wall_now()));
    co_return std::optional(std::move(user));
}

struct JwtAuthenticators::Followed {
    Followed(const JwtIssuer& issuer, OutgoingClients& clients, EventLoop& loop, Logger log)
        : authenticator(issuer, clients, loop, std::move(log)), scope(loop) {
        scope.spawn(authenticator.follow());
    }
    JwtAuthenticator authenticator;
    Scope scope;
};

Result<std::shared_ptr<JwtAuthenticators::Followed>> JwtAuthenticators::follow(const JwtIssuer& issuer) {
    if (!clients_) return Error(Reason::BadRequest, issuer.url + ": this server cannot connect to token issuers");
    return std::make_shared<Followed>(issuer, *clients_, loop_, log_);
}

Result<void> JwtAuthenticators::start(const std::vector<JwtIssuer>& issuers) {
    for (const JwtIssuer& issuer : issuers) {
        TRY(issuers_.emplace_back(), follow(issuer));
    }
    return {};
}

Task<> JwtAuthenticators::replace(std::vector<JwtIssuer> issuers) {
    Issuers next, fresh;
    Result<void> outcome;
    for (const JwtIssuer& issuer : issuers) {
        const auto same = std::ranges::find_if(issuers_, [&](const auto& one) { return one->authenticator.issuer() == issuer; });
        if (same != issuers_.end()) {
            next.push_back(*same);
        } else if (auto made = follow(issuer)) {
            next.push_back(*made);
            fresh.push_back(std::move(*made));
        } else {
            outcome = std::move(made).error();
        }
    }
    if (outcome) outcome = co_await with_timeout(wait_for_keys(fresh), LongestWaitForKeys, "keys of the issuers");
    const Issuers before = issuers_;
    if (outcome) issuers_ = next;
    const bool replaced = outcome.has_value();
    CO_TRY_VOID(co_await end(replaced ? before : fresh, replaced ? next : before));
    co_return outcome;
}

Task<> JwtAuthenticators::wait_for_keys(Issuers issuers) {
    while (!std::ranges::all_of(issuers, [](const auto& one) { return one->authenticator.has_keys(); }))
        CO_TRY_VOID(co_await loop_.sleep(BetweenLooks));
    co_return {};
}

Task<> JwtAuthenticators::end(Issuers all, Issuers kept) {
    for (const auto& one : all)
        if (std::ranges::find(kept, one) == kept.end()) CO_TRY_VOID(co_await one->scope.close());
    co_return {};
}

Task<> JwtAuthenticators::close() { co_return co_await end(std::exchange(issuers_, {}), {}); }

Task<std::optional<User>> JwtAuthenticators::authenticate(const net::HttpRequest& request) {
    const Issuers issuers = issuers_;  // which may be replaced meanwhile
    for (const auto& one : issuers) {
        CO_TRY(auto user, co_await one->authenticator.authenticate(request));
        if (user) co_return user;
    }
    co_return std::optional<User>();
}

}  // namespace porthole::apiserver
