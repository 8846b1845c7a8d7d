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
    Task<std::optional<User>> user_of(const Jwt& token);
    /// Clients are not told why; who configures the issuer has to know. At most a line in ten seconds: anybody can send such tokens.
    void log_refusal(const Error& error);

    const JwtIssuer issuer_;
    const Clock& clock_;
    const Logger log_;
    IssuerKeys keys_;
    std::optional<MonotonicTime> logged_;  ///< the last refusal
};

/// Tokens of several issuers, which can be replaced while requests are in progress. Call use() any number of times, then close(), even if
/// use() fails. References outlive it; `clients` may be null if issuers cannot be reached.
class JwtAuthenticators final : public Authenticator {
public:
    JwtAuthenticators(OutgoingClients* clients, EventLoop& loop, Logger log) : clients_(clients), loop_(loop), log_(std::move(log)) {}

    /// Uses these issuers from now on, whether or not they can be reached. Error: BadRequest if this server cannot connect to issuers.
    Result<void> start(const std::vector<JwtIssuer>& issuers);
    /// Replaces the issuers once each new one has served its keys; unchanged issuers keep theirs. Error: Timeout if an issuer has not
    /// served its keys within a minute; the previous issuers then stay in use.
    Task<> replace(std::vector<JwtIssuer> issuers);
    /// Ends the work in the background.
    Task<> close();

    Task<std::optional<User>> authenticate(const net::HttpRequest& request) override;

private:
    struct Followed;
    using Issuers = std::vector<std::shared_ptr<Followed>>;
    Result<std::shared_ptr<Followed>> follow(const JwtIssuer& issuer);
    Task<> wait_for_keys(Issuers issuers);
    /// Ends those of `all` that are not in `kept`.
    Task<> end(Issuers all, Issuers kept);

    OutgoingClients* clients_;
    EventLoop& loop_;
    Logger log_;
    Issuers issuers_;
};

}  // namespace porthole::apiserver
