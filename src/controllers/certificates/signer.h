#pragma once
#include "api/certificates_v1.h"
#include "controllers/framework/context.h"
#include "net/x509.h"

namespace porthole::controllers {

/// Signs approved certificate requests of Kubernetes' own signers with the cluster's authority.
class CertificateSigner final : public client::Controller {
public:
    CertificateSigner(Context& context, net::CertificateAuthority authority);

private:
    using Request = api::certificates::v1::CertificateSigningRequest;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    Result<std::string> sign(const Request& request) const;

    client::Client& client_;
    net::CertificateAuthority authority_;
    client::Informer<Request>& requests_;
};

/// Removes certificate requests that nobody waits for any more.
class CertificateCleaner final : public client::Controller {
public:
    explicit CertificateCleaner(Context& context);

private:
    using Request = api::certificates::v1::CertificateSigningRequest;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// How long the request is kept from its last change on.
    static Duration kept_for(const Request& request);

    client::Client& client_;
    client::Informer<Request>& requests_;
};

}  // namespace porthole::controllers
