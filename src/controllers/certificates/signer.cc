#include "controllers/certificates/signer.h"

#include <algorithm>

#include "base/result.h"
#include "controllers/certificates/requests.h"

namespace porthole::controllers {

using namespace std::chrono_literals;

namespace {

constexpr auto LongestLife = 24h * 365;
constexpr auto ShortestLife = 10min;
constexpr auto Backdate = 5min;     ///< for peers whose clock is behind
constexpr auto BackdatedFrom = 8h;  ///< shorter lives begin now

bool is_ours(const std::string& signer) {
    return signer == KubeletClientSigner || signer == KubeletServingSigner || signer == ApiClientSigner || signer == LegacySigner;
}

bool wants(const SigningRequest& request, const char* usage) {
    return std::ranges::find(request.spec.usages, usage) != request.spec.usages.end();
}

}  // namespace

CertificateSigner::CertificateSigner(Context& context, net::CertificateAuthority authority, net::CertificateAuthority kubelet_serving)
    : Controller(context.loop, context.log, {.name = "certificate-signer"}),
      client_(context.client),
      authority_(std::move(authority)),
      kubelet_serving_(std::move(kubelet_serving)),
      requests_(context.informers.get<Request>()) {
    reconcile_each(requests_);
}

Result<std::string> CertificateSigner::sign(const Request& request) const {
    TRY(const auto parsed, net::parse_certificate_request(request.spec.request));
    if (const std::string why = refuse_by_signer(request, parsed.subject); !why.empty()) return Error(Reason::Invalid, why);
    const Duration asked =
        request.spec.expiration_seconds ? Duration(std::chrono::seconds(*request.spec.expiration_seconds)) : Duration(LongestLife);
    const Duration life = std::clamp<Duration>(asked, ShortestLife, LongestLife);
    const SystemTime now = loop().wall_now();
    const net::CertificateAuthority& authority = request.spec.signer_name == KubeletServingSigner ? kubelet_serving_ : authority_;
    return authority.issue(parsed.public_der, parsed.subject,
                           {.not_before = life > BackdatedFrom ? now - Backdate : now,
                            .not_after = now + life,
                            .for_server = wants(request, "server auth"),
                            .for_client = wants(request, "client auth")});
}

Task<client::Requeue> CertificateSigner::reconcile(client::NamespacedName key) {
    const auto request = requests_.find(key);
    const bool due = request && is_ours(request->spec.signer_name) && request->status.certificate.empty() &&
                     has_condition(*request, "Approved") && !has_condition(*request, "Denied") && !has_condition(*request, "Failed");
    if (!due) co_return client::Requeue::never();
    Request signed_request = *request;
    auto certificate = sign(*request);
    if (certificate) {
        signed_request.status.certificate = std::move(*certificate);
    } else {
        signed_request.status.conditions.push_back({.type = "Failed",
                                                    .status = "True",
                                                    .reason = "SignerValidationFailure",
                                                    .message = certificate.error().message,
                                                    .last_update_time = Timestamp(loop().wall_now())});
    }
    CO_TRY_VOID(co_await client_.update_status(std::move(signed_request)));
    co_return client::Requeue::never();
}

CertificateCleaner::CertificateCleaner(Context& context)
    : Controller(context.loop, context.log, {.name = "certificate-cleaner"}),
      client_(context.client),
      requests_(context.informers.get<Request>()) {
    reconcile_each(requests_);
}

Duration CertificateCleaner::kept_for(const Request& request) {
    const bool settled = !request.status.certificate.empty() || has_condition(request, "Denied") || has_condition(request, "Failed");
    return settled ? Duration(1h) : Duration(24h);
}

Task<client::Requeue> CertificateCleaner::reconcile(client::NamespacedName key) {
    const auto request = requests_.find(key);
    if (!request) co_return client::Requeue::never();
    Timestamp changed = request->metadata.creation_timestamp;
    for (const auto& condition : request->status.conditions) changed = std::max(changed, condition.last_update_time);
    const Duration left = changed.to_system_time() + kept_for(*request) - loop().wall_now();
    if (left > Duration::zero()) co_return client::Requeue::in(left);
    CO_TRY_VOID(ignore_not_found(co_await client_.remove<Request>(key, {.uid = request->metadata.uid})));
    co_return client::Requeue::never();
}

Result<ControllerPtr> make_certificate_cleaner(Context& context) { return make_controller<CertificateCleaner>(context); }

/// Without a certificate to sign with, requests are left to another signer.
Result<ControllerPtr> make_certificate_signer(Context& context) {
    if (context.settings.signer_certificate_pem.empty()) return ControllerPtr();
    TRY(auto authority, net::CertificateAuthority::load(context.settings.signer_certificate_pem, context.settings.signer_key_pem));
    if (context.settings.kubelet_signer_certificate_pem.empty()) return make_controller<CertificateSigner>(context, authority, authority);
    TRY(auto kubelets,
        net::CertificateAuthority::load(context.settings.kubelet_signer_certificate_pem, context.settings.kubelet_signer_key_pem));
    return make_controller<CertificateSigner>(context, std::move(authority), std::move(kubelets));
}

}  // namespace porthole::controllers
