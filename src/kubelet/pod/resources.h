#pragma once
#include "kubelet/pod/pod.h"
#include "objects/pod_resources.h"

namespace porthole::kubelet {

using objects::amount_of;
/// Not one of Kubernetes' own: its name has a domain.
inline bool is_extended_resource(std::string_view name) { return name.contains('/'); }
using objects::ResourceList;

/// The cpu and memory limits that apply to all containers of a pod together; a resource that one of them may use without limit is missing.
ResourceList enforced_limits(const core::PodSpec& spec);

/// A container's effective limits: its own, or those of its pod as a whole if it has none.
ResourceList limits_in_force(const core::ResourceRequirements& container, const schema::Box<core::ResourceRequirements>& pod);

/// The kernel's bias for killing this container first, -997 to 1000.
std::int64_t oom_score_adjustment(const core::Pod& pod, const core::Container& container, std::int64_t memory_capacity);

/// CPU weight in cgroup v1's terms, 2 to 262144.
std::int64_t cpu_shares_of(std::int64_t milli_cpu);
inline constexpr std::int64_t CpuPeriod = 100'000;  // microseconds
/// Microseconds of CPU in each CpuPeriod; 0 for no limit.
std::int64_t cpu_quota_of(std::int64_t milli_cpu);

}  // namespace porthole::kubelet
