#include <algorithm>

#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

/// Node selector, and required and preferred node affinity.
class NodeAffinity final : public Plugin {
public:
    std::string_view name() const override { return "NodeAffinity"; }
    std::int64_t weight() const override { return 2; }

    PreFilter pre_filter(const PodInfo& pod, const Cluster&) override {
        pod_ = &pod;
        if (pod.node_selector.empty() && !pod.required_node_terms) return PreFilter::skip();
        PreFilter result = PreFilter::run();
        result.nodes = named_nodes(pod);
        if (result.nodes && result.nodes->empty()) return PreFilter::reject("pod affinity terms conflict");
        return result;
    }
    bool filter(const NodeInfo& node, FilterStatus& status) override {
        if (pod_->accepts_node(node.spec().labels, node.name())) return true;
        status.reject("node(s) didn't match Pod's node affinity/selector", false);
        return false;
    }
    bool filters_by_node_alone() const override { return true; }
    bool pre_score(const PodInfo& pod, const Cluster&, std::span<const NodeInfo* const>) override {
        pod_ = &pod;
        return !pod.preferred_node_terms.empty();
    }
    std::int64_t score(const NodeInfo& node) override {
        std::int64_t sum = 0;
        for (const PreferredNodeTerm& preferred : pod_->preferred_node_terms) {
            if (preferred.term.matches(node.spec().labels, node.name())) sum += preferred.weight;
        }
        return sum;
    }
    void normalize(std::span<std::int64_t> scores) override { normalize_to_largest(scores, false); }

    bool queueing_hint(const ClusterEvent& event, const PodInfo& waiting) const override {
        return event.about_node() && waiting.accepts_node(event.node->labels, event.node->name) &&
               (!event.old_node || !waiting.accepts_node(event.old_node->labels, event.old_node->name));
    }

private:
    /// The nodes to which every alternative limits the pod by name, as daemon pods do: then the others need no look.
    static std::optional<std::set<std::string>> named_nodes(const PodInfo& pod) {
        if (!pod.required_node_terms) return std::nullopt;
        std::set<std::string> all;
        for (const NodeSelectorTerm& term : *pod.required_node_terms) {
            std::optional<std::set<std::string>> named;
            for (const Requirement& field : term.fields) {
                if (field.key != "metadata.name" || field.op != Requirement::Operator::In) continue;
                const std::set<std::string> values(field.values.begin(), field.values.end());
                if (!named) {
                    named = values;
                } else {
                    std::erase_if(*named, [&](const std::string& name) { return !values.contains(name); });
                }
            }
            if (!named) return std::nullopt;
            all.merge(*named);
        }
        return all.empty() && pod.required_node_terms->empty() ? std::optional<std::set<std::string>>() : all;
    }
    const PodInfo* pod_ = nullptr;
};

}  // namespace

std::unique_ptr<Plugin> make_node_affinity(const Handle&) { return std::make_unique<NodeAffinity>(); }

}  // namespace porthole::scheduler
