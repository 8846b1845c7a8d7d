#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/extenders/answers.h"
#include "scheduler/extenders/extender.h"
#include "scheduler/framework/plugin.h"

namespace porthole::scheduler {

/// All extenders of a configuration, in its order, those that may be ignored last. What one of these fails to answer is left out; any other
/// failure, except to prioritize, ends the decision with an error that has upstream's message.
///
/// Lives on the scheduler's loop. `cluster` outlives it and may change between the calls.
class Extenders final : public PreemptionReviewer {
public:
    using MakeTransport = std::function<std::unique_ptr<ExtenderTransport>(const ExtenderConfiguration&)>;
    /// `make_transport` may be empty if there are none.
    Extenders(const SchedulerContext& context, const Cluster& cluster, const std::vector<ExtenderConfiguration>& configured,
              const MakeTransport& make_transport);

    bool empty() const { return extenders_.empty(); }
    /// Whether one of them has to be asked before a node is chosen for the pod.
    bool concern(const PodInfo& pod) const;

    /// Asks about `nodes`, on which the pod fits.
    Task<ExtenderAnswers> ask(PodRef pod, std::vector<std::string> nodes);
    /// Whether one of them has bound the pod to the node.
    Task<bool> bind(PodRef pod, std::string node);

    bool reviews_preemption_for(const PodInfo& pod) const override;
    Task<std::vector<PreemptionCandidate>> review_preemption(PodRef pod, std::vector<PreemptionCandidate> candidates) override;

private:
    using ApiPod = Extender::ApiPod;
    using ApiNode = Extender::ApiNode;
    using Verb = std::string ExtenderConfiguration::*;
    /// Those with the verb that the pod concerns. null objects concern none.
    std::vector<Extender*> of(Verb verb, const ApiPod& pod) const;
    ApiPod object_of(const PodInfo& pod) const;
    std::vector<ApiNode> objects_of(const std::vector<std::string>& nodes) const;
    std::vector<std::vector<ApiPod>> victims_of(const std::vector<PreemptionCandidate>& candidates) const;
    /// Whether the decision goes on without it.
    bool is_ignored(const Extender& extender, const Error& error, const PodInfo& pod) const;
    Task<> prioritize(ApiPod pod, std::vector<std::string> nodes, ExtenderAnswers& answers);
    Result<std::vector<PreemptionCandidate>> candidates(const Extender& extender, const PodInfo& pod,
                                                        const std::vector<extender_messages::MetaVictims>& answer) const;
    Result<PodRef> victim(const Extender& extender, const PodInfo& pod, const NodeInfo& node, const std::string& uid) const;

    const Cluster& cluster_;
    Logger log_;
    client::Informer<api::core::v1::Pod>& pods_;
    client::Informer<api::core::v1::Node>& nodes_;
    std::vector<std::unique_ptr<Extender>> extenders_;
};

}  // namespace porthole::scheduler
