#include "controllers/framework/pod_control.h"

#include <algorithm>

#include "base/result.h"
#include "controllers/framework/batches.h"

namespace porthole::controllers {

using api::core::v1::Pod;

Pod pod_from_template(const api::core::v1::PodTemplateSpec& pod_template, const Owner& owner) {
    Pod pod;
    pod.metadata.namespace_ = owner.metadata.namespace_;
    pod.metadata.generate_name = owner.metadata.name + "-";
    pod.metadata.labels = pod_template.metadata.labels;
    pod.metadata.annotations = pod_template.metadata.annotations;
    pod.metadata.finalizers = pod_template.metadata.finalizers;
    pod.metadata.owner_references = {owner.controller_reference()};
    pod.spec = pod_template.spec;
    return pod;
}

bool is_namespace_terminating(const Error& error) {
    return std::ranges::any_of(error.details->causes, [](const Cause& cause) { return cause.type == "NamespaceTerminating"; });
}

Task<> PodControl::create(Pod pod, Owner owner) {
    Result<Pod> created = co_await client_.create(std::move(pod));
    if (created) {
        events_.normal(owner.reference(), "SuccessfulCreate", "Created pod: " + created->metadata.name);
        co_return {};
    }
    const Error& error = created.error();
    if (!is_cancelled(error) && !is_namespace_terminating(error))
        events_.warning(owner.reference(), "FailedCreate", "Error creating: " + error.message);
    co_return error;
}

Task<> PodControl::remove(client::NamespacedName key, std::string uid, Owner owner) {
    Result<void> removed = co_await client_.remove<Pod>(key, {.uid = std::move(uid)});
    if (removed) {
        events_.normal(owner.reference(), "SuccessfulDelete", "Deleted pod: " + key.name);
        co_return {};
    }
    const Error& error = removed.error();
    if (error.reason != Reason::NotFound && !is_cancelled(error))
        events_.warning(owner.reference(), "FailedDelete", "Error deleting: " + error.message);
    co_return error;
}

Task<> create_expected(Expectations& expectations, Expectations::Key owner, int count, std::function<Task<>(int)> create_one) {
    if (count == 0) co_return {};
    expectations.expect_creations(owner, count);
    const Result<SlowStart> outcome = co_await slow_start(count, 1, std::move(create_one));
    for (int i = outcome ? outcome->succeeded : 0; i < count; ++i) expectations.creation_observed(owner);
    if (!outcome) co_return outcome.error();
    if (outcome->error && !is_namespace_terminating(*outcome->error)) co_return *outcome->error;
    co_return {};
}

}  // namespace porthole::controllers
