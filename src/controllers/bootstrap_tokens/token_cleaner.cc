#include "controllers/bootstrap_tokens/token_cleaner.h"

#include "base/result.h"
#include "controllers/bootstrap_tokens/token.h"

namespace porthole::controllers {

using api::core::v1::Secret;
using client::Requeue;

TokenCleaner::TokenCleaner(Context& context)
    : Controller(context.loop, context.log, {.name = "token-cleaner"}),
      client_(context.client),
      secrets_(bootstrap_token_secrets(context.informers)) {
    reconcile_each(secrets_);
}

Task<Requeue> TokenCleaner::reconcile(client::NamespacedName key) {
    const auto secret = secrets_.find(key);
    const auto token = secret ? read_bootstrap_token(*secret) : std::nullopt;
    if (!token || !token->expires || secret->metadata.deletion_timestamp) co_return Requeue::never();
    const Duration left = *token->expires - loop().wall_now();
    if (left > Duration::zero()) co_return Requeue::in(left);
    // Guarded by the version: somebody may just have prolonged it.
    const client::DeleteOptions exactly{.uid = secret->metadata.uid, .resource_version = secret->metadata.resource_version};
    CO_TRY_VOID(ignore_not_found(co_await client_.remove<Secret>(key, exactly)));
    co_return Requeue::never();
}

Result<ControllerPtr> make_token_cleaner(Context& context) { return make_controller<TokenCleaner>(context); }

}  // namespace porthole::controllers
