#include "scheduler/extenders/extenders.h"

#include <algorithm>

#include "base/result.h"
#include "base/strings.h"
#include "runtime/scope.h"

namespace porthole::scheduler {

namespace {

namespace core = api::core::v1;
using extender_messages::MetaVictims;

}  // namespace

Extenders::Extenders(const SchedulerContext& context, const Cluster& cluster, const std::vector<ExtenderConfiguration>& configured,
                     const MakeTransport& make_transport)
    : cluster_(cluster), log_(context.log), pods_(context.informers.get<core::Pod>()), nodes_(context.informers.get<core::Node>()) {
    for (const bool ignorable : {false, true}) {
        for (const ExtenderConfiguration& one : configured)
            if (one.ignorable == ignorable) extenders_.push_back(std::make_unique<Extender>(one, make_transport(one)));
    }
}

// ---- whom to ask, about what

Extenders::ApiPod Extenders::object_of(const PodInfo& pod) const {
    ApiPod object = pods_.find({pod.namespace_, pod.name});
    return object && object->metadata.uid == pod.uid ? object : nullptr;
}

std::vector<Extenders::ApiNode> Extenders::objects_of(const std::vector<std::string>& nodes) const {
    std::vector<ApiNode> objects;
    for (const std::string& name : nodes)
        if (ApiNode node = nodes_.find({"", name})) objects.push_back(std::move(node));
    return objects;
}

std::vector<Extender*> Extenders::of(Verb verb, const ApiPod& pod) const {
    std::vector<Extender*> found;
    for (const auto& extender : extenders_)
        if (pod && !(extender->configuration().*verb).empty() && extender->concerns(*pod)) found.push_back(extender.get());
    return found;
}

bool Extenders::concern(const PodInfo& pod) const {
    if (empty()) return false;
    const ApiPod object = object_of(pod);
    return object && std::ranges::any_of(extenders_, [&](const auto& extender) { return extender->concerns(*object); });
}

bool Extenders::is_ignored(const Extender& extender, const Error& error, const PodInfo& pod) const {
    if (is_cancelled(error) || !extender.configuration().ignorable) return false;
    log_.info("extender ignored", {{"extender", extender.configuration().url_prefix}, {"pod", pod.key()}, {"error", error.message}});
    return true;
}

// ---- filters and scores

Task<ExtenderAnswers> Extenders::ask(PodRef pod, std::vector<std::string> nodes) {
    const ApiPod object = object_of(*pod);
    ExtenderAnswers answers;
    for (Extender* extender : of(&ExtenderConfiguration::filter_verb, object)) {
        if (nodes.empty()) break;
        auto answer = co_await extender->filter(object, nodes, objects_of(nodes));
        if (!answer) {
            if (is_ignored(*extender, answer.error(), *pod)) continue;
            co_return std::move(answer).error();
        }
        for (auto& [node, why] : answer->refused) answers.refused[node] = {why, true};
        for (auto& [node, why] : answer->unresolvable) answers.refused[node] = {why, false};
        nodes = std::move(answer->accepted);
    }
    for (const std::string& node : nodes) answers.accepted[node] = 0;
    if (answers.accepted.size() > 1) CO_TRY_VOID(co_await prioritize(object, std::move(nodes), answers));
    co_return answers;
}

/// All at the same time, as upstream.
Task<> Extenders::prioritize(ApiPod pod, std::vector<std::string> nodes, ExtenderAnswers& answers) {
    std::vector<Task<std::vector<std::pair<std::string, std::int64_t>>>> calls;
    for (Extender* extender : of(&ExtenderConfiguration::prioritize_verb, pod))
        calls.push_back(extender->prioritize(pod, nodes, objects_of(nodes)));
    if (calls.empty()) co_return {};
    CO_TRY(const auto all, co_await when_all(std::move(calls)));
    for (const auto& scores : all) {
        if (is_cancelled(scores)) co_return scores.error();
        if (!scores) {
            log_.debug("an extender gave no scores", {{"pod", pod->metadata.name}, {"error", scores.error().message}});
            continue;
        }
        for (const auto& [node, score] : *scores)
            if (const auto known = answers.accepted.find(node); known != answers.accepted.end()) known->second += score;
    }
    co_return {};
}

// ---- binding

Task<bool> Extenders::bind(PodRef pod, std::string node) {
    if (empty()) co_return false;
    for (Extender* extender : of(&ExtenderConfiguration::bind_verb, object_of(*pod))) {
        auto bound = co_await extender->bind(pod, node);
        if (bound) co_return true;
        if (!is_ignored(*extender, bound.error(), *pod)) co_return std::move(bound).error();
    }
    co_return false;
}

// ---- preemption

bool Extenders::reviews_preemption_for(const PodInfo& pod) const {
    return !of(&ExtenderConfiguration::preempt_verb, object_of(pod)).empty();
}

std::vector<std::vector<Extenders::ApiPod>> Extenders::victims_of(const std::vector<PreemptionCandidate>& candidates) const {
    std::vector<std::vector<ApiPod>> all;
    for (const PreemptionCandidate& candidate : candidates) {
        std::vector<ApiPod>& objects = all.emplace_back();
        for (const PodRef& victim : candidate.victims)
            if (ApiPod object = object_of(*victim)) objects.push_back(std::move(object));
    }
    return all;
}

Task<std::vector<PreemptionCandidate>> Extenders::review_preemption(PodRef pod, std::vector<PreemptionCandidate> left) {
    const ApiPod object = object_of(*pod);
    for (Extender* extender : of(&ExtenderConfiguration::preempt_verb, object)) {
        if (left.empty()) break;
        const auto answer = co_await extender->preempt(object, left, victims_of(left));
        auto reviewed = answer ? candidates(*extender, *pod, *answer) : answer.error();
        if (reviewed) {
            left = *std::move(reviewed);
        } else if (!is_ignored(*extender, reviewed.error(), *pod)) {
            co_return std::move(reviewed).error();
        }
    }
    co_return left;
}

Result<std::vector<PreemptionCandidate>> Extenders::candidates(const Extender& extender, const PodInfo& pod,
                                                               const std::vector<MetaVictims>& answer) const {
    std::vector<PreemptionCandidate> candidates;
    for (const MetaVictims& one : answer) {
        const NodeInfo* node = cluster_.find_node(one.node);
        if (!node) return Error(Reason::InternalError, "nodeinfo not found for node name " + quote(one.node));
        PreemptionCandidate candidate{.node = one.node,
                                      .broken_budgets = static_cast<std::size_t>(std::max<std::int64_t>(one.broken_budgets, 0))};
        for (const std::string& uid : one.uids) {
            TRY(PodRef known, victim(extender, pod, *node, uid));
            candidate.victims.push_back(std::move(known));
        }
        std::ranges::sort(candidate.victims, is_more_important);
        if (!candidate.victims.empty()) {
            candidates.push_back(std::move(candidate));
        } else if (!extender.configuration().ignorable) {
            return Error(Reason::InternalError, "expected at least one victim pod on node " + quote(one.node));
        }
    }
    return candidates;
}

Result<PodRef> Extenders::victim(const Extender& extender, const PodInfo& pod, const NodeInfo& node, const std::string& uid) const {
    const auto claim = [&](const char* why) {
        return Error(Reason::InternalError, "extender: " + extender.configuration().url_prefix + " claims to preempt pod (UID: &{" + uid +
                                                "}) on node: " + node.name() + ", but the pod " + why);
    };
    const auto found =
        std::ranges::find(node.pods(), uid, [](const NodeInfo::Entry& entry) -> const std::string& { return entry.pod->uid; });
    if (found == node.pods().end()) return claim("is not found on that node");
    // Differs from Kubernetes: no answer can evict a pod that preemption itself would not.
    if (found->pod->priority >= pod.priority) return claim("has no lower priority");
    return found->pod;
}

}  // namespace porthole::scheduler
