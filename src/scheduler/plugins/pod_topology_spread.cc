#include <algorithm>
#include <cmath>
#include <limits>

#include "api/kubescheduler_v1.h"
#include "scheduler/framework/convert.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/plugins/spread_eligibility.h"

namespace porthole::scheduler {

namespace {

constexpr std::string_view Hostname = "kubernetes.io/hostname";

bool counts_for(const SpreadConstraint& constraint, const PodInfo& pod, const PodInfo& other) {
    return !other.terminating && other.namespace_ == pod.namespace_ && constraint.selector.matches(other.labels);
}

/// As upstream, an empty selector selects the pod itself, but none of those that are there.
bool counts_pods(const SpreadConstraint& constraint) { return !constraint.selector.matches_everything(); }

/// The state of one DoNotSchedule constraint in one cycle.
struct RequiredSpread {
    const SpreadConstraint* constraint = nullptr;
    const Topology* topology = nullptr;
    const SpreadEligibility::Nodes* nodes = nullptr;
    std::vector<std::int64_t> counts;  // by domain
    std::int64_t self = 0;             // 1 if the pod counts for its own constraint
    std::int64_t smallest = 0;

    void find_smallest() {
        smallest = std::numeric_limits<std::int64_t>::max();
        for (std::size_t i = 0; i < counts.size(); ++i) {
            if (nodes->domains[i]) smallest = std::min(smallest, counts[i]);
        }
        if (nodes->domain_count == 0 || nodes->domain_count < static_cast<std::size_t>(constraint->min_domains)) smallest = 0;
    }
};

/// The state of one ScheduleAnyway constraint in one cycle.
struct PreferredSpread {
    const SpreadConstraint* constraint = nullptr;
    const Topology* topology = nullptr;
    bool per_node = false;                   // hostname: counted on the node itself
    std::vector<std::int64_t> counts;        // by domain
    std::vector<std::uint32_t> class_stamp;  // by class id: stamp when the class counts
    std::uint32_t stamp = 0;
    double weight = 0;
};

/// Spreads pods over zones, hosts or any other topology.
///
/// Differs from Kubernetes: for the default constraints a pod's own labels stand for the selector of the set that owns it, so
/// that the scheduler needs to watch neither services nor sets. Only scores depend on it, unless the configuration has default constraints
/// with DoNotSchedule.
class PodTopologySpread final : public Plugin {
public:
    explicit PodTopologySpread(const Handle& handle) {
        const auto arguments = arguments_of<api::kubescheduler::v1::PodTopologySpreadArgs>(handle.profile, name());
        defaults_of_system_ = arguments.defaulting_type != "List";
        if (defaults_of_system_) {
            defaults_ = {{.max_skew = 3, .topology_key = std::string(Hostname), .required = false},
                         {.max_skew = 5, .topology_key = "topology.kubernetes.io/zone", .required = false}};
            return;
        }
        for (const auto& constraint : arguments.default_constraints) defaults_.push_back(spread_constraint(constraint, {}));
        any_default_required_ = std::ranges::any_of(defaults_, &SpreadConstraint::required);
    }

    std::string_view name() const override { return "PodTopologySpread"; }
    std::int64_t weight() const override { return 2; }

    PreFilter pre_filter(const PodInfo& pod, const Cluster& cluster) override {
        pod_ = &pod;
        required_.clear();
        std::vector<const SpreadConstraint*> constraints;
        for (const SpreadConstraint& constraint : any_default_required_ ? constraints_for(pod) : std::span(pod.spread_constraints)) {
            if (constraint.required) constraints.push_back(&constraint);
        }
        if (constraints.empty()) return PreFilter::skip();
        const auto nodes = eligible_.of(pod, constraints, cluster);
        for (std::size_t i = 0; i < constraints.size(); ++i) {
            required_.push_back(
                {.constraint = constraints[i], .topology = &cluster.topology(constraints[i]->topology_key), .nodes = &nodes[i]});
            count_required(required_.back(), cluster);
        }
        return PreFilter::run();
    }

    bool filter(const NodeInfo& node, FilterStatus& status) override {
        for (const RequiredSpread& spread : required_) {
            const std::int32_t domain = spread.topology->domain(node);
            if (domain == Topology::None) {
                status.reject("node(s) didn't match pod topology spread constraints (missing required label)", false);
                return false;
            }
            const std::int64_t skew = spread.counts[static_cast<std::size_t>(domain)] + spread.self - spread.smallest;
            if (skew > spread.constraint->max_skew) {
                status.reject("node(s) didn't match pod topology spread constraints", true);
                return false;
            }
        }
        return true;
    }
    void pod_added(const PodInfo& other, const NodeInfo& node) override { adjust(other, node, 1); }
    void pod_removed(const PodInfo& other, const NodeInfo& node) override { adjust(other, node, -1); }

    bool pre_score(const PodInfo& pod, const Cluster& cluster, std::span<const NodeInfo* const> nodes) override {
        pod_ = &pod;
        choose_preferred(pod, cluster);
        if (preferred_.empty()) return false;
        ++stamp_;
        find_ignored_slots(cluster);
        ignored_.resize(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) ignored_[i] = ignored_slots_[nodes[i]->slot()];
        for (PreferredSpread& spread : preferred_) count_preferred(spread, cluster, nodes);
        next_ = 0;
        return true;
    }
    /// Called for the nodes of pre_score() in their order.
    std::int64_t score(const NodeInfo& node) override {
        const std::size_t index = next_++;
        double sum = 0;
        for (const PreferredSpread& spread : preferred_) {
            const std::int32_t domain = spread.topology->domain(node);
            if (domain == Topology::None) continue;
            const std::int64_t count = spread.per_node ? count_on(node, spread) : spread.counts[static_cast<std::size_t>(domain)];
            sum += static_cast<double>(count) * spread.weight + (spread.constraint->max_skew - 1);
        }
        return ignored_[index] ? 0 : static_cast<std::int64_t>(std::round(sum));
    }
    void normalize(std::span<std::int64_t> scores) override {
        std::int64_t lowest = std::numeric_limits<std::int64_t>::max(), highest = 0;
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (ignored_[i]) continue;
            lowest = std::min(lowest, scores[i]);
            highest = std::max(highest, scores[i]);
        }
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (ignored_[i]) {
                scores[i] = 0;
            } else {
                scores[i] = highest == 0 ? MaxScore : MaxScore * (highest + lowest - scores[i]) / highest;
            }
        }
    }

    bool queueing_hint(const ClusterEvent& event, const PodInfo& waiting) const override {
        switch (event.kind) {
            case ClusterEvent::Kind::NodeAdded:
            case ClusterEvent::Kind::NodeRemoved:  // a domain may go that has the fewest pods
                return true;
            case ClusterEvent::Kind::NodeChanged:
                return event.old_node->labels != event.node->labels || event.old_node->taints != event.node->taints;
            case ClusterEvent::Kind::PodPlaced:
            case ClusterEvent::Kind::PodChanged:
            case ClusterEvent::Kind::PodRemoved:
                return event.pod->namespace_ == waiting.namespace_;
            default:
                return false;
        }
    }

private:
    void count_required(RequiredSpread& spread, const Cluster& cluster) {
        const SpreadConstraint& constraint = *spread.constraint;
        spread.counts.assign(spread.topology->values.size(), 0);
        for (const PodClass* pod_class : cluster.classes(pod_->namespace_)) {
            if (!counts_pods(constraint) || !counts_for(constraint, *pod_, *pod_class->example)) continue;
            for (const auto& [slot, count] : pod_class->nodes) {
                if (spread.nodes->slots[slot]) spread.counts[static_cast<std::size_t>(spread.topology->domain_of_slot[slot])] += count;
            }
        }
        spread.self = constraint.selector.matches(pod_->labels) ? 1 : 0;
        spread.find_smallest();
    }
    void adjust(const PodInfo& other, const NodeInfo& node, std::int64_t sign) {
        for (RequiredSpread& spread : required_) {
            if (!spread.nodes->slots[node.slot()] || !counts_for(*spread.constraint, *pod_, other)) continue;
            spread.counts[static_cast<std::size_t>(spread.topology->domain(node))] += sign;
            spread.find_smallest();
        }
    }

    void choose_preferred(const PodInfo& pod, const Cluster& cluster) {
        preferred_count_ = 0;
        all_keys_needed_ = !pod.spread_constraints.empty() || !defaults_of_system_;
        for (const SpreadConstraint& constraint : constraints_for(pod)) {
            if (!constraint.required) add_preferred(constraint, cluster);
        }
        preferred_.resize(preferred_count_);
    }
    /// The pod's own constraints or, for a pod of a set that has none, the default constraints.
    std::span<const SpreadConstraint> constraints_for(const PodInfo& pod) {
        if (!pod.spread_constraints.empty() || !pod.owned_by_set || defaults_.empty()) return pod.spread_constraints;
        const Selector alike = labels_of_set(pod);
        for (SpreadConstraint& constraint : defaults_) constraint.selector = alike;
        return defaults_;
    }
    /// Reuses the tables of the last cycle.
    void add_preferred(const SpreadConstraint& constraint, const Cluster& cluster) {
        if (preferred_.size() <= preferred_count_) preferred_.emplace_back();
        PreferredSpread& spread = preferred_[preferred_count_++];
        spread.constraint = &constraint;
        spread.topology = &cluster.topology(constraint.topology_key);
        spread.per_node = constraint.topology_key == Hostname;
    }
    /// Without those labels that differ from pod to pod of one set.
    static Selector labels_of_set(const PodInfo& pod) {
        Labels labels = pod.labels;
        for (const char* own : {"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index", "controller-revision-hash"})
            labels.erase(own);
        return Selector::of(labels);
    }

    /// A node that lacks one of the keys counts for none, except of the system's default constraints.
    void find_ignored_slots(const Cluster& cluster) {
        ignored_slots_.assign(cluster.slot_count(), false);
        if (!all_keys_needed_) return;
        for (const NodeInfo* node : cluster.nodes()) {
            ignored_slots_[node->slot()] = std::ranges::any_of(
                preferred_, [&](const PreferredSpread& spread) { return spread.topology->domain(*node) == Topology::None; });
        }
    }
    void count_preferred(PreferredSpread& spread, const Cluster& cluster, std::span<const NodeInfo* const> nodes) {
        spread.stamp = stamp_;
        spread.class_stamp.resize(cluster.class_limit(), 0);
        spread.counts.assign(spread.per_node ? 0 : spread.topology->values.size(), 0);
        for (const PodClass* pod_class : cluster.classes(pod_->namespace_)) {
            if (!counts_pods(*spread.constraint) || !counts_for(*spread.constraint, *pod_, *pod_class->example)) continue;
            spread.class_stamp[pod_class->id] = stamp_;
            if (spread.per_node || spread.topology->values.empty()) continue;
            for (const auto& [slot, count] : pod_class->nodes) {
                const std::int32_t domain = spread.topology->domain_of_slot[slot];
                if (domain == Topology::None || ignored_slots_[slot] || !counts_on(*spread.constraint, *pod_, cluster.node_at(slot)))
                    continue;
                spread.counts[static_cast<std::size_t>(domain)] += count;
            }
        }
        spread.weight = std::log(static_cast<double>(domains_among(spread, nodes)) + 2);
    }
    /// Of the nodes that are not ignored. Those without the key are one domain together.
    std::size_t domains_among(const PreferredSpread& spread, std::span<const NodeInfo* const> nodes) const {
        if (spread.per_node) return static_cast<std::size_t>(std::ranges::count(ignored_, false));
        std::vector<bool> seen(spread.topology->values.size() + 1, false);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (!ignored_[i]) seen[static_cast<std::size_t>(spread.topology->domain(*nodes[i]) + 1)] = true;
        }
        return static_cast<std::size_t>(std::ranges::count(seen, true));
    }
    static std::int64_t count_on(const NodeInfo& node, const PreferredSpread& spread) {
        std::int64_t count = 0;
        for (const NodeInfo::ClassCount& here : node.class_counts()) {
            if (spread.class_stamp[here.pod_class->id] == spread.stamp) count += here.count;
        }
        return count;
    }

    const PodInfo* pod_ = nullptr;
    SpreadEligibility eligible_;
    std::vector<RequiredSpread> required_;
    std::vector<PreferredSpread> preferred_;
    std::size_t preferred_count_ = 0;
    std::vector<SpreadConstraint> defaults_;  // whose selectors are those of the last pod that they were for
    bool defaults_of_system_ = true, any_default_required_ = false;
    std::vector<bool> ignored_slots_, ignored_;  // by slot, and by position among the scored nodes: lacks a key that is needed
    std::size_t next_ = 0;
    std::uint32_t stamp_ = 0;
    bool all_keys_needed_ = false;  // nodes that lack one are ignored
};

}  // namespace

std::unique_ptr<Plugin> make_pod_topology_spread(const Handle& handle) { return std::make_unique<PodTopologySpread>(handle); }

}  // namespace porthole::scheduler
