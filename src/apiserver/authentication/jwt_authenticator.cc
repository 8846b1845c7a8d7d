#include "apiserver/authentication/jwt_authenticator.h"

#include <algorithm>

#include "apiserver/authentication/service_account_tokens.h"

namespace porthole::apiserver {

JwtAuthenticator::JwtAuthenticator(JwtIssuer issuer, OutgoingClients& clients, EventLoop& loop, Logger log)
    : issuer_(issuer), clock_(loop), keys_(std::move(issuer), clients, loop, std::move(log)) {}

Task<std::optional<User>> JwtAuthenticator::authenticate(const net::HttpRequest& request) {
    const auto token = parse_jwt(bearer_token(request));
    if (!token || token->claims.string_at({"iss"}) != issuer_.url) co_return std::optional<User>();
    const auto& allowed = issuer_.algorithms;
    // Also refuses "none" and the algorithms with a shared secret, for which anybody knows the public key.
    if (!net::is_jws_algorithm(token->algorithm) || (!allowed.empty() && std::ranges::find(allowed, token->algorithm) == allowed.end()))
        co_return Error(Reason::Unauthorized, "oidc: the token is signed with an algorithm that is not allowed");
    if (!is_signed_by(*token, keys_.known())) {
        CO_TRY_VOID(co_await keys_.renew());
        if (!is_signed_by(*token, keys_.known())) co_return Error(Reason::Unauthorized, "oidc: the token is not signed by its issuer");
    }
    CO_TRY(User user, user_of_claims(issuer_, token->claims, clock_.wall_now()));
    co_return std::optional(std::move(user));
}

}  // namespace porthole::apiserver
