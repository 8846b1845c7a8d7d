#include "kubelet/pod/resources.h"

#include <algorithm>

namespace porthole::kubelet {
namespace {

constexpr const char* Memory = "memory";
constexpr std::int64_t GuaranteedOomScore = -997;

bool has_limit(const core::ResourceRequirements& resources, const char* name) { return !amount_of(resources.limits, name).is_zero(); }

/// Whether the pod, or each of its containers, has a limit.
bool is_limited(const core::PodSpec& spec, const char* name) {
    if (spec.resources && has_limit(*spec.resources, name)) return true;
    const auto limited = [&](const core::Container& container) { return has_limit(container.resources, name); };
    return std::ranges::all_of(spec.containers, limited) && std::ranges::all_of(spec.init_containers, limited);
}

/// What the pod as a whole asks for and no container names is shared out equally.
std::int64_t shared_memory_request(const core::PodSpec& spec) {
    const Quantity whole = spec.resources ? amount_of(spec.resources->requests, Memory) : Quantity();
    if (whole.is_zero()) return 0;
    core::PodSpec containers = spec;
    containers.resources.reset();
    const Quantity named = amount_of(objects::pod_requests(containers, objects::Overhead::Excluded), Memory);
    return (whole.value() - named.value()) / static_cast<std::int64_t>(spec.containers.size() + spec.init_containers.size());
}

}  // namespace

ResourceList limits_in_force(const core::ResourceRequirements& container, const schema::Box<core::ResourceRequirements>& pod) {
    ResourceList limits = container.limits;
    for (const char* name : {"cpu", Memory})
        if (pod && !has_limit(container, name) && has_limit(*pod, name)) limits[name] = pod->limits.at(name);
    return limits;
}

ResourceList enforced_limits(const core::PodSpec& spec) {
    ResourceList limits = objects::pod_limits(spec);
    for (const char* name : {"cpu", Memory})
        if (!is_limited(spec, name)) limits.erase(name);
    return limits;
}

std::int64_t oom_score_adjustment(const core::Pod& pod, const core::Container& container, std::int64_t memory_capacity) {
    if (is_critical_pod(pod)) return GuaranteedOomScore;
    const std::string qos = objects::qos_class(pod.spec);
    if (qos == core::PodQOSClass::Guaranteed) return GuaranteedOomScore;
    if (qos == core::PodQOSClass::BestEffort || memory_capacity <= 0) return 1000;

    const std::int64_t share = shared_memory_request(pod.spec);
    const auto score = [&](const core::Container& of) {
        return 1000 - 1000 * (amount_of(of.resources.requests, Memory).value() + share) / memory_capacity;
    };
    std::int64_t adjustment = score(container);
    // A sidecar must outlive the containers that it serves.
    if (is_sidecar(container))
        for (const core::Container& regular : pod.spec.containers) adjustment = std::min(adjustment, score(regular));
    return std::clamp<std::int64_t>(adjustment, 1000 + GuaranteedOomScore, 999);
}

std::int64_t cpu_shares_of(std::int64_t milli_cpu) { return std::clamp<std::int64_t>(milli_cpu * 1024 / 1000, 2, 262'144); }

std::int64_t cpu_quota_of(std::int64_t milli_cpu) {
    return milli_cpu <= 0 ? 0 : std::max<std::int64_t>(milli_cpu * CpuPeriod / 1000, 1000);
}

}  // namespace porthole::kubelet
