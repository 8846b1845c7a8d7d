#include <algorithm>

#include "scheduler/plugins/extended_resource_classes.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/plugins/resource_scorer.h"

namespace porthole::scheduler {

namespace {

/// The pod's requests must fit beside those of the pods already there; by default, emptier nodes score
/// higher (LeastAllocated).
class NodeResourcesFit final : public Plugin {
public:
    explicit NodeResourcesFit(const Handle& handle)
        : device_classes_(handle.context.informers), arguments_(arguments_of<Arguments>(handle.profile, name())) {
        if (arguments_.scoring_strategy) scorer_.emplace(*arguments_.scoring_strategy);
    }

    std::string_view name() const override { return "NodeResourcesFit"; }
    std::int64_t weight() const override { return 1; }

    PreFilter pre_filter(const PodInfo& pod, const Cluster&) override {
        pod_ = &pod;
        extended_reasons_.clear();
        may_be_devices_.clear();
        ignored_.clear();
        for (const auto& [resource, amount] : pod.requests.extended) {
            extended_reasons_.push_back("Insufficient " + resource);
            may_be_devices_.push_back(device_classes_.find(resource) != nullptr);
            ignored_.push_back(is_ignored(resource));
        }
        return PreFilter::run();
    }

    bool filter(const NodeInfo& node, FilterStatus& status) override {
        bool fits = true;
        const auto check = [&](std::int64_t request, std::int64_t allocatable, std::int64_t used, std::string_view reason) {
            if (request <= 0 || request <= allocatable - used) return;
            fits = false;
            status.reject(reason, request <= allocatable);
        };
        const Resources& request = pod_->requests;
        const Resources& allocatable = node.spec().allocatable;
        const Resources& used = node.requested();
        if (static_cast<std::int64_t>(node.pods().size()) + 1 > node.spec().allowed_pods) {
            fits = false;
            status.reject("Too many pods", true);
        }
        check(request.milli_cpu, allocatable.milli_cpu, used.milli_cpu, "Insufficient cpu");
        check(request.memory, allocatable.memory, used.memory, "Insufficient memory");
        check(request.ephemeral_storage, allocatable.ephemeral_storage, used.ephemeral_storage, "Insufficient ephemeral-storage");
        for (std::size_t i = 0; i < request.extended.size(); ++i) {
            if (ignored_[i]) continue;
            const auto& [resource, amount] = request.extended[i];
            // Where the node does not have it, DynamicResources looks for devices.
            if (may_be_devices_[i] && allocatable.extended_amount(resource) == 0) continue;
            check(amount, allocatable.extended_amount(resource), used.extended_amount(resource), extended_reasons_[i]);
        }
        return fits;
    }

    /// Extended resources may also depend on device classes.
    bool filters_by_node_alone() const override { return pod_->requests.extended.empty(); }
    bool scores_by_node_alone() const override { return true; }

    bool pre_score(const PodInfo& pod, const Cluster&, std::span<const NodeInfo* const>) override {
        pod_ = &pod;
        return true;
    }
    std::int64_t score(const NodeInfo& node) override {
        if (scorer_) return scorer_->score(node, *pod_);
        const Resources& allocatable = node.spec().allocatable;
        std::int64_t sum = 0, resources = 0;
        const auto add = [&](std::int64_t total, std::int64_t used) {
            if (total == 0) return;
            ++resources;
            sum += used > total ? 0 : (total - used) * MaxScore / total;
        };
        add(allocatable.milli_cpu, node.scored_milli_cpu() + pod_->scored_milli_cpu);
        add(allocatable.memory, node.scored_memory() + pod_->scored_memory);
        return resources == 0 ? 0 : sum / resources;
    }

    bool queueing_hint(const ClusterEvent& event, const PodInfo& waiting) const override {
        if (event.kind == ClusterEvent::Kind::PodRemoved) return true;
        if (event.kind == ClusterEvent::Kind::PodChanged) return true;
        if (event.kind == ClusterEvent::Kind::DevicesChanged) return !event.device_claim && !waiting.requests.extended.empty();
        if (!event.about_node()) return false;
        const bool grew = !event.old_node || event.old_node->allocatable != event.node->allocatable ||
                          event.old_node->allowed_pods != event.node->allowed_pods;
        return grew && could_hold(*event.node, waiting.requests);
    }

private:
    using Arguments = api::kubescheduler::v1::NodeResourcesFitArgs;

    /// By name, or by what is before the "/": an extender counts it, or nobody does.
    bool is_ignored(const std::string& resource) const {
        const std::size_t slash = resource.find('/');
        return slash != resource.npos && (std::ranges::find(arguments_.ignored_resources, resource) != arguments_.ignored_resources.end() ||
                                          std::ranges::find(arguments_.ignored_resource_groups, resource.substr(0, slash)) !=
                                              arguments_.ignored_resource_groups.end());
    }
    bool could_hold(const NodeSpec& node, const Resources& request) const {
        return node.allowed_pods > 0 && request.milli_cpu <= node.allocatable.milli_cpu && request.memory <= node.allocatable.memory &&
               request.ephemeral_storage <= node.allocatable.ephemeral_storage &&
               std::ranges::all_of(request.extended, [&](const auto& entry) {
                   return entry.second <= node.allocatable.extended_amount(entry.first) || device_classes_.find(entry.first) ||
                          is_ignored(entry.first);
               });
    }
    ExtendedResourceClasses device_classes_;
    const Arguments arguments_;
    std::optional<ResourceScorer> scorer_;  // none: LeastAllocated of CPU and memory, which score() has in a faster form
    const PodInfo* pod_ = nullptr;
    std::vector<std::string> extended_reasons_;
    std::vector<bool> may_be_devices_, ignored_;  // for each of these
};

}  // namespace

std::unique_ptr<Plugin> make_node_resources_fit(const Handle& handle) { return std::make_unique<NodeResourcesFit>(handle); }

}  // namespace porthole::scheduler
