#include "controllers/daemonset/daemon_set.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "base/result.h"
#include "controllers/framework/batches.h"
#include "controllers/framework/claim.h"
#include "controllers/framework/owner.h"
#include "controllers/framework/revisions.h"
#include "objects/pods.h"
#include "objects/selectors.h"

namespace porthole::controllers {

using api::apps::v1::ControllerRevision;
using api::apps::v1::DaemonSet;
using api::apps::v1::DaemonSetStatus;
using api::core::v1::Node;
using api::core::v1::Pod;
using api::core::v1::PodSpec;
using client::NamespacedName;
using client::Requeue;
using namespace daemon;

namespace {

constexpr std::size_t Burst = 250;
constexpr Duration FirstFailedWait = std::chrono::seconds(1), LongestFailedWait = std::chrono::minutes(15);
constexpr const char* GenerationAnnotation = "deprecated.daemonset.template.generation";
constexpr const char* GenerationLabel = "pod-template-generation";

std::string hash_of(const ControllerRevision& revision) {
    const auto found = revision.metadata.labels.find(RevisionHashLabel);
    return found == revision.metadata.labels.end() ? "" : found->second;
}

/// Bound pods first, then the oldest.
void sort_by_seniority(std::vector<PodPointer>& pods) {
    std::ranges::sort(pods, [](const PodPointer& a, const PodPointer& b) {
        const auto rank = [](const Pod& pod) {
            return std::tuple(pod.spec.node_name.empty(), pod.metadata.creation_timestamp, pod.metadata.name);
        };
        return rank(*a) < rank(*b);
    });
}

bool looks_different(const Node& old, const Node& now) {
    return old.metadata.labels != now.metadata.labels || !(old.spec.taints == now.spec.taints);
}

}  // namespace

DaemonSetController::DaemonSetController(Context& context)
    : Controller(context.loop, context.log, {.name = "daemonset-controller", .workers = 2}),
      context_(context),
      events_(context.events.get("daemonset-controller")),
      pod_control_(context.client, events_),
      expectations_(context.loop),
      sets_(context.informers.get<DaemonSet>()),
      nodes_(context.informers.get<Node>()),
      revisions_by_owner_(context.informers.get<ControllerRevision>()),
      pods_by_owner_(context.pods_by_owner()) {
    reconcile_each(sets_);
    depends_on(context.informers.get<ControllerRevision>());
    depends_on(nodes_).subscribe({.added = [this](const auto&) { node_changed(); },
                                  .updated =
                                      [this](const auto& old, const auto& now) {
                                          if (looks_different(*old, *now)) node_changed();
                                      },
                                  .deleted = [this](const auto&) { node_changed(); }});
    depends_on(context.informers.get<Pod>())
        .subscribe({.added =
                        [this](const auto& pod) {
                            if (const auto set = owner_of_pod(*pod)) expectations_.creation_observed(client::key_of(*set));
                            pod_changed(*pod);
                        },
                    .updated =
                        [this](const auto&, const auto& pod) {
                            const auto set = owner_of_pod(*pod);
                            if (set && objects::is_terminating(*pod))
                                expectations_.deletion_observed(client::key_of(*set), pod->metadata.uid);
                            pod_changed(*pod);
                        },
                    .deleted =
                        [this](const auto& pod) {
                            if (const auto set = owner_of_pod(*pod))
                                expectations_.deletion_observed(client::key_of(*set), pod->metadata.uid);
                            pod_changed(*pod);
                        }});
}

std::shared_ptr<const DaemonSet> DaemonSetController::owner_of_pod(const Pod& pod) const {
    return find_owner(sets_, DaemonSet::kind(), pod.metadata);
}

void DaemonSetController::pod_changed(const Pod& pod) {
    for (const NamespacedName& key : concerned_owners(sets_, DaemonSet::kind(), pod.metadata)) queue().add(key);
}

void DaemonSetController::node_changed() {
    for (const auto& set : sets_.list()) queue().add(client::key_of(*set));
}

Task<Requeue> DaemonSetController::reconcile(NamespacedName key) {
    const auto set = sets_.find(key);
    if (!set) {
        expectations_.forget(key);
        co_return Requeue::never();
    }
    if (!set->spec.selector || objects::selects_everything(*set->spec.selector)) {
        events_.warning(*set, "SelectingAll", "This daemon set is selecting all pods. A non-empty selector is required.");
        co_return Requeue::never();
    }
    if (set->metadata.deletion_timestamp) co_return Requeue::never();
    CO_TRY(const ControllerRevision current, co_await sync_history(*set));
    const std::string hash = hash_of(current);
    PodSpec spec = set->spec.template_.spec;
    add_daemon_tolerations(spec);
    CO_TRY(PodsByNode pods, co_await claim_pods(*set));

    std::optional<Error> failure;
    if (expectations_.satisfied(key)) {
        // An update goes on only when every node has its pod: one that is about to get one lacks it still.
        Changes changes = placement(*set, spec, pods, hash);
        const bool placed = changes.create_on.empty() && changes.remove.empty();
        if (placed && set->spec.update_strategy.type != "OnDelete")
            changes = rolling_step(*set, pods, hash, count_desired(spec), loop().wall_now());
        Result<void> applied = co_await apply(*set, spec, std::move(changes), hash);
        if (!applied) failure = std::move(applied).error();
        if (failure && is_cancelled(*failure)) co_return std::move(*failure);
        CO_TRY_VOID(co_await clean_history(*set, hash, pods));
    }
    CO_TRY_VOID(co_await update_status(*set, spec, pods, hash));
    if (failure) co_return std::move(*failure);
    for (const auto& [node, on_node] : pods)
        for (const PodPointer& pod : on_node)
            if (objects::is_ready(*pod) &&
                !objects::is_available(*pod, std::chrono::seconds(set->spec.min_ready_seconds), loop().wall_now()))
                co_return Requeue::in(std::chrono::seconds(set->spec.min_ready_seconds));
    co_return Requeue::never();
}

Task<ControllerRevision> DaemonSetController::sync_history(const DaemonSet& set) {
    std::vector<ControllerRevision> revisions;
    for (const auto& revision : revisions_by_owner_.dependents_of(set.metadata)) revisions.push_back(*revision);
    RevisionHistory history(context_.client, owner_of(set), std::move(revisions));
    const std::string hash = template_hash(set.spec.template_, set.status.collision_count);
    ControllerRevision wanted;
    wanted.metadata.name = set.metadata.name + "-" + hash;
    wanted.metadata.labels = set.spec.template_.metadata.labels;
    wanted.metadata.labels[RevisionHashLabel] = hash;
    wanted.metadata.annotations = set.metadata.annotations;
    wanted.data = template_data(set.spec.template_);
    Result<ControllerRevision> current = co_await history.ensure(std::move(wanted));
    if (!current && current.error().reason == Reason::AlreadyExists) {
        DaemonSet changed = set;
        changed.status.collision_count = changed.status.collision_count.value_or(0) + 1;
        CO_TRY_VOID(co_await context_.client.update_status(std::move(changed)));
    }
    co_return current;
}

Task<> DaemonSetController::clean_history(const DaemonSet& set, std::string current_hash, const PodsByNode& pods) {
    std::set<std::string> live{current_hash};
    for (const auto& [node, on_node] : pods)
        for (const PodPointer& pod : on_node)
            if (const auto found = pod->metadata.labels.find(RevisionHashLabel); found != pod->metadata.labels.end())
                live.insert(found->second);
    std::vector<ControllerRevision> revisions;
    for (const auto& revision : revisions_by_owner_.dependents_of(set.metadata)) revisions.push_back(*revision);
    RevisionHistory history(context_.client, owner_of(set), std::move(revisions));
    co_return co_await history.truncate(static_cast<std::size_t>(set.spec.revision_history_limit.value_or(10)),
                                        [&](const ControllerRevision& revision) { return live.contains(hash_of(revision)); });
}

Task<PodsByNode> DaemonSetController::claim_pods(const DaemonSet& set) {
    const auto selects = [&](const Pod& pod) { return objects::matches(set.spec.selector, pod.metadata.labels); };
    CO_TRY(const auto claimed,
           co_await claim<Pod>(context_.client, owner_of(set), pods_by_owner_.candidates_of(set.metadata, set.spec.selector), selects));
    PodsByNode pods;
    for (const PodPointer& pod : claimed) pods[node_of(pod->spec)].push_back(pod);
    co_return std::move(pods);
}

Changes DaemonSetController::placement(const DaemonSet& set, const PodSpec& spec, const PodsByNode& pods, const std::string& hash) {
    Changes changes;
    const bool surges = max_surge(set, count_desired(spec)) > 0;
    for (const auto& node : nodes_.list()) {
        const Fit fit = daemon::fit(spec, *node);
        const auto found = pods.find(node->metadata.name);
        if (found == pods.end()) {
            if (fit.should_run) changes.create_on.push_back(node->metadata.name);
        } else if (fit.should_continue) {
            tidy_node(set, found->second, hash, surges, changes);
        } else {
            for (const PodPointer& pod : found->second)
                if (!objects::is_terminating(*pod)) changes.remove.push_back(pod);
        }
    }
    // Those of a node that is gone and that were never bound will never run; bound ones are the pod collector's.
    for (const auto& [node, on_node] : pods)
        for (const PodPointer& pod : on_node)
            if (pod->spec.node_name.empty() && !nodes_.find({"", node}) && !objects::is_terminating(*pod)) changes.remove.push_back(pod);
    return changes;
}

void DaemonSetController::tidy_node(const DaemonSet& set, const std::vector<PodPointer>& pods, const std::string& hash, bool surges,
                                    Changes& changes) {
    std::vector<PodPointer> old_pods, new_pods;
    for (const PodPointer& pod : pods) {
        if (objects::is_terminating(*pod)) continue;
        if (objects::is_terminal(*pod)) {
            if (give_up_failed(set, *pod)) changes.remove.push_back(pod);
            continue;
        }
        (is_updated(*pod, hash) ? new_pods : old_pods).push_back(pod);
    }
    // While surging one old and one new pod live side by side, else one is one too many.
    std::vector<std::vector<PodPointer>> groups;
    if (surges) {
        groups = {old_pods, new_pods};
    } else {
        groups = {old_pods};
        groups[0].insert(groups[0].end(), new_pods.begin(), new_pods.end());
    }
    for (auto& group : groups) {
        sort_by_seniority(group);
        for (std::size_t i = 1; i < group.size(); ++i) changes.remove.push_back(group[i]);
    }
}

/// True when the time has come to remove a pod that has ended, so that another can take its place.
bool DaemonSetController::give_up_failed(const DaemonSet& set, const Pod& pod) {
    const std::string key = set.metadata.uid + "/" + node_of(pod.spec);
    if (pod.status.phase == "Succeeded") {
        events_.normal(
            set, "SucceededDaemonPod",
            fmt::format("Found succeeded daemon pod {} on node {}, will try to delete it", client::key_of(pod).text(), pod.spec.node_name));
        return true;
    }
    forget_calm_pods();
    FailedPod& failed = failed_[key];
    if (loop().now() < failed.not_before) {
        queue().add_after(client::key_of(set), failed.not_before - loop().now());
        return false;
    }
    failed.wait = failed.wait == Duration::zero() ? FirstFailedWait : std::min(2 * failed.wait, LongestFailedWait);
    failed.not_before = loop().now() + failed.wait;
    events_.warning(
        set, "FailedDaemonPod",
        fmt::format("Found failed daemon pod {} on node {}, will try to kill it", client::key_of(pod).text(), pod.spec.node_name));
    return true;
}

/// Forgets pods that have not failed for long, also of sets and nodes that are gone.
void DaemonSetController::forget_calm_pods() {
    if (loop().now() < next_sweep_) return;
    next_sweep_ = loop().now() + std::chrono::minutes(1);
    std::erase_if(failed_, [&](const auto& item) { return loop().now() - item.second.not_before > 2 * LongestFailedWait; });
}

Task<> DaemonSetController::apply(const DaemonSet& set, const PodSpec& spec, Changes changes, std::string hash) {
    const NamespacedName key = client::key_of(set);
    if (changes.create_on.size() > Burst) changes.create_on.resize(Burst);
    if (changes.remove.size() > Burst) changes.remove.resize(Burst);
    const int count = static_cast<int>(changes.create_on.size());
    for (const PodPointer& pod : changes.remove) expectations_.expect_deletion(key, pod->metadata.uid);

    const Result<void> created = co_await create_expected(
        expectations_, key, count, [&](int i) { return create_on(set, spec, changes.create_on[static_cast<std::size_t>(i)], hash); });
    std::vector<Task<>> removals;
    for (const PodPointer& pod : changes.remove) removals.push_back(remove(set, pod));
    const Result<void> removed = co_await perform_all(std::move(removals));
    if (!created) co_return created;
    co_return removed;
}

Task<> DaemonSetController::create_on(const DaemonSet& set, const PodSpec& spec, std::string node, std::string hash) {
    Pod pod = pod_from_template(set.spec.template_, owner_of(set));
    pod.spec = spec;
    pin_to_node(pod.spec, node);
    pod.metadata.labels[RevisionHashLabel] = hash;
    if (const auto found = set.metadata.annotations.find(GenerationAnnotation); found != set.metadata.annotations.end())
        pod.metadata.labels[GenerationLabel] = found->second;
    co_return co_await pod_control_.create(std::move(pod), owner_of(set));
}

Task<> DaemonSetController::remove(const DaemonSet& set, PodPointer pod) {
    Result<void> removed = co_await pod_control_.remove(client::key_of(*pod), pod->metadata.uid, owner_of(set));
    if (removed) co_return {};
    expectations_.deletion_observed(client::key_of(set), pod->metadata.uid);
    if (is_not_found(removed) || removed.error().reason == Reason::Conflict) co_return {};
    co_return removed;
}

std::int32_t DaemonSetController::count_desired(const PodSpec& spec) const {
    std::int32_t count = 0;
    for (const auto& node : nodes_.list()) count += daemon::fit(spec, *node).should_run;
    return count;
}

Task<> DaemonSetController::update_status(const DaemonSet& set, const PodSpec& spec, const PodsByNode& pods, std::string hash) {
    DaemonSetStatus status;
    status.collision_count = set.status.collision_count;
    status.conditions = set.status.conditions;
    status.observed_generation = set.metadata.generation;
    const std::chrono::seconds min_ready(set.spec.min_ready_seconds);
    for (const auto& node : nodes_.list()) {
        const auto found = pods.find(node->metadata.name);
        std::vector<PodPointer> on_node;
        if (found != pods.end()) on_node = found->second;
        if (!daemon::fit(spec, *node).should_run) {
            status.number_misscheduled += !on_node.empty();
            continue;
        }
        ++status.desired_number_scheduled;
        if (on_node.empty()) continue;
        ++status.current_number_scheduled;
        const auto any = [&](auto predicate) { return std::ranges::any_of(on_node, predicate); };
        status.number_ready += any([](const PodPointer& pod) { return objects::is_ready(*pod); });
        status.number_available += any([&](const PodPointer& pod) { return objects::is_available(*pod, min_ready, loop().wall_now()); });
        sort_by_seniority(on_node);
        status.updated_number_scheduled += is_updated(*on_node.back(), hash);
    }
    status.number_unavailable = status.desired_number_scheduled - status.number_available;
    if (set.status == status) co_return {};
    DaemonSet changed = set;
    changed.status = std::move(status);
    CO_TRY_VOID(ignore_not_found(co_await context_.client.update_status(std::move(changed))));
    co_return {};
}

Result<ControllerPtr> make_daemon_set(Context& context) { return make_controller<DaemonSetController>(context); }

}  // namespace porthole::controllers
