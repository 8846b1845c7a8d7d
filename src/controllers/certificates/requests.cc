#include "controllers/certificates/requests.h"

#include "objects/conditions.h"

#include <algorithm>
#include <set>

namespace porthole::controllers {
namespace {

using Usages = std::set<std::string>;

Usages usages_of(const SigningRequest& request) { return Usages(request.spec.usages.begin(), request.spec.usages.end()); }

bool is_node_name(const std::string& common_name) {
    constexpr std::string_view Prefix = "system:node:";
    return common_name.starts_with(Prefix) && common_name.size() > Prefix.size();
}

}  // namespace

bool is_open(const SigningRequest& request) {
    return request.status.certificate.empty() && !has_condition(request, "Approved") && !has_condition(request, "Denied") &&
           !has_condition(request, "Failed");
}

api::certificates::v1::CertificateSigningRequestCondition approval(std::string reason, std::string message, Timestamp now) {
    return {.type = "Approved", .status = "True", .reason = std::move(reason), .message = std::move(message), .last_update_time = now};
}

bool has_condition(const SigningRequest& request, std::string_view type) {
    return objects::find_condition(request.status.conditions, type) != nullptr;
}

std::string refuse_kubelet_client(const SigningRequest& request, const net::CertificateSubject& subject) {
    if (subject.organizations != std::vector<std::string>{"system:nodes"}) return "subject organization is not system:nodes";
    if (!subject.dns_names.empty()) return "DNS subjectAltNames are not allowed";
    if (!subject.ip_addresses.empty()) return "IP subjectAltNames are not allowed";
    if (!is_node_name(subject.common_name)) return "subject common name does not begin with system:node:";
    const Usages usages = usages_of(request);
    const bool fit =
        usages == Usages{"digital signature", "client auth"} || usages == Usages{"digital signature", "key encipherment", "client auth"};
    return fit ? "" : "usages did not match [digital signature client auth]";
}

std::string refuse_kubelet_serving(const SigningRequest& request, const net::CertificateSubject& subject) {
    if (subject.organizations != std::vector<std::string>{"system:nodes"}) return "subject organization is not system:nodes";
    if (subject.dns_names.empty() && subject.ip_addresses.empty()) return "at least one DNS or IP subjectAltName is required";
    if (!is_node_name(subject.common_name)) return "subject common name does not begin with system:node:";
    const Usages usages = usages_of(request);
    const bool fit =
        usages == Usages{"digital signature", "server auth"} || usages == Usages{"digital signature", "key encipherment", "server auth"};
    return fit ? "" : "usages did not match [digital signature key encipherment server auth]";
}

namespace {

std::string refuse_api_client(const SigningRequest& request) {
    const Usages fit = {"digital signature", "key encipherment", "client auth"};
    for (const std::string& usage : request.spec.usages)
        if (!fit.contains(usage)) return "invalid usage for client certificate: " + usage;
    return usages_of(request).contains("client auth") ? "" : "missing required usage for client certificate: client auth";
}

}  // namespace

std::string refuse_by_signer(const SigningRequest& request, const net::CertificateSubject& subject) {
    const std::string& signer = request.spec.signer_name;
    if (signer == KubeletClientSigner) return refuse_kubelet_client(request, subject);
    if (signer == KubeletServingSigner) return refuse_kubelet_serving(request, subject);
    return signer == ApiClientSigner ? refuse_api_client(request) : "";
}

}  // namespace porthole::controllers
