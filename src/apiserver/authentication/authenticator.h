#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "apiserver/authentication/client_certificates.h"
#include "apiserver/request/user.h"
#include "net/http/http.h"
#include "runtime/task.h"

namespace porthole::apiserver {

/// Determines the sender of a request.
class Authenticator {
public:
    virtual ~Authenticator() = default;
    /// nullopt if the request carries no credential of this authenticator's kind. Error: Unauthorized when it carries a bad one.
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

/// Whether requests without any credential are accepted, as system:anonymous.
struct AnonymousPolicy {
    bool enabled = true;
    std::vector<std::string> paths;  ///< the only ones to which they are; empty for all
};

/// Asks each authenticator in turn; a request that none recognizes is anonymous. Adds the groups that every user has (system:authenticated
/// or system:unauthenticated). Owns the authenticators.
class AuthenticatorChain final {
public:
    void add(std::unique_ptr<Authenticator> authenticator) { authenticators_.push_back(std::move(authenticator)); }
    void set_anonymous(AnonymousPolicy policy) { anonymous_ = std::move(policy); }
    /// Error: Unauthorized if one credential was invalid and none was valid, and for an anonymous request that is not accepted;
    /// TooManyRequests if a credential could not be checked.
    Task<User> authenticate(const net::HttpRequest& request) const;

private:
    std::vector<std::unique_ptr<Authenticator>> authenticators_;
    AnonymousPolicy anonymous_;
};

}  // namespace porthole::apiserver
