#pragma once
#include "api/certificates_v1.h"
#include "controllers/framework/context.h"
#include "net/tls/x509.h"

namespace porthole::controllers {

/// Approves a node's request for the certificate of its kubelet's server, where the node asks itself, all names and addresses are those of
/// its Node object, and no other node has one of them. Any other request is left open, for an administrator to decide.
///
/// Differs from Kubernetes: there nothing approves these requests, because a node says itself what its addresses are. What it could gain
/// is small here: the certificates are of an authority that only the API server trusts and only for kubelets, and another node's
/// addresses are refused.
class KubeletServingApprover final : public client::Controller {
public:
    static constexpr const char* Account = "kubelet-serving-approver";
    explicit KubeletServingApprover(Context& context);

private:
    using Request = api::certificates::v1::CertificateSigningRequest;
    using Node = api::core::v1::Node;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// Why the node may not have the certificate; "" when it may.
    std::string refuse(const Request& request, const net::CertificateSubject& subject) const;

    client::Client& client_;
    client::Informer<Request>& requests_;
    client::Informer<Node>& nodes_;
};

}  // namespace porthole::controllers
