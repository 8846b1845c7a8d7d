#include "kubelet/lifecycle/pod_containers.h"

#include <algorithm>

namespace porthole::kubelet {

PodContainers::PodContainers(const Dependencies& given, const StarterConfig& config, Backoff restarts)
    : runtime(given.runtime),
      reader(given.runtime, given.files, config.platform),
      puller(given.puller),
      starter({.loop = given.loop,
               .random = given.random,
               .runtime = given.runtime,
               .puller = puller,
               .network = given.network,
               .files = given.files,
               .volumes = given.volumes,
               .devices = given.devices,
               .objects = given.objects,
               .events = given.events,
               .log = given.log},
              config, std::move(restarts)),
      killer({.loop = given.loop, .runtime = given.runtime, .network = given.network, .events = given.events, .log = given.log}),
      gc(given.loop, given.runtime, given.files, given.log.named("gc"), config.log_root, config.log_link_directory, {}) {}

std::optional<Duration> PodContainers::retry_after(const core::Pod& pod, const PodRuntimeState& state) const {
    std::optional<Duration> soonest = puller.retry_after(pod.metadata.uid);
    for (const ContainerSpec& spec : all_containers(pod)) {
        const auto delay = starter.restart_delay(pod, state, spec.container);
        if (delay && (!soonest || *delay < *soonest)) soonest = delay;
    }
    return soonest;
}

void PodContainers::forget_pod(const std::string& uid) {
    starter.forget_pod(uid);
    puller.forget_pod(uid);
}

}  // namespace porthole::kubelet
