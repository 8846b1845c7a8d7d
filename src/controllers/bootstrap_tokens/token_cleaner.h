#pragma once
#include "api/core_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Deletes bootstrap tokens when they expire.
class TokenCleaner final : public client::Controller {
public:
    static constexpr const char* Account = "token-cleaner";
    explicit TokenCleaner(Context& context);

private:
    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    client::Client& client_;
    client::Informer<api::core::v1::Secret>& secrets_;
};

}  // namespace porthole::controllers
