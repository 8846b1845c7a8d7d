#pragma once
#include "api/certificates_v1.h"
#include "controllers/framework/context.h"
#include "net/tls/x509.h"

namespace porthole::controllers {

/// Approves a node's request for its kubelet's serving certificate if the node itself is the requester, all names and addresses are those
/// of its Node object, and no other node has one of them. Any other request stays pending, for an administrator to decide.
///
/// Differs from Kubernetes: nothing approves these requests there, because a node reports its own addresses. A false report gains little
/// here: only the API server trusts the authority of these certificates, and only for kubelets, and addresses of other nodes are refused.
class KubeletServingApprover final : public client::Controller {
public:
    static constexpr const char* Account = "kubelet-serving-approver";
    explicit KubeletServingApprover(Context& context);

private:
    using Request = api::certificates::v1::CertificateSigningRequest;
    using Node = api::core::v1::Node;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// Why the node may not have the certificate; "" if it may.
    std::string refuse(const Request& request, const net::CertificateSubject& subject) const;

    client::Client& client_;
    client::Informer<Request>& requests_;
    client::Informer<Node>& nodes_;
};

}  // namespace porthole::controllers
