#include <algorithm>
#include <deque>
#include <unordered_map>

#include "api/kubescheduler_v1.h"
#include "scheduler/plugins/plugins.h"

namespace porthole::scheduler {

namespace {

/// How much of something there is in each domain of one topology key.
struct DomainCounts {
    const Topology* topology = nullptr;
    std::vector<std::int64_t> counts;
    std::string_view key;

    void reset(const Cluster& cluster, const std::string& topology_key) {
        key = topology_key;
        topology = &cluster.topology(topology_key);
        counts.assign(topology->values.size(), 0);
    }
    void add_class(const PodClass& pod_class, std::int64_t each) {
        for (const auto& [slot, count] : pod_class.nodes) add(topology->domain_of_slot[slot], each * count);
    }
    void add(std::int32_t domain, std::int64_t amount) {
        if (domain != Topology::None) counts[static_cast<std::size_t>(domain)] += amount;
    }
    std::int64_t at(const NodeInfo& node) const {
        const std::int32_t domain = topology->domain(node);
        return domain == Topology::None ? 0 : counts[static_cast<std::size_t>(domain)];
    }
    bool has_key(const NodeInfo& node) const { return topology->domain(node) != Topology::None; }
};

/// One DomainCounts for each topology key in use.
class CountsByKey {
public:
    void clear() {
        entries_.clear();
        by_key_.clear();
    }
    DomainCounts& of(const Cluster& cluster, const std::string& key) {
        DomainCounts*& entry = by_key_[key];
        if (!entry) {
            entry = &entries_.emplace_back();
            entry->reset(cluster, key);
        }
        return *entry;
    }
    bool empty() const { return entries_.empty(); }
    auto begin() const { return entries_.begin(); }
    auto end() const { return entries_.end(); }

private:
    std::deque<DomainCounts> entries_;
    std::unordered_map<std::string_view, DomainCounts*> by_key_;  ///< keys are those of the terms
};

/// Required pod affinity and anti-affinity of the pod, anti-affinity of the pods that are there, and the preferences of both.
class InterPodAffinity final : public Plugin {
public:
    explicit InterPodAffinity(const Handle& handle)
        : arguments_(arguments_of<api::kubescheduler::v1::InterPodAffinityArgs>(handle.profile, name())) {}

    std::string_view name() const override { return "InterPodAffinity"; }
    std::int64_t weight() const override { return 2; }

    PreFilter pre_filter(const PodInfo& pod, const Cluster& cluster) override {
        pod_ = &pod;
        cluster_ = &cluster;
        count_affinity();
        count_anti_affinity();
        count_existing_anti_affinity();
        const bool nothing = pod.affinity.empty() && pod.anti_affinity.empty() && existing_anti_.empty();
        return nothing ? PreFilter::skip() : PreFilter::run();
    }

    bool filter(const NodeInfo& node, FilterStatus& status) override {
        if (!satisfies_affinity(node)) {
            status.reject("node(s) didn't match pod affinity rules", false);
            return false;
        }
        if (std::ranges::any_of(anti_, [&](const DomainCounts& term) { return term.at(node) > 0; })) {
            status.reject("node(s) didn't match pod anti-affinity rules", true);
            return false;
        }
        if (std::ranges::any_of(existing_anti_, [&](const DomainCounts& key) { return key.at(node) > 0; })) {
            status.reject("node(s) didn't satisfy existing pods anti-affinity rules", true);
            return false;
        }
        return true;
    }

    void pod_added(const PodInfo& other, const NodeInfo& node) override { adjust(other, node, 1); }
    void pod_removed(const PodInfo& other, const NodeInfo& node) override { adjust(other, node, -1); }

    bool pre_score(const PodInfo& pod, const Cluster& cluster, std::span<const NodeInfo* const>) override {
        preference_.clear();
        for (const AffinityTerm& term : pod.preferred_affinity) {
            each_class(cluster, term,
                       [&](const PodClass& pod_class) { preference_.of(cluster, term.topology_key).add_class(pod_class, term.weight); });
        }
        const bool ignores_existing = arguments_.ignore_preferred_terms_of_existing_pods;
        if (ignores_existing && pod.preferred_affinity.empty()) return false;
        const std::int64_t hard_weight = arguments_.hard_pod_affinity_weight.value_or(1);
        for (const PodClass* pod_class : cluster.classes_with_affinity()) {
            const PodInfo& existing = *pod_class->example;
            if (!ignores_existing) {
                for (const AffinityTerm& term : existing.preferred_affinity) add_if_named(pod, cluster, *pod_class, term, term.weight);
            }
            if (hard_weight == 0) continue;
            for (const AffinityTerm& term : existing.affinity) add_if_named(pod, cluster, *pod_class, term, hard_weight);
        }
        return !preference_.empty();
    }
    std::int64_t score(const NodeInfo& node) override {
        std::int64_t sum = 0;
        for (const DomainCounts& key : preference_) sum += key.at(node);
        return sum;
    }
    void normalize(std::span<std::int64_t> scores) override {
        const auto [lowest, highest] = std::ranges::minmax(scores);
        const std::int64_t range = highest - lowest;
        const std::int64_t base = lowest;
        for (std::int64_t& score : scores) score = range == 0 ? 0 : MaxScore * (score - base) / range;
    }

    bool queueing_hint(const ClusterEvent& event, const PodInfo& waiting) const override {
        switch (event.kind) {
            case ClusterEvent::Kind::NodeAdded:
                return true;
            case ClusterEvent::Kind::NodeChanged:
                return event.old_node->labels != event.node->labels;
            case ClusterEvent::Kind::PodPlaced:
                return names_any(waiting.affinity, *event.pod);
            case ClusterEvent::Kind::PodChanged:
                return true;
            case ClusterEvent::Kind::PodRemoved:
                return names_any(waiting.anti_affinity, *event.pod) || names_any(event.pod->anti_affinity, waiting);
            case ClusterEvent::Kind::NamespaceChanged:
                return true;
            case ClusterEvent::Kind::NodeRemoved:
            case ClusterEvent::Kind::VolumesChanged:
            case ClusterEvent::Kind::VolumeRoomGrew:
            case ClusterEvent::Kind::DevicesChanged:
                return false;
        }
        return true;
    }

private:
    /// Calls `visit` for each class of pods that `term` means.
    template <class Visit>
    static void each_class(const Cluster& cluster, const AffinityTerm& term, Visit visit) {
        const auto look_at = [&](std::span<PodClass* const> classes) {
            for (const PodClass* pod_class : classes) {
                if (names_pod(term, *pod_class->example, cluster)) visit(*pod_class);
            }
        };
        if (!term.namespace_selector.matches_nothing()) return look_at(cluster.all_classes());
        for (const std::string& namespace_ : term.namespaces) look_at(cluster.classes(namespace_));
    }
    void add_if_named(const PodInfo& pod, const Cluster& cluster, const PodClass& pod_class, const AffinityTerm& term,
                      std::int64_t weight) {
        if (names_pod(term, pod, cluster)) preference_.of(cluster, term.topology_key).add_class(pod_class, weight);
    }

    bool named_by_all(const std::vector<AffinityTerm>& terms, const PodInfo& other) const {
        return std::ranges::all_of(terms, [&](const AffinityTerm& term) { return names_pod(term, other, *cluster_); });
    }
    /// Namespace selectors count as matching: a needless try costs little.
    static bool names_any(const std::vector<AffinityTerm>& terms, const PodInfo& other) {
        return std::ranges::any_of(terms, [&](const AffinityTerm& term) {
            return term.selector.matches(other.labels) &&
                   (term.namespaces.contains(other.namespace_) || !term.namespace_selector.matches_nothing());
        });
    }

    /// A pod counts for the affinity only if every term names it.
    void count_affinity() {
        affinity_.clear();
        affinity_total_ = 0;
        if (pod_->affinity.empty()) return;
        for (const AffinityTerm& term : pod_->affinity) affinity_.emplace_back().reset(*cluster_, term.topology_key);
        each_class(*cluster_, pod_->affinity.front(), [&](const PodClass& pod_class) {
            if (!named_by_all(pod_->affinity, *pod_class.example)) return;
            for (DomainCounts& term : affinity_) {
                term.add_class(pod_class, 1);
                for (const auto& [slot, count] : pod_class.nodes) {
                    if (term.topology->domain_of_slot[slot] != Topology::None) affinity_total_ += count;
                }
            }
        });
    }
    void count_anti_affinity() {
        anti_.clear();
        for (const AffinityTerm& term : pod_->anti_affinity) {
            DomainCounts& counts = anti_.emplace_back();
            counts.reset(*cluster_, term.topology_key);
            each_class(*cluster_, term, [&](const PodClass& pod_class) { counts.add_class(pod_class, 1); });
        }
    }
    void count_existing_anti_affinity() {
        existing_anti_.clear();
        for (const PodClass* pod_class : cluster_->classes_with_affinity()) {
            for (const AffinityTerm& term : pod_class->example->anti_affinity) {
                if (!names_pod(term, *pod_, *cluster_)) continue;
                existing_anti_.of(*cluster_, term.topology_key).add_class(*pod_class, 1);
            }
        }
    }

    bool satisfies_affinity(const NodeInfo& node) const {
        bool all = true;
        for (const DomainCounts& term : affinity_) {
            if (!term.has_key(node)) return false;
            all = all && term.at(node) > 0;
        }
        // The first pod of a group that names itself may go anywhere.
        return all || (affinity_total_ == 0 && named_by_all(pod_->affinity, *pod_));
    }

    void adjust(const PodInfo& other, const NodeInfo& node, std::int64_t sign) {
        if (!affinity_.empty() && named_by_all(pod_->affinity, other)) {
            for (DomainCounts& term : affinity_) {
                term.add(term.topology->domain(node), sign);
                if (term.has_key(node)) affinity_total_ += sign;
            }
        }
        for (std::size_t i = 0; i < anti_.size(); ++i) {
            if (names_pod(pod_->anti_affinity[i], other, *cluster_)) anti_[i].add(anti_[i].topology->domain(node), sign);
        }
        for (const AffinityTerm& term : other.anti_affinity) {
            if (!names_pod(term, *pod_, *cluster_)) continue;
            DomainCounts& key = existing_anti_.of(*cluster_, term.topology_key);
            key.add(key.topology->domain(node), sign);
        }
    }

    const api::kubescheduler::v1::InterPodAffinityArgs arguments_;
    const PodInfo* pod_ = nullptr;
    const Cluster* cluster_ = nullptr;
    std::vector<DomainCounts> affinity_, anti_;  // by term
    std::int64_t affinity_total_ = 0;
    CountsByKey existing_anti_, preference_;
};

}  // namespace

std::unique_ptr<Plugin> make_inter_pod_affinity(const Handle& handle) { return std::make_unique<InterPodAffinity>(handle); }

}  // namespace porthole::scheduler
