#pragma once
#include <memory>
#include <vector>

#include "apiserver/authentication/authenticator.h"
#include "apiserver/authentication/issuer_keys.h"

namespace porthole::apiserver {

/// "Authorization: Bearer <token of an issuer>". Tokens of other issuers are left to other authenticators. References outlive it.
class JwtAuthenticator final : public Authenticator {
public:
    JwtAuthenticator(JwtIssuer issuer, OutgoingClients& clients, EventLoop& loop, Logger log);
    /// Keeps the issuer's keys up to date until cancelled.
    Task<> follow() { return keys_.follow(); }
    bool has_keys() const { return keys_.loaded(); }
    const JwtIssuer& issuer() const { return issuer_; }
    Task<std::optional<User>> authenticate(const net::HttpRequest& request) override;

private:
    const JwtIssuer issuer_;
    const Clock& clock_;
    IssuerKeys keys_;
};

/// Tokens of several issuers, which can be replaced while requests are in progress. The order is any number of use(), then close(), also
/// when one fails. References outlive it; `clients` may be null where there is no way to issuers.
class JwtAuthenticators final : public Authenticator {
public:
    JwtAuthenticators(OutgoingClients* clients, EventLoop& loop, Logger log) : clients_(clients), loop_(loop), log_(std::move(log)) {}

    /// These issuers from now on, whether they can be reached or not. Error: BadRequest where there is no way to them.
    Result<void> start(const std::vector<JwtIssuer>& issuers);
    /// The same instead of those before, once each new one has told its keys: what is unchanged goes on with the keys that it has.
    /// Error: Timeout, with those before still in use, when one has not told them within a minute.
    Task<> replace(std::vector<JwtIssuer> issuers);
    /// Ends the work in the background.
    Task<> close();

    Task<std::optional<User>> authenticate(const net::HttpRequest& request) override;

private:
    struct Followed;
    using Issuers = std::vector<std::shared_ptr<Followed>>;
    Result<std::shared_ptr<Followed>> follow(const JwtIssuer& issuer);
    Task<> wait_for_keys(Issuers issuers);
    /// Those of `all` that `kept` does not have.
    Task<> end(Issuers all, Issuers kept);

    OutgoingClients* clients_;
    EventLoop& loop_;
    Logger log_;
    Issuers issuers_;
};

}  // namespace porthole::apiserver
