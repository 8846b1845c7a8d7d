#include "controllers/certificates/approver.h"

#include "api/authorization_v1.h"
#include "controllers/certificates/requests.h"

namespace porthole::controllers {

using api::authorization::v1::SubjectAccessReview;

CertificateApprover::CertificateApprover(Context& context)
    : Controller(context.loop, context.log, {.name = "certificate-approver"}),
      client_(context.client),
      requests_(context.informers.get<Request>()) {
    reconcile_each(requests_);
}

Task<client::Requeue> CertificateApprover::reconcile(client::NamespacedName key) {
    const auto request = requests_.find(key);
    if (!request || !is_open(*request) || request->spec.signer_name != KubeletClientSigner) co_return client::Requeue::never();
    const auto parsed = net::parse_certificate_request(request->spec.request);
    if (!parsed || !refuse_kubelet_client(*request, parsed->subject).empty()) co_return client::Requeue::never();

    const bool self = request->spec.username == parsed->subject.common_name;
    std::string message;
    if (self) {
        CO_TRY(const bool allowed, co_await may(*request, "selfnodeclient"));
        if (allowed) message = "Auto approving self kubelet client certificate after SubjectAccessReview.";
    }
    if (message.empty()) {
        CO_TRY(const bool allowed, co_await may(*request, "nodeclient"));
        if (allowed) message = "Auto approving kubelet client certificate after SubjectAccessReview.";
    }
    if (message.empty()) co_return client::Requeue::never();
    Request approved = *request;
    approved.status.conditions.push_back(approval("AutoApproved", message, Timestamp(loop().wall_now())));
    CO_TRY_VOID(co_await client_.put_raw(client::Client::path(Request::kind(), key, "approval"), schema::encode_json(approved)));
    co_return client::Requeue::never();
}

Task<bool> CertificateApprover::may(const Request& request, std::string subresource) {
    SubjectAccessReview review;
    review.spec.user = request.spec.username;
    review.spec.uid = request.spec.uid;
    review.spec.groups = request.spec.groups;
    review.spec.extra = request.spec.extra;
    review.spec.resource_attributes.emplace();
    auto& attributes = *review.spec.resource_attributes;
    attributes.group = "certificates.k8s.io";
    attributes.resource = "certificatesigningrequests";
    attributes.verb = "create";
    attributes.version = "*";
    attributes.subresource = std::move(subresource);
    CO_TRY(const auto answer, co_await client_.create(std::move(review)));
    co_return answer.status.allowed;
}

Result<ControllerPtr> make_certificate_approver(Context& context) { return make_controller<CertificateApprover>(context); }

}  // namespace porthole::controllers
