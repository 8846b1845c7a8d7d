#pragma once
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Keeps a service account "default" in every namespace that is not being deleted.
class ServiceAccountController final : public client::Controller {
public:
    static constexpr const char* Account = "service-account-controller";
    explicit ServiceAccountController(Context& context);

private:
    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    client::Client& client_;
    client::Informer<api::core::v1::Namespace>& namespaces_;
    client::Informer<api::core::v1::ServiceAccount>& accounts_;
};

}  // namespace porthole::controllers
