#pragma once
#include <string>

#include "api/core_v1.h"
#include "scheduler/framework/cluster.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/pod_info.h"

namespace porthole::scheduler {

/// What the table of `windows/` knows of a pod that none of the cluster's nodes takes, as it follows the other reasons in the event:
/// fields, why and what to write instead. "" where it knows nothing. `pod` and `object` are of the same pod, as is `diagnosis`, which says
/// why the nodes did not take it.
std::string windows_reasons(const PodInfo& pod, const api::core::v1::Pod& object, const Cluster& cluster, const Diagnosis& diagnosis);

}  // namespace porthole::scheduler
