#pragma once
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Publishes the cluster's authority to every namespace, as the config map that pods' token volumes mount.
class RootCaController final : public client::Controller {
public:
    static constexpr const char* Account = "root-ca-cert-publisher";
    explicit RootCaController(Context& context);

private:
    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    client::Client& client_;
    std::string ca_pem_;
    client::Informer<api::core::v1::Namespace>& namespaces_;
    client::Informer<api::core::v1::ConfigMap>& config_maps_;
};

}  // namespace porthole::controllers
