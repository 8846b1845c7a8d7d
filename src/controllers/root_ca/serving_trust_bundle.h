#pragma once
#include "api/certificates_v1beta1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Publishes the cluster's authority as the ClusterTrustBundle of the signer kubernetes.io/kube-apiserver-serving, whose other bundles it
/// deletes.
class ServingTrustBundlePublisher final : public client::Controller {
public:
    static constexpr const char* Account = "kube-apiserver-serving-clustertrustbundle-publisher";
    explicit ServingTrustBundlePublisher(Context& context);

private:
    using Bundle = api::certificates::v1beta1::ClusterTrustBundle;
    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    client::Client& client_;
    std::string ca_pem_;
    std::string name_;  ///< of the bundle, which changes with the authority
    client::Informer<Bundle>& bundles_;
};

}  // namespace porthole::controllers
