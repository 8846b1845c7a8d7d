#pragma once
#include <map>
#include <memory>

#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Fills Secrets of type kubernetes.io/service-account-token: a token that lasts as long as the Secret, the cluster's authority and
/// the namespace. Deletes them when their service account no longer exists.
///
/// Differs from Kubernetes: the token carries the claims of today's tokens, bound to the Secret, and not those of the first kind.
class TokenSecretController final : public client::Controller {
public:
    static constexpr const char* Account = "";  ///< the manager's own rights, as upstream
    explicit TokenSecretController(Context& context);

private:
    using Secret = api::core::v1::Secret;
    using ServiceAccount = api::core::v1::ServiceAccount;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// Null if it does not exist, or if another one has its name.
    Task<std::shared_ptr<const ServiceAccount>> account_of(const Secret& secret);
    /// Takes a secret that is gone from its account's list.
    Task<> unlist(client::NamespacedName secret);
    Task<std::string> request_token(const Secret& secret, std::string account);

    client::Client& client_;
    std::string ca_pem_;
    client::Informer<Secret>& secrets_;
    client::Informer<ServiceAccount>& accounts_;
    client::Informer<Secret>::Index by_account_;
    std::map<client::NamespacedName, std::shared_ptr<const Secret>> gone_;  ///< not unlisted yet
};

}  // namespace porthole::controllers
