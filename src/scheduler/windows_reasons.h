#pragma once
#include <string>

#include "api/core_v1.h"
#include "scheduler/framework/cluster.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/pod_info.h"

namespace porthole::scheduler {

/// Reasons from the table of `windows/` why no node of the cluster accepts a pod, to append to the other reasons in the event: fields, why,
/// and what to write instead. "" if the table has none. `pod`, `object` and `diagnosis` are of the same pod; `diagnosis` has the reasons of
/// the nodes.
std::string windows_reasons(const PodInfo& pod, const api::core::v1::Pod& object, const Cluster& cluster, const Diagnosis& diagnosis);

}  // namespace porthole::scheduler
