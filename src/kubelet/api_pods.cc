#include "kubelet/api_pods.h"

namespace porthole::kubelet {

ApiPods::ApiPods(client::Informers& informers, const std::string& node_name, PodManager& pods, StaticPods& static_pods,
                 StatusManager& statuses)
    : source_(informers.get<core::Pod>({.field_selector = "spec.nodeName=" + node_name})),
      pods_(pods),
      static_pods_(static_pods),
      statuses_(statuses) {}

Task<> ApiPods::run(client::Informer<core::Service>& services) {
    CO_TRY_VOID(co_await services.wait_for_sync());
    source_.subscribe({.added = [this](const auto& pod) { take(pod); },
                       .updated = [this](const auto&, const auto& pod) { take(pod); },
                       .deleted = [this](const auto& pod) { drop(pod); }});
    CO_TRY_VOID(co_await source_.wait_for_sync());
    CO_TRY_VOID(co_await static_pods_.wait_for_first_read());
    pods_.set_sources_ready();
    co_return {};
}

void ApiPods::take(const std::shared_ptr<const core::Pod>& pod) {
    if (is_mirror_pod(*pod)) return static_pods_.observe_mirror(*pod);
    statuses_.observe(pod->metadata.uid, *pod);
    // A namesake that was made anew replaces the one before, whose deletion we may not have seen.
    if (PodWorker* other = pods_.find(pod->metadata.namespace_, pod->metadata.name);
        other && other->pod().metadata.uid != pod->metadata.uid && !is_static_pod(other->pod()))
        pods_.remove(other->pod().metadata.uid);
    pods_.update(pod);
}

void ApiPods::drop(const std::shared_ptr<const core::Pod>& pod) {
    if (is_mirror_pod(*pod)) return static_pods_.drop_mirror(*pod);
    statuses_.unobserve(pod->metadata.uid);
    pods_.remove(pod->metadata.uid);
}

}  // namespace porthole::kubelet
