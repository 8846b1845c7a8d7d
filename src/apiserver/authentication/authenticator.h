#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "apiserver/request/user.h"
#include "net/http.h"
#include "runtime/task.h"

namespace porthole::apiserver {

/// Finds out who sends a request.
class Authenticator {
public:
    virtual ~Authenticator() = default;
    /// nullopt when the request carries no credential of this authenticator's sort. Error: Unauthorized when it carries a bad one.
    /// `request` outlives the task.
    virtual Task<std::optional<User>> authenticate(const net::HttpRequest& request) = 0;
};

/// Common name and organisations of a verified client certificate.
class CertificateAuthenticator final : public Authenticator {
public:
    Task<std::optional<User>> authenticate(const net::HttpRequest& request) override;
};

/// Asks each authenticator in turn; a request that none knows is anonymous. Adds the groups that everyone has.
class AuthenticatorChain final {
public:
    void add(std::unique_ptr<Authenticator> authenticator) { authenticators_.push_back(std::move(authenticator)); }
    /// Error: Unauthorized when one credential was bad and none was good.
    Task<User> authenticate(const net::HttpRequest& request) const;

private:
    std::vector<std::unique_ptr<Authenticator>> authenticators_;
};

}  // namespace porthole::apiserver
