#include "controllers/certificates/pod_certificate_cleaner.h"

namespace porthole::controllers {

using namespace std::chrono_literals;

namespace {

constexpr Duration Kept = 15min;

}  // namespace

PodCertificateCleaner::PodCertificateCleaner(Context& context)
    : Controller(context.loop, context.log, {.name = "pod-certificate-cleaner"}),
      client_(context.client),
      requests_(context.informers.get<Request>()) {
    reconcile_each(requests_);
}

Task<client::Requeue> PodCertificateCleaner::reconcile(client::NamespacedName key) {
    const auto request = requests_.find(key);
    if (!request) co_return client::Requeue::never();
    const Duration left = request->metadata.creation_timestamp.to_system_time() + Kept - loop().wall_now();
    if (left > Duration::zero()) co_return client::Requeue::in(left);
    CO_TRY_VOID(ignore_not_found(co_await client_.remove<Request>(key, {.uid = request->metadata.uid})));
    co_return client::Requeue::never();
}

Result<ControllerPtr> make_pod_certificate_cleaner(Context& context) {
    return serves<api::certificates::v1beta1::PodCertificateRequest>(context) ? make_controller<PodCertificateCleaner>(context) : nullptr;
}

}  // namespace porthole::controllers
