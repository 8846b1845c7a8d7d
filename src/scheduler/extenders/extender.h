#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/extenders/messages.h"
#include "scheduler/extenders/transport.h"

namespace porthole::scheduler {

/// One extender. Its errors have upstream's messages.
class Extender {
public:
    using ApiPod = extender_messages::ApiPod;
    using ApiNode = extender_messages::ApiNode;

    Extender(ExtenderConfiguration configuration, std::unique_ptr<ExtenderTransport> transport)
        : configuration_(std::move(configuration)), transport_(std::move(transport)) {}

    const ExtenderConfiguration& configuration() const { return configuration_; }
    /// Whether the pod names a resource that the extender manages.
    bool concerns(const api::core::v1::Pod& pod) const;

    /// `nodes` are those with `names`. Of the answer, `accepted` names only nodes that were asked about.
    Task<extender_messages::FilterAnswer> filter(ApiPod pod, std::vector<std::string> names, std::vector<ApiNode> nodes);
    /// Scores by node, weighted and on the scale of the scheduler.
    Task<std::vector<std::pair<std::string, std::int64_t>>> prioritize(ApiPod pod, std::vector<std::string> names,
                                                                       std::vector<ApiNode> nodes);
    /// The extender writes the Binding itself.
    Task<> bind(PodRef pod, std::string node);
    /// `victims` are the objects of each candidate's.
    Task<std::vector<extender_messages::MetaVictims>> preempt(ApiPod pod, std::vector<PreemptionCandidate> candidates,
                                                              std::vector<std::vector<ApiPod>> victims);

private:
    std::string request(const ApiPod& pod, const std::vector<std::string>& names, const std::vector<ApiNode>& nodes) const;
    /// The body of the answer.
    Task<std::string> call(std::string verb, std::string body);

    ExtenderConfiguration configuration_;
    std::unique_ptr<ExtenderTransport> transport_;
};

}  // namespace porthole::scheduler
