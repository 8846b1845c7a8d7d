#pragma once
#include "api/core_v1.h"
#include "runtime/event_loop.h"
#include "scheduler/framework/node_info.h"

namespace porthole::scheduler {

/// The properties of a pod that matter to placement. Malformed parts, which the API refuses, count as absent.
PodInfo pod_info(const api::core::v1::Pod& pod);
NodeSpec node_spec(const api::core::v1::Node& node);
/// `labels` are the pod's.
SpreadConstraint spread_constraint(const api::core::v1::TopologySpreadConstraint& from, const Labels& labels);
NodeSelectorTerm node_term(const api::core::v1::NodeSelectorTerm& term);
/// An absent selector matches nothing.
Selector selector(const schema::Box<api::meta::v1::LabelSelector>& selector);

/// For events about the pod.
api::core::v1::ObjectReference object_reference(const PodInfo& pod);
/// A condition of the status of `pod`, for a patch. Its transition time is that of the present one if the status is the same. `pod`: as
/// observed; null if it is not known.
schema::Value pod_condition(const api::core::v1::Pod* pod, const std::string& type, const std::string& status, const std::string& reason,
                            const std::string& message, SystemTime now);

}  // namespace porthole::scheduler
