#include "controllers/bootstrap_tokens/cluster_info_signer.h"

#include <algorithm>

#include "controllers/bootstrap_tokens/token.h"
#include "net/tls/crypto.h"

namespace porthole::controllers {

using api::core::v1::ConfigMap;
using api::core::v1::Secret;
using client::Requeue;

namespace {

const client::NamespacedName ClusterInfo{"kube-public", "cluster-info"};
constexpr const char* Signed = "kubeconfig";
constexpr const char* SignaturePrefix = "jws-kubeconfig-";

}  // namespace

ClusterInfoSigner::ClusterInfoSigner(Context& context)
    : Controller(context.loop, context.log, {.name = "bootstrap-signer"}),
      client_(context.client),
      secrets_(bootstrap_token_secrets(context.informers)),
      maps_(
          context.informers.get<ConfigMap>({.namespace_ = ClusterInfo.namespace_, .field_selector = "metadata.name=" + ClusterInfo.name})) {
    reconcile_each(maps_);
    depends_on(secrets_).on_change([this](const Secret&) { queue().add(ClusterInfo); });
}

Task<Requeue> ClusterInfoSigner::reconcile(client::NamespacedName key) {
    const auto stored = maps_.find(key);
    if (!stored) co_return Requeue::never();
    const auto found = stored->data.find(Signed);
    if (found == stored->data.end()) co_return Requeue::never();

    ConfigMap map = *stored;
    std::erase_if(map.data, [](const auto& item) { return item.first.starts_with(SignaturePrefix); });
    std::optional<Duration> next_expiry;
    for (const auto& secret : secrets_.list()) {
        const auto token = read_bootstrap_token(*secret);
        if (!token || !token->may_sign || secret->metadata.deletion_timestamp) continue;
        if (token->expires) {
            const Duration left = *token->expires - loop().wall_now();
            if (left <= Duration::zero()) continue;
            next_expiry = std::min(next_expiry.value_or(left), left);
        }
        map.data[SignaturePrefix + token->id] = net::sign_detached_jws(found->second, token->id, token->secret);
    }
    if (map.data != stored->data) CO_TRY_VOID(co_await client_.update(std::move(map)));
    co_return next_expiry ? Requeue::in(*next_expiry) : Requeue::never();
}

Result<ControllerPtr> make_bootstrap_signer(Context& context) { return make_controller<ClusterInfoSigner>(context); }

}  // namespace porthole::controllers
