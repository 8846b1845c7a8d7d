#include <ranges>

#include "api/kubescheduler_v1.h"
#include "api/policy_v1.h"
#include "base/result.h"
#include "scheduler/framework/convert.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/plugins/preemption.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::scheduler {

namespace {

namespace core = api::core::v1;
namespace policy = api::policy::v1;
using schema::Value;

/// Makes room for a pod that fits nowhere: evicts pods of lower priority from the node where that costs least.
class DefaultPreemption final : public Plugin {
public:
    explicit DefaultPreemption(const Handle& handle)
        : handle_(handle),
          pods_(handle_.context.informers.get<core::Pod>()),
          budgets_(handle_.context.informers.get<policy::PodDisruptionBudget>()) {
        const auto arguments = arguments_of<api::kubescheduler::v1::DefaultPreemptionArgs>(handle.profile, name());
        effort_ = {static_cast<std::size_t>(arguments.min_candidate_nodes_percentage.value()),
                   static_cast<std::size_t>(arguments.min_candidate_nodes_absolute.value())};
    }

    std::string_view name() const override { return "DefaultPreemption"; }
    Task<> wait_for_sync() override { return budgets_.wait_for_sync(); }

    PostFilter post_filter(const PodRef& pod, const Diagnosis& diagnosis, FilterRunner& filters) override {
        std::vector<DisruptionBudget> budgets;
        for (const auto& budget : budgets_.list()) {
            const auto disrupted = std::views::keys(budget->status.disrupted_pods);
            budgets.push_back({budget->metadata.namespace_,
                               selector(budget->spec.selector),
                               budget->status.disruptions_allowed,
                               {disrupted.begin(), disrupted.end()}});
        }
        auto [candidates, why_not, were_looked_for] =
            find_candidates(*pod, handle_.cluster, budgets, diagnosis, filters, handle_.context.random, effort_);
        if (candidates.empty()) return {.message = "preemption: " + why_not, .ends_nomination = were_looked_for};
        if (handle_.reviewer && handle_.reviewer->reviews_preemption_for(*pod)) return {.later = ask(pod, std::move(candidates))};
        return preempt(pod, cheapest(candidates));
    }

private:
    Task<PostFilter> ask(PodRef pod, std::vector<PreemptionCandidate> candidates) {
        const auto left = co_await handle_.reviewer->review_preemption(pod, std::move(candidates));
        if (is_cancelled(left)) co_return left.error();
        if (!left) co_return PostFilter{.message = "preemption: " + left.error().message};
        if (left->empty()) co_return PostFilter{.message = "preemption: no candidate node for preemption"};
        co_return preempt(pod, cheapest(*left));
    }

    PostFilter preempt(const PodRef& pod, const PreemptionCandidate& candidate) {
        for (const PodRef& victim : candidate.victims) {
            if (!victim->terminating) handle_.scope.spawn(evict(victim, pod, candidate.node));
        }
        return {.nominated_node = candidate.node};
    }
    Task<> evict(PodRef victim, PodRef preemptor, std::string node) {
        client::Client& client = handle_.context.client;
        const client::NamespacedName key{victim->namespace_, victim->name};
        const auto object = pods_.find(key);
        const bool is_victim = object && object->metadata.uid == victim->uid;
        const Value status = Value::object(
            {{"conditions",
              Value::array({pod_condition(is_victim ? object.get() : nullptr, "DisruptionTarget", "True", "PreemptionByScheduler",
                                          preemptor->scheduler_name + ": preempting to accommodate a higher priority pod",
                                          handle_.context.loop.wall_now())})}});
        const Value patch = Value::object({{"metadata", Value::object({{"uid", victim->uid}})}, {"status", status}});
        const auto marked = co_await client.patch<core::Pod>(key, client::PatchType::StrategicMerge, schema::to_json(patch), "status");
        if (is_not_found(marked)) co_return {};
        const auto removed = co_await client.remove<core::Pod>(key, {.uid = victim->uid});
        if (!removed) {
            if (!is_not_found(removed) && !is_cancelled(removed)) {
                handle_.context.log.warn("preemption failed", {{"victim", victim->key()}, {"error", removed.error().message}});
                // No event comes of a victim that stays: the preemptor tries again.
                handle_.happened({.kind = ClusterEvent::Kind::PodRemoved, .pod = victim.get()});
            }
            co_return {};
        }
        handle_.events_of(preemptor->scheduler_name)
            .normal(object_reference(*victim), "Preempted", "Preempted by pod " + preemptor->uid + " on node " + node);
        handle_.context.log.info("pod preempted", {{"victim", victim->key()}, {"preemptor", preemptor->key()}, {"node", node}});
        co_return {};
    }

    Handle handle_;
    PreemptionEffort effort_;
    client::Informer<core::Pod>& pods_;
    client::Informer<policy::PodDisruptionBudget>& budgets_;
};

}  // namespace

std::unique_ptr<Plugin> make_default_preemption(const Handle& handle) { return std::make_unique<DefaultPreemption>(handle); }

}  // namespace porthole::scheduler
