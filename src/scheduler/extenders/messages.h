#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/core_v1.h"
#include "base/result.h"
#include "scheduler/framework/plugin.h"

/// The JSON of kube-scheduler/extender/v1. Answers are read as Go reads them: names of fields in any case, null as absent.
namespace porthole::scheduler::extender_messages {

using ApiPod = std::shared_ptr<const api::core::v1::Pod>;
using ApiNode = std::shared_ptr<const api::core::v1::Node>;

/// ExtenderArgs, for filter and prioritize: with names, or with the objects.
std::string nodes_request(const api::core::v1::Pod& pod, const std::vector<std::string>& names);
std::string nodes_request(const api::core::v1::Pod& pod, const std::vector<ApiNode>& nodes);

/// ExtenderFilterResult.
struct FilterAnswer {
    std::vector<std::string> accepted;
    std::map<std::string, std::string> refused, unresolvable;  ///< node → reason
};
/// Error: InternalError, with the extender's own `Error` if it has one.
Result<FilterAnswer> parse_filter_answer(std::string_view body, bool by_name);

/// HostPriorityList: node and score.
Result<std::vector<std::pair<std::string, std::int64_t>>> parse_scores(std::string_view body);

std::string binding_request(const PodInfo& pod, const std::string& node);
/// Error: as of parse_filter_answer().
Result<void> parse_binding_answer(std::string_view body);

/// ExtenderPreemptionArgs, with identifiers of the victims or, where `victims` is not null, the objects: for each candidate, in order.
std::string preemption_request(const api::core::v1::Pod& pod, const std::vector<PreemptionCandidate>& candidates,
                               const std::vector<std::vector<ApiPod>>* victims);
/// What an extender leaves of a node's victims.
struct MetaVictims {
    std::string node;
    std::vector<std::string> uids;
    std::int64_t broken_budgets = 0;
};
Result<std::vector<MetaVictims>> parse_preemption_answer(std::string_view body);

}  // namespace porthole::scheduler::extender_messages
