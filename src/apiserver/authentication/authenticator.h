#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "apiserver/authentication/client_certificates.h"
#include "apiserver/request/user.h"
#include "net/http/http.h"
#include "runtime/task.h"

namespace porthole::apiserver {

/// Finds out who sends a request.
class Authenticator {
public:
    virtual ~Authenticator() = default;
    /// nullopt when the request carries no credential of this authenticator's kind. Error: Unauthorized when it carries a bad one.
    /// `request` outlives the task.
    virtual Task<std::optional<User>> authenticate(const net::HttpRequest& request) = 0;
};

/// Common name and organizations of a verified client certificate; one of the proxies' authority is not one.
class CertificateAuthenticator final : public Authenticator {
public:
    /// References outlive it.
    CertificateAuthenticator(ClientCertificates& certificates, const Clock& clock) : certificates_(certificates), clock_(clock) {}
    Task<std::optional<User>> authenticate(const net::HttpRequest& request) override;

private:
    ClientCertificates& certificates_;
    const Clock& clock_;
};

/// Whether requests without any credential are let in, as system:anonymous.
struct AnonymousPolicy {
    bool enabled = true;
    std::vector<std::string> paths;  ///< the only ones to which they are; empty for all
};

/// Asks each authenticator in turn; a request that none knows is anonymous. Adds the groups that everyone has (system:authenticated or
/// system:unauthenticated). Owns the authenticators.
class AuthenticatorChain final {
public:
    void add(std::unique_ptr<Authenticator> authenticator) { authenticators_.push_back(std::move(authenticator)); }
    void set_anonymous(AnonymousPolicy policy) { anonymous_ = std::move(policy); }
    /// Error: Unauthorized when one credential was bad and none was good, and for a request without any that is not let in;
    /// TooManyRequests when one could not be looked at.
    Task<User> authenticate(const net::HttpRequest& request) const;

private:
    std::vector<std::unique_ptr<Authenticator>> authenticators_;
    AnonymousPolicy anonymous_;
};

}  // namespace porthole::apiserver
