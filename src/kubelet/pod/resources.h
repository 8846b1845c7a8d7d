#pragma once
#include "kubelet/pod/pod.h"

namespace porthole::kubelet {

using ResourceList = std::map<std::string, Quantity>;

/// core::PodQOSClass: Guaranteed, Burstable or BestEffort, from the containers' (or the pod's own) cpu and memory.
std::string qos_class_of(const core::Pod& pod);

/// What the pod needs at its most: the sum of regular containers and sidecars, or the largest moment of initialisation, plus
/// overhead; amounts that the pod itself states win (KEP-2837).
ResourceList pod_requests(const core::Pod& pod);
ResourceList pod_limits(const core::Pod& pod);

/// The kernel's bias for killing this container first, -997 to 1000.
std::int64_t oom_score_adjustment(const core::Pod& pod, const core::Container& container, std::int64_t memory_capacity);

/// CPU weight in cgroup v1's terms, 2 to 262144.
std::int64_t cpu_shares_of(std::int64_t milli_cpu);
inline constexpr std::int64_t CpuPeriod = 100'000;  // microseconds
/// Microseconds of CPU in each CpuPeriod; 0 for no limit.
std::int64_t cpu_quota_of(std::int64_t milli_cpu);

Quantity amount_of(const ResourceList& list, const std::string& name);

}  // namespace porthole::kubelet
