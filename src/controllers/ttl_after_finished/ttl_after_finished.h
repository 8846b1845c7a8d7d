#pragma once
#include "api/batch_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Deletes finished Jobs, pods first, once spec.ttlSecondsAfterFinished has passed.
class TtlAfterFinishedController final : public client::Controller {
public:
    static constexpr const char* Account = "ttl-after-finished-controller";
    explicit TtlAfterFinishedController(Context& context);

private:
    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    client::Client& client_;
    client::Informer<api::batch::v1::Job>& jobs_;
};

}  // namespace porthole::controllers
