#include "controllers/root_ca/serving_trust_bundle.h"

#include "net/tls/x509.h"

namespace porthole::controllers {
namespace {

constexpr const char *Signer = "kubernetes.io/kube-apiserver-serving", *Prefix = "kubernetes.io:kube-apiserver-serving:";
constexpr std::size_t HashBytes = 12;

}  // namespace

ServingTrustBundlePublisher::ServingTrustBundlePublisher(Context& context)
    : Controller(context.loop, context.log, {.name = "kube-apiserver-serving-clustertrustbundle-publisher"}),
      client_(context.client),
      ca_pem_(context.settings.root_ca_pem),
      name_(Prefix + net::to_hex(net::sha256(ca_pem_).substr(0, HashBytes))),
      bundles_(context.informers.get<Bundle>({.field_selector = std::string("spec.signerName=") + Signer})) {
    reconcile_each(bundles_);
    queue().add({"", name_});
}

Task<client::Requeue> ServingTrustBundlePublisher::reconcile(client::NamespacedName key) {
    const auto stored = bundles_.find(key);
    if (key.name != name_) {
        if (stored) CO_TRY_VOID(ignore_not_found(co_await client_.remove<Bundle>(key, {.uid = stored->metadata.uid})));
        co_return client::Requeue::never();
    }
    if (stored && stored->spec.trust_bundle == ca_pem_) co_return client::Requeue::never();
    Bundle bundle = stored ? *stored : Bundle();
    bundle.metadata.name = name_;
    bundle.spec = {.signer_name = Signer, .trust_bundle = ca_pem_};
    Task<Bundle> write = stored ? client_.update(std::move(bundle)) : client_.create(std::move(bundle));
    auto written = co_await std::move(write);
    if (!written && written.error().reason != Reason::AlreadyExists) co_return std::move(written).error();
    co_return client::Requeue::never();
}

Result<ControllerPtr> make_serving_trust_bundle_publisher(Context& context) {
    const bool due = serves<api::certificates::v1beta1::ClusterTrustBundle>(context) && !context.settings.root_ca_pem.empty();
    return due ? make_controller<ServingTrustBundlePublisher>(context) : nullptr;
}

}  // namespace porthole::controllers
