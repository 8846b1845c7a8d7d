#pragma once
#include "api/certificates_v1beta1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Deletes requests for certificates of pods a quarter of an hour after they were made: kubelets that still wait ask again.
class PodCertificateCleaner final : public client::Controller {
public:
    static constexpr const char* Account = "podcertificaterequestcleaner";
    explicit PodCertificateCleaner(Context& context);

private:
    using Request = api::certificates::v1beta1::PodCertificateRequest;
    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    client::Client& client_;
    client::Informer<Request>& requests_;
};

}  // namespace porthole::controllers
