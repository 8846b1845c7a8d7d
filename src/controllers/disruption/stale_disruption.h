#pragma once
#include <memory>

#include "api/core_v1.h"
#include "controllers/framework/context.h"

namespace porthole::controllers {

/// Sets the condition DisruptionTarget of pods to False that were to be deleted, and two minutes later are not: a later end of the pod has
/// another reason.
class StaleDisruptionController final : public client::Controller {
public:
    static constexpr const char* Account = "disruption-controller";
    explicit StaleDisruptionController(Context& context);

private:
    Task<client::Requeue> reconcile(client::NamespacedName key) override;

    client::Client& client_;
    client::Informer<api::core::v1::Pod>& pods_;
};

}  // namespace porthole::controllers
