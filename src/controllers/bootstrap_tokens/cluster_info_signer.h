#pragma once
#include <map>
#include <string>

#include "api/core_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Signs the kubeconfig in ConfigMap kube-public/cluster-info with every token that may sign, so that the holder of a token can verify the
/// cluster's authority before trusting it. Removes signatures of deleted tokens.
class ClusterInfoSigner final : public client::Controller {
public:
    static constexpr const char* Account = "bootstrap-signer";
    explicit ClusterInfoSigner(Context& context);

private:
    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    client::Client& client_;
    client::Informer<api::core::v1::Secret>& secrets_;
    client::Informer<api::core::v1::ConfigMap>& maps_;
};

}  // namespace porthole::controllers
