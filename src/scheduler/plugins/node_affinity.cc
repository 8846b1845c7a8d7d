#include <algorithm>

#include "api/kubescheduler_v1.h"
#include "scheduler/framework/convert.h"
#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

/// Node selector, and required and preferred node affinity, of the pod and of the profile (addedAffinity).
class NodeAffinity final : public Plugin {
public:
    explicit NodeAffinity(const Handle& handle) {
        const auto arguments = arguments_of<api::kubescheduler::v1::NodeAffinityArgs>(handle.profile, name());
        if (!arguments.added_affinity) return;
        if (const auto& required = arguments.added_affinity->required_during_scheduling_ignored_during_execution) {
            added_terms_.emplace();
            for (const auto& term : required->node_selector_terms) added_terms_->push_back(node_term(term));
        }
        for (const auto& term : arguments.added_affinity->preferred_during_scheduling_ignored_during_execution)
            added_preferences_.push_back({term.weight, node_term(term.preference)});
    }

    std::string_view name() const override { return "NodeAffinity"; }
    std::int64_t weight() const override { return 2; }

    PreFilter pre_filter(const PodInfo& pod, const Cluster&) override {
        pod_ = &pod;
        if (pod.node_selector.empty() && !pod.required_node_terms && !added_terms_) return PreFilter::skip();
        PreFilter result = PreFilter::run();
        result.nodes = named_nodes(pod);
        if (result.nodes && result.nodes->empty()) return PreFilter::reject("pod affinity terms conflict");
        return result;
    }
    bool filter(const NodeInfo& node, FilterStatus& status) override {
        if (!is_added_term_met(node.spec())) {
            status.reject("node(s) didn't match scheduler-enforced node affinity", false);
            return false;
        }
        if (pod_->accepts_node(node.spec().labels, node.name())) return true;
        status.reject("node(s) didn't match Pod's node affinity/selector", false);
        return false;
    }
    bool filters_by_node_alone() const override { return true; }
    bool pre_score(const PodInfo& pod, const Cluster&, std::span<const NodeInfo* const>) override {
        pod_ = &pod;
        return !pod.preferred_node_terms.empty() || !added_preferences_.empty();
    }
    std::int64_t score(const NodeInfo& node) override {
        std::int64_t sum = 0;
        const auto add = [&](const std::vector<PreferredNodeTerm>& preferences) {
            for (const PreferredNodeTerm& preferred : preferences)
                if (preferred.term.matches(node.spec().labels, node.name())) sum += preferred.weight;
        };
        add(pod_->preferred_node_terms);
        add(added_preferences_);
        return sum;
    }
    void normalize(std::span<std::int64_t> scores) override { normalize_to_largest(scores, false); }

    bool queueing_hint(const ClusterEvent& event, const PodInfo& waiting) const override {
        const auto accepted = [&](const NodeSpec& node) { return is_added_term_met(node) && waiting.accepts_node(node.labels, node.name); };
        return event.about_node() && accepted(*event.node) && (!event.old_node || !accepted(*event.old_node));
    }

private:
    bool is_added_term_met(const NodeSpec& node) const {
        return !added_terms_ ||
               std::ranges::any_of(*added_terms_, [&](const NodeSelectorTerm& term) { return term.matches(node.labels, node.name); });
    }
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
    std::optional<std::vector<NodeSelectorTerm>> added_terms_;
    std::vector<PreferredNodeTerm> added_preferences_;
    const PodInfo* pod_ = nullptr;
};

}  // namespace

std::unique_ptr<Plugin> make_node_affinity(const Handle& handle) { return std::make_unique<NodeAffinity>(handle); }

}  // namespace porthole::scheduler
