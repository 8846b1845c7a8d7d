#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/decisions/decision.h"
#include "scheduler/framework/plugin.h"

namespace porthole::scheduler::testing {

/// A plugin in place of another, which notes what that one answers. References outlive it.
class WatchingPlugin final : public Plugin {
public:
    WatchingPlugin(Plugin& watched, NodeDecision& notes) : watched_(watched), notes_(notes) {}

    std::string_view name() const override { return watched_.name(); }
    std::int64_t weight() const override { return watched_.weight(); }
    PreFilter pre_filter(const PodInfo& pod, const Cluster& cluster) override { return watched_.pre_filter(pod, cluster); }
    bool filter(const NodeInfo& node, FilterStatus& status) override {
        if (watched_.filter(node, status)) return true;
        std::vector<std::string> reasons(status.reasons.begin(), status.reasons.end());
        std::ranges::sort(reasons);
        notes_.rejected[node.name()] = {std::string(name()), status.resolvable, std::move(reasons)};
        return false;
    }
    bool filters_by_node_alone() const override { return watched_.filters_by_node_alone(); }
    void pod_added(const PodInfo& pod, const NodeInfo& node) override { watched_.pod_added(pod, node); }
    void pod_removed(const PodInfo& pod, const NodeInfo& node) override { watched_.pod_removed(pod, node); }

    bool pre_score(const PodInfo& pod, const Cluster& cluster, std::span<const NodeInfo* const> nodes) override {
        nodes_.clear();
        for (const NodeInfo* node : nodes) nodes_.push_back(node->name());
        notes_.feasible = nodes_;
        return watched_.pre_score(pod, cluster, nodes);
    }
    std::int64_t score(const NodeInfo& node) override { return notes_.scores[std::string(name())][node.name()] = watched_.score(node); }
    bool scores_by_node_alone() const override { return watched_.scores_by_node_alone(); }
    void normalize(std::span<std::int64_t> scores) override {
        watched_.normalize(scores);
        for (std::size_t i = 0; i < scores.size(); ++i) notes_.scores[std::string(name())][nodes_[i]] = scores[i];
    }
    PostFilter post_filter(const PodRef& pod, const Diagnosis& diagnosis, FilterRunner& filters) override {
        return watched_.post_filter(pod, diagnosis, filters);
    }

private:
    Plugin& watched_;
    NodeDecision& notes_;
    std::vector<std::string> nodes_;  // that are scored
};

}  // namespace porthole::scheduler::testing
