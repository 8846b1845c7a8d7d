#pragma once
#include "api/certificates_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Approves kubelets' requests for client certificates if a SubjectAccessReview allows them to the requester. Serving certificates are left
/// to an administrator, as upstream does.
class CertificateApprover final : public client::Controller {
public:
    static constexpr const char* Account = "certificate-controller";
    explicit CertificateApprover(Context& context);

private:
    using Request = api::certificates::v1::CertificateSigningRequest;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    Task<bool> may(const Request& request, std::string subresource);

    client::Client& client_;
    client::Informer<Request>& requests_;
};

}  // namespace porthole::controllers
