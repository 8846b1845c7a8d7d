#pragma once
#include <memory>

#include "apiserver/authentication/authenticator.h"
#include "apiserver/authentication/issuer_keys.h"

namespace porthole::apiserver {

/// "Authorization: Bearer <token of an issuer>". Tokens of other issuers are left to other authenticators. References outlive it.
class JwtAuthenticator final : public Authenticator {
public:
    JwtAuthenticator(JwtIssuer issuer, OutgoingClients& clients, EventLoop& loop, Logger log);
    /// Keeps the issuer's keys up to date until cancelled.
    Task<> follow() { return keys_.follow(); }
    Task<std::optional<User>> authenticate(const net::HttpRequest& request) override;

private:
    const JwtIssuer issuer_;
    const Clock& clock_;
    IssuerKeys keys_;
};

}  // namespace porthole::apiserver
