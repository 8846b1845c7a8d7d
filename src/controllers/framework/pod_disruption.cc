#include "controllers/framework/pod_disruption.h"

#include "base/result.h"
#include "objects/conditions.h"

namespace porthole::controllers {

Task<> delete_disrupted(client::Client& client, api::core::v1::Pod pod, PodDisruption why, Timestamp now) {
    const client::NamespacedName key = client::key_of(pod);
    const std::string uid = pod.metadata.uid;
    const bool is_new = objects::set_condition(pod.status.conditions,
                                               {.type = "DisruptionTarget",
                                                .observed_generation = pod.metadata.generation,
                                                .status = "True",
                                                .reason = std::move(why.reason),
                                                .message = std::move(why.message)},
                                               now);
    if (is_new) {
        const auto updated = co_await client.update_status(std::move(pod));
        if (is_not_found(updated)) co_return {};
        if (!updated) co_return updated.error();
        why.tell();
    }
    CO_TRY_VOID(ignore_not_found(co_await client.remove<api::core::v1::Pod>(key, {.uid = uid})));
    co_return {};
}

}  // namespace porthole::controllers
