#pragma once
#include "api/certificates_v1.h"
#include "controllers/framework/context.h"
#include "net/tls/x509.h"

namespace porthole::controllers {

/// Signs approved certificate requests of Kubernetes' own signers. Kubelets' serving certificates have a separate authority, so that no
/// other certificate is accepted as a kubelet's, nor a kubelet's as a client's.
class CertificateSigner final : public client::Controller {
public:
    static constexpr const char* Account = "certificate-controller";
    CertificateSigner(Context& context, net::CertificateAuthority authority, net::CertificateAuthority kubelet_serving);

private:
    using Request = api::certificates::v1::CertificateSigningRequest;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    Result<std::string> sign(const Request& request) const;

    client::Client& client_;
    net::CertificateAuthority authority_, kubelet_serving_;
    client::Informer<Request>& requests_;
};

/// Removes certificate requests an hour after they were signed, denied or have failed, and all others after a day.
class CertificateCleaner final : public client::Controller {
public:
    static constexpr const char* Account = "certificate-controller";
    explicit CertificateCleaner(Context& context);

private:
    using Request = api::certificates::v1::CertificateSigningRequest;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// How long the request is kept after its last change.
    static Duration kept_for(const Request& request);

    client::Client& client_;
    client::Informer<Request>& requests_;
};

}  // namespace porthole::controllers
