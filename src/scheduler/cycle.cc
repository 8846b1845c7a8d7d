#include "scheduler/cycle.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::scheduler {

namespace {

std::string limited_by_text(const std::vector<std::string>& plugins) {
    return "node(s) didn't satisfy plugin(s) [" + join(plugins, " ") + "]";
}

void clear(FilterStatus& status) {
    status.reasons.clear();
    status.resolvable = true;
    status.error.clear();
}

}  // namespace

Cycle::Cycle(const Cluster& cluster, PluginCalls calls, Random& random, std::int64_t percentage_of_nodes)
    : cluster_(cluster), calls_(std::move(calls)), random_(random), percentage_of_nodes_(percentage_of_nodes) {}

std::size_t Cycle::nodes_wanted(std::size_t node_count, std::int64_t percentage) {
    constexpr std::size_t Least = 100;
    if (node_count < Least) return node_count;
    const std::size_t adaptive = node_count / 125 >= 45 ? 5 : 50 - node_count / 125;
    const std::size_t percent = percentage == 0 ? adaptive : static_cast<std::size_t>(percentage);
    return std::max(Least, node_count * percent / 100);
}

Decision Cycle::decide(const PodInfo& pod) {
    has_extenders_ = false;
    answers_ = nullptr;
    Decision decision;
    if (!begin(pod, decision)) return decision;
    if (!find_nominated(decision)) find_feasible(decision);
    if (!feasible_.empty()) decision.node = best();
    return decision;
}

Proposal Cycle::propose(const PodInfo& pod, Among among) {
    has_extenders_ = true;
    answers_ = nullptr;
    const std::size_t start = next_start_;
    Proposal proposal;
    find(pod, among, proposal.decision);
    for (const NodeInfo* node : feasible_) proposal.nodes.push_back(node->name());
    if (!proposal.nodes.empty()) next_start_ = start;  // so that decide() looks at the same nodes
    return proposal;
}

Decision Cycle::decide(const PodInfo& pod, Among among, const ExtenderAnswers& answers) {
    has_extenders_ = true;
    answers_ = &answers;
    Decision decision;
    find(pod, among, decision);
    if (!feasible_.empty()) decision.node = best();
    return decision;
}

void Cycle::find(const PodInfo& pod, Among among, Decision& decision) {
    if (!begin(pod, decision)) return;
    if (among == Among::AllNodes) return find_feasible(decision);
    if (find_nominated(decision) && answers_) keep_accepted(decision.diagnosis);
}

/// False if that ends the cycle.
bool Cycle::begin(const PodInfo& pod, Decision& decision) {
    pod_ = &pod;
    feasible_.clear();
    feasible_slots_.clear();
    counted_.clear();
    verdicts_ = {};
    decision.diagnosis.node_count = cluster_.nodes().size();
    return !cluster_.nodes().empty() && run_pre_filters(pod, decision);
}

/// Whether the pod fits on the node that it is nominated for, which is then the only one.
bool Cycle::find_nominated(Decision& decision) {
    if (pod_->nominated_node_name.empty()) return false;
    const NodeInfo* nominated = cluster_.find_node(pod_->nominated_node_name);
    status_ = {};
    if (!nominated || (only_nodes_ && !only_nodes_->contains(nominated->name())) || !fits(*nominated, status_)) return false;
    decision.evaluated = decision.feasible = 1;
    add_feasible(*nominated, nominated->slot());
    return true;
}

bool Cycle::run_pre_filters(const PodInfo& pod, Decision& decision) {
    filters_.clear();
    only_nodes_.reset();
    limiting_plugins_.clear();
    for (const auto& [position, plugin] : calls_.filters) {
        PreFilter result = plugin->pre_filter(pod, cluster_);
        if (result.outcome == PreFilter::Outcome::Skip) continue;
        if (result.outcome == PreFilter::Outcome::Reject) {
            decision.diagnosis.pre_filter_message = std::move(result.message);
            decision.diagnosis.rejected_by |= only(position);
            return false;
        }
        filters_.push_back({position, plugin, plugin->filters_by_node_alone()});
        if (!result.nodes) continue;
        limiting_plugins_.emplace_back(plugin->name());
        if (!only_nodes_) {
            only_nodes_ = std::move(result.nodes);
        } else {
            std::erase_if(*only_nodes_, [&](const std::string& name) { return !result.nodes->contains(name); });
        }
        decision.diagnosis.rejected_by |= only(position);
    }
    return true;
}

void Cycle::find_feasible(Decision& decision) {
    Diagnosis& diagnosis = decision.diagnosis;
    if (only_nodes_) {
        for (const std::string& name : *only_nodes_) {
            if (const NodeInfo* node = cluster_.find_node(name)) look_at(*node, decision);
        }
        const std::size_t others = diagnosis.node_count - decision.evaluated;
        if (others > 0) diagnosis.reasons.emplace_back(limited_by_text(limiting_plugins_), others);
    } else {
        find_among_all(decision);
    }
    if (!diagnosis.error.empty()) feasible_.clear();
    if (answers_) keep_accepted(diagnosis);
    decision.feasible = feasible_.size();
    if (!feasible_.empty()) return;
    for (const auto& [reason, count] : counted_) diagnosis.reasons.emplace_back(reason, count);
}

/// Takes away what extenders have refused, and nodes that they have not been asked about because they fit only now.
void Cycle::keep_accepted(Diagnosis& diagnosis) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < feasible_.size(); ++i) {
        const NodeInfo& node = *feasible_[i];
        if (answers_->accepted.contains(node.name())) {
            feasible_[kept] = &node;
            feasible_slots_[kept++] = feasible_slots_[i];
        } else if (const auto refusal = answers_->refused.find(node.name()); refusal != answers_->refused.end()) {
            ++counted_[refusal->second.reason];
            if (refusal->second.resolvable) diagnosis.resolvable_nodes.push_back(&node);
        }
    }
    // Nobody knows what an extender waits for: any event may help.
    if (kept < feasible_.size()) diagnosis.rejected_by = 0;
    feasible_.resize(kept);
    feasible_slots_.resize(kept);
}

void Cycle::find_among_all(Decision& decision) {
    const auto nodes = cluster_.nodes();
    const auto slots = cluster_.node_slots();
    const std::size_t wanted = calls_.scorers.empty() && !has_extenders_ ? 1 : nodes_wanted(nodes.size(), percentage_of_nodes_);
    verdicts_ = remembered_.of(*pod_, cluster_.slot_count());
    const bool has_others = !std::ranges::all_of(filters_, &Filter::by_node_alone);
    std::size_t at = next_start_ % nodes.size();
    for (std::size_t i = 0; i < nodes.size() && feasible_.size() < wanted && decision.diagnosis.error.empty(); ++i) {
        if (!has_others && is_known(slots[at])) {
            ++decision.evaluated;
            add_feasible(*nodes[at], slots[at]);
        } else {
            look_at(*nodes[at], decision);
        }
        if (++at == nodes.size()) at = 0;
    }
    next_start_ = (next_start_ + decision.evaluated) % nodes.size();
}

void Cycle::look_at(const NodeInfo& node, Decision& decision) {
    ++decision.evaluated;
    const std::uint32_t slot = node.slot();
    const bool known = is_known(slot);
    if (known) clear(status_);
    if (known ? passes(node, status_, true) : passes_with_nominated(node, status_)) {
        add_feasible(node, slot);
        if (!known && !verdicts_.empty()) verdicts_[slot] = {.generation = cluster_.generation(slot)};
        return;
    }
    Diagnosis& diagnosis = decision.diagnosis;
    diagnosis.rejected_by |= only(rejecting_->position);
    record(status_, node, diagnosis);
    if (!status_.error.empty())
        diagnosis.error = "running \"" + std::string(rejecting_->plugin->name()) + "\" filter plugin: " + status_.error;
}

/// Whether the filters that look at one node alone have passed it. Pods nominated to run there are no part of what they were asked.
bool Cycle::is_known(std::uint32_t slot) const {
    return !verdicts_.empty() && verdicts_[slot].generation == cluster_.generation(slot) && !cluster_.any_nominated();
}

void Cycle::add_feasible(const NodeInfo& node, std::uint32_t slot) {
    feasible_.push_back(&node);
    feasible_slots_.push_back(slot);
}

void Cycle::record(const FilterStatus& status, const NodeInfo& node, Diagnosis& diagnosis) {
    for (const std::string_view reason : status.reasons) ++counted_[reason];
    if (status.resolvable) diagnosis.resolvable_nodes.push_back(&node);
}

/// `known`: only the filters that do not look at the node alone are asked.
bool Cycle::passes(const NodeInfo& node, FilterStatus& status, bool known) {
    for (const Filter& filter : filters_) {
        if ((known && filter.by_node_alone) || filter.plugin->filter(node, status)) continue;
        rejecting_ = &filter;
        return false;
    }
    return true;
}

bool Cycle::passes_with_nominated(const NodeInfo& node, FilterStatus& status) {
    clear(status);
    const auto nominated = cluster_.nominated(node.name());
    const auto counts = [&](const PodRef& other) { return other->priority >= pod_->priority && other->uid != pod_->uid; };
    if (std::ranges::none_of(nominated, counts)) return passes(node, status);

    // Room that others wait for is taken; but affinity to them may not be relied on, so it must fit without them too.
    NodeInfo with_nominated = node;
    for (const PodRef& other : nominated) {
        if (!counts(other)) continue;
        with_nominated.add(other, nullptr);
        pod_added(*other, node);
    }
    const bool fits = passes(with_nominated, status);
    for (const PodRef& other : nominated) {
        if (counts(other)) pod_removed(*other, node);
    }
    return fits && passes(node, status);
}

bool Cycle::fits(const NodeInfo& node, FilterStatus& status) { return passes_with_nominated(node, status); }

void Cycle::pod_added(const PodInfo& pod, const NodeInfo& node) {
    for (const Filter& filter : filters_) filter.plugin->pod_added(pod, node);
}

void Cycle::pod_removed(const PodInfo& pod, const NodeInfo& node) {
    for (const Filter& filter : filters_) filter.plugin->pod_removed(pod, node);
}

const NodeInfo* Cycle::best() {
    if (feasible_.size() == 1) return feasible_.front();
    totals_.assign(feasible_.size(), 0);
    by_node_alone_.clear();
    for (const auto& [plugin, weight] : calls_.scorers) {
        if (!plugin->pre_score(*pod_, cluster_, feasible_)) continue;
        if (plugin->scores_by_node_alone()) {
            by_node_alone_.push_back({plugin, weight});
            continue;
        }
        scores_.resize(feasible_.size());
        for (std::size_t i = 0; i < feasible_.size(); ++i) scores_[i] = plugin->score(*feasible_[i]);
        plugin->normalize(scores_);
        for (std::size_t i = 0; i < feasible_.size(); ++i) totals_[i] += weight * scores_[i];
    }
    add_scores_by_node_alone();
    if (answers_) {
        for (std::size_t i = 0; i < feasible_.size(); ++i) totals_[i] += answers_->accepted.at(feasible_[i]->name());
    }
    std::size_t chosen = 0, ties = 1;
    for (std::size_t i = 1; i < totals_.size(); ++i) {
        if (totals_[i] > totals_[chosen]) {
            chosen = i;
            ties = 1;
        } else if (totals_[i] == totals_[chosen] && random_.below(++ties) == 0) {
            chosen = i;
        }
    }
    return feasible_[chosen];
}

void Cycle::add_scores_by_node_alone() {
    for (std::size_t i = 0; i < feasible_.size(); ++i) {
        NodeVerdicts::Verdict asked;
        NodeVerdicts::Verdict& verdict = verdicts_.empty() ? asked : verdicts_[feasible_slots_[i]];
        if (verdict.score == NodeVerdicts::Unscored) {
            verdict.score = 0;
            for (const auto& [plugin, weight] : by_node_alone_) verdict.score += weight * plugin->score(*feasible_[i]);
        }
        totals_[i] += verdict.score;
    }
}

}  // namespace porthole::scheduler
