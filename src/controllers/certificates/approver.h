#pragma once
#include "api/certificates_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Approves the certificate requests of kubelets, where a SubjectAccessReview says that their author may have them.
class CertificateApprover final : public client::Controller {
public:
    explicit CertificateApprover(Context& context);

private:
    using Request = api::certificates::v1::CertificateSigningRequest;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    Task<bool> may(const Request& request, std::string subresource);

    client::Client& client_;
    client::Informer<Request>& requests_;
};

}  // namespace porthole::controllers
