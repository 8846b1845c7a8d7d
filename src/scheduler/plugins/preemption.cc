#include "scheduler/plugins/preemption.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace porthole::scheduler {

namespace {

/// What preempting on one node would cost. Smaller is better, in upstream's order of criteria.
auto cost(const PreemptionCandidate& candidate) {
    const std::int32_t highest = candidate.victims.front()->priority;
    std::int64_t sum = 0;
    Timestamp earliest;
    for (const PodRef& victim : candidate.victims) {
        sum += std::int64_t{victim->priority} + (std::int64_t{1} << 31);
        if (victim->priority == highest && (earliest.is_zero() || victim->started < earliest)) earliest = victim->started;
    }
    return std::tuple(candidate.broken_budgets, highest, sum, candidate.victims.size(), -earliest.nanoseconds());
}

/// Moves those that would break a budget to the front; `victims` is sorted by importance and stays so within both parts.
std::size_t budget_breakers_first(std::vector<PodRef>& victims, const std::vector<DisruptionBudget>& budgets) {
    std::vector<std::int64_t> left;
    for (const DisruptionBudget& budget : budgets) left.push_back(budget.disruptions_allowed);
    const auto breaks = [&](const PodRef& pod) {
        bool broken = false;
        for (std::size_t i = 0; i < budgets.size(); ++i) {
            if (budgets[i].namespace_ != pod->namespace_ || pod->labels.empty() || !budgets[i].selector.matches(pod->labels)) continue;
            if (budgets[i].disrupted.contains(pod->name)) continue;
            if (--left[i] < 0) broken = true;
        }
        return broken;
    };
    std::vector<PodRef> breakers, others;
    for (PodRef& pod : victims) (breaks(pod) ? breakers : others).push_back(std::move(pod));
    const std::size_t count = breakers.size();
    victims = std::move(breakers);
    victims.insert(victims.end(), others.begin(), others.end());
    return count;
}

class Attempt {
public:
    Attempt(const PodInfo& pod, const NodeInfo& node, FilterRunner& filters) : pod_(pod), original_(node), node_(node), filters_(filters) {}

    /// Sets the victims if the pod fits once they are gone.
    std::optional<PreemptionCandidate> run(const std::vector<DisruptionBudget>& budgets, FilterStatus& status) {
        std::vector<PodRef> lower;
        for (const auto& entry : original_.pods()) {
            if (entry.pod->priority < pod_.priority) lower.push_back(entry.pod);
        }
        if (lower.empty()) {
            status.reject("No preemption victims found for incoming pod", false);
            return std::nullopt;
        }
        for (const PodRef& victim : lower) remove(victim);
        std::optional<PreemptionCandidate> candidate;
        if (filters_.fits(node_, status)) {
            std::ranges::sort(lower, is_more_important);
            candidate = reprieve(std::move(lower), budgets);
        }
        // The cycle's state returns to what it was, for the next node.
        for (const PodRef& gone : std::vector<PodRef>(removed_)) add(gone);
        return candidate;
    }

private:
    void remove(const PodRef& victim) {
        node_.remove(victim->uid);
        filters_.pod_removed(*victim, original_);
        removed_.push_back(victim);
    }
    void add(const PodRef& victim) {
        node_.add(victim, nullptr);
        filters_.pod_added(*victim, original_);
        std::erase(removed_, victim);
    }
    /// Lets each one stay whose staying does no harm, the most important first.
    std::optional<PreemptionCandidate> reprieve(std::vector<PodRef> lower, const std::vector<DisruptionBudget>& budgets) {
        PreemptionCandidate candidate{.node = original_.name()};
        const std::size_t breakers = budget_breakers_first(lower, budgets);
        FilterStatus ignored;
        for (std::size_t i = 0; i < lower.size(); ++i) {
            add(lower[i]);
            if (filters_.fits(node_, ignored)) continue;
            remove(lower[i]);
            candidate.victims.push_back(lower[i]);
            if (i < breakers) ++candidate.broken_budgets;
        }
        if (candidate.victims.empty()) return std::nullopt;
        std::ranges::sort(candidate.victims, is_more_important);
        return candidate;
    }

    const PodInfo& pod_;
    const NodeInfo& original_;
    NodeInfo node_;
    FilterRunner& filters_;
    std::vector<PodRef> removed_;
};

/// Where its node can no longer be made to fit, as when it was cordoned, it looks for another one.
const char* not_eligible(const PodInfo& pod, const Cluster& cluster, const Diagnosis& diagnosis) {
    if (pod.never_preempts) return "not eligible due to preemptionPolicy=Never.";
    const NodeInfo* nominated = pod.nominated_node_name.empty() ? nullptr : cluster.find_node(pod.nominated_node_name);
    if (!nominated || std::ranges::find(diagnosis.resolvable_nodes, nominated) == diagnosis.resolvable_nodes.end()) return nullptr;
    const bool victim_still_ending = std::ranges::any_of(
        nominated->pods(), [&](const auto& entry) { return entry.pod->preempted && entry.pod->priority < pod.priority; });
    return victim_still_ending ? "not eligible due to a terminating pod on the nominated node." : nullptr;
}

}  // namespace

PreemptionCandidates find_candidates(const PodInfo& pod, const Cluster& cluster, const std::vector<DisruptionBudget>& budgets,
                                     const Diagnosis& diagnosis, FilterRunner& filters, Random& random, PreemptionEffort effort) {
    if (const char* why = not_eligible(pod, cluster, diagnosis)) return {.message = why, .were_looked_for = false};
    const auto& nodes = diagnosis.resolvable_nodes;
    std::map<std::string, std::size_t> reasons;
    const std::size_t helpless = diagnosis.node_count - nodes.size();
    if (helpless > 0) reasons["Preemption is not helpful for scheduling"] = helpless;

    const std::size_t wanted = std::max(diagnosis.node_count * effort.percent / 100, effort.least);
    const std::size_t offset = nodes.empty() ? 0 : random.below(nodes.size());
    std::vector<PreemptionCandidate> candidates;
    for (std::size_t i = 0; i < nodes.size() && candidates.size() < wanted; ++i) {
        FilterStatus status;
        auto candidate = Attempt(pod, *nodes[(offset + i) % nodes.size()], filters).run(budgets, status);
        if (candidate) {
            candidates.push_back(*std::move(candidate));
        } else {
            for (const std::string_view reason : status.reasons) ++reasons[std::string(reason)];
        }
    }
    if (candidates.empty()) {
        return {.message = nodes_available_text(diagnosis.node_count, {reasons.begin(), reasons.end()})};
    }
    return {.candidates = std::move(candidates)};
}

const PreemptionCandidate& cheapest(const std::vector<PreemptionCandidate>& candidates) {
    return *std::ranges::min_element(candidates, {}, cost);
}

}  // namespace porthole::scheduler
