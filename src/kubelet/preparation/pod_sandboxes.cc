#include "kubelet/preparation/pod_sandboxes.h"

#include "base/result.h"

namespace porthole::kubelet {

cri::PodSandboxConfig PodSandboxes::config(const core::Pod& pod, const PreparedPod& prepared, std::uint32_t attempt) const {
    return make_sandbox_config({.pod = pod,
                                .attempt = attempt,
                                .log_directory = footprint_.log_directory(pod),
                                .cgroup_parent = footprint_.cgroup(pod),
                                .hostname = prepared.hostname,
                                .dns = pod_dns(pod, node_.dns).config,
                                .users = prepared.users ? schema::Box(pod_user_namespace(*prepared.users)) : std::nullopt,
                                .windows = node_.windows});
}

Task<cri::PodSandboxConfig> PodSandboxes::make(std::shared_ptr<const core::Pod> pod, const PreparedPod& prepared, std::uint32_t attempt) {
    const DnsOutcome dns = pod_dns(*pod, node_.dns);
    if (!dns.warning.empty()) events_.warning(reference_to(*pod), dns.warning_reason, dns.warning);
    cri::RunPodSandboxRequest request;
    request.config = config(*pod, prepared, attempt);
    const auto logs = footprint_.ensure_log_directory(*pod);
    if (!logs) co_return sandbox_failed(events_, *pod, logs.error());
    auto handler = co_await references_.runtime_handler(pod);
    if (!handler) co_return sandbox_failed(events_, *pod, std::move(handler).error());
    request.runtime_handler = std::move(*handler);
    cri::PodSandboxConfig made = *request.config;
    const auto run = co_await runtime_.run_pod_sandbox(std::move(request));
    if (!run) co_return sandbox_failed(events_, *pod, run.error());
    co_return made;
}

}  // namespace porthole::kubelet
