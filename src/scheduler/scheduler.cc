#include "scheduler/scheduler.h"

#include <algorithm>

#include "api/policy_v1.h"
#include "api/storage_v1.h"
#include "base/error_reasons.h"
#include "objects/conditions.h"
#include "objects/pods.h"
#include "objects/volume_match.h"
#include "scheduler/convert.h"
#include "scheduler/plugins/registry.h"
#include "schema/json.h"
#include "schema/value.h"

namespace porthole::scheduler {

namespace {

namespace core = api::core::v1;
namespace policy = api::policy::v1;
namespace storage = api::storage::v1;
using client::NamespacedName;
using schema::Value;

/// Bindings under way at a time: enough to fill the store's group commits.
constexpr std::size_t MaxBindings = 512;
/// Pods decided in one turn of the loop, so that watches and requests get theirs.
constexpr int PodsPerTurn = 32;
constexpr std::size_t LongestNote = 1024;
constexpr const char* NoProvisioner = "kubernetes.io/no-provisioner";
constexpr Duration LongestVolumeWait = std::chrono::minutes(10);

std::string note(std::string text) {
    if (text.size() <= LongestNote) return text;
    return text.substr(0, LongestNote - 4) + " ...";
}

Value condition(const std::string& type, const std::string& status, const std::string& reason, const std::string& message, SystemTime now) {
    return Value::object({{"type", type},
                          {"status", status},
                          {"lastProbeTime", nullptr},
                          {"lastTransitionTime", Timestamp(now).to_string()},
                          {"reason", reason},
                          {"message", message}});
}

bool says_the_same(const core::Pod& pod, const std::string& reason, const std::string& message, const std::string& nominated_node) {
    const core::PodCondition* known = objects::find_condition(pod.status.conditions, "PodScheduled");
    return known && known->status == "False" && known->reason == reason && known->message == message &&
           (nominated_node.empty() || pod.status.nominated_node_name == nominated_node);
}

}  // namespace

Scheduler::Scheduler(SchedulerContext context, std::string scheduler_name)
    : context_(std::move(context)),
      scheduler_name_(std::move(scheduler_name)),
      pods_(context_.informers.get<core::Pod>()),
      nodes_(context_.informers.get<core::Node>()),
      namespaces_(context_.informers.get<core::Namespace>()),
      budgets_(context_.informers.get<policy::PodDisruptionBudget>()),
      claims_(context_.informers.get<core::PersistentVolumeClaim>()),
      volumes_(context_.informers.get<core::PersistentVolume>()),
      classes_(context_.informers.get<storage::StorageClass>()),
      plugins_(make_plugins()),
      queue_(context_.loop, plugins_),
      cycle_(cluster_, plugins_, context_.random),
      scope_(context_.loop) {
    follow_pods();
    follow_nodes();
    follow_namespaces();
    follow_volumes();
}

Scheduler::~Scheduler() {
    if (timer_) context_.loop.cancel_timer(timer_->second);
}

// ---- what the watches tell

void Scheduler::follow_pods() {
    pods_.subscribe({.added = [this](const auto& now) { pod_seen(*now); },
                     .updated = [this](const auto&, const auto& now) { pod_seen(*now); },
                     .deleted = [this](const auto& last) { pod_gone(last->metadata.uid); }});
}

void Scheduler::follow_nodes() {
    nodes_.subscribe({.added =
                          [this](const auto& now) {
                              const NodeSpec spec = node_spec(*now);
                              cluster_.set_node(spec);
                              happened({.kind = ClusterEvent::Kind::NodeAdded, .node = &spec});
                          },
                      .updated =
                          [this](const auto& old, const auto& now) {
                              const NodeSpec before = node_spec(*old), after = node_spec(*now);
                              if (before == after) return;  // a heartbeat
                              cluster_.set_node(after);
                              happened({.kind = ClusterEvent::Kind::NodeChanged, .node = &after, .old_node = &before});
                          },
                      .deleted = [this](const auto& last) { cluster_.remove_node(last->metadata.name); }});
}

void Scheduler::follow_namespaces() {
    namespaces_.subscribe({.added = [this](const auto& now) { cluster_.set_namespace(now->metadata.name, now->metadata.labels); },
                           .updated =
                               [this](const auto& old, const auto& now) {
                                   if (old->metadata.labels == now->metadata.labels) return;
                                   cluster_.set_namespace(now->metadata.name, now->metadata.labels);
                                   happened({.kind = ClusterEvent::Kind::NamespaceChanged});
                               },
                           .deleted = [this](const auto& last) { cluster_.remove_namespace(last->metadata.name); }});
}

void Scheduler::follow_volumes() {
    const auto happened_to_volumes = [this] {
        volumes_changed_.set();
        happened({.kind = ClusterEvent::Kind::VolumesChanged});
    };
    claims_.subscribe({.added =
                           [=, this](const auto& now) {
                               claim_seen(*now);
                               happened_to_volumes();
                           },
                       .updated =
                           [=, this](const auto&, const auto& now) {
                               claim_seen(*now);
                               happened_to_volumes();
                           },
                       .deleted = [this](const auto& last) { cluster_.remove_claim(client::key_of(*last).text()); }});
    const auto volume_seen = [=, this](const core::PersistentVolume& volume) {
        cluster_.set_volume(volume.metadata.name, volume_info(volume));
        volumes_moved();
        happened_to_volumes();
    };
    volumes_.subscribe({.added = [=](const auto& now) { volume_seen(*now); },
                        .updated = [=](const auto&, const auto& now) { volume_seen(*now); },
                        .deleted =
                            [this](const auto& last) {
                                cluster_.remove_volume(last->metadata.name);
                                volumes_moved();
                            }});
    classes_.on_change([=, this](const storage::StorageClass&) {
        for (const auto& claim : claims_.list()) claim_seen(*claim);
        happened_to_volumes();
    });
}

void Scheduler::claim_seen(const core::PersistentVolumeClaim& claim) {
    const auto storage_class = classes_.find({"", claim.spec.storage_class_name.value_or("")});
    const bool bound = claim.metadata.annotations.contains("pv.kubernetes.io/bind-completed") || claim.status.phase == "Bound";
    ClaimInfo info{.volume = bound ? claim.spec.volume_name : "",
                   .terminating = claim.metadata.deletion_timestamp.has_value(),
                   .waits_for_consumer = storage_class && storage_class->volume_binding_mode == "WaitForFirstConsumer"};
    if (!bound && info.waits_for_consumer && storage_class->provisioner == NoProvisioner) info.candidates = candidates_for(claim);
    cluster_.set_claim(client::key_of(claim).text(), std::move(info));
}

std::vector<std::string> Scheduler::candidates_for(const core::PersistentVolumeClaim& claim) const {
    std::vector<std::string> names;
    for (const auto& volume : volumes_.list()) {
        const bool free = !volume->spec.claim_ref && objects::fits(*volume, claim, nullptr);
        if (free || objects::is_reserved_for(*volume, claim)) names.push_back(volume->metadata.name);
    }
    return names;
}

void Scheduler::volumes_moved() {
    for (const auto& claim : claims_.list()) {
        const ClaimInfo* known = cluster_.find_claim(client::key_of(*claim).text());
        if (known && known->candidates) claim_seen(*claim);
    }
}

void Scheduler::pod_seen(const core::Pod& pod) {
    const PodRef info = std::make_shared<const PodInfo>(pod_info(pod));
    if (info->finished) {
        pod_gone(info->uid);
    } else if (!info->node_name.empty()) {
        pod_placed(info);
    } else if (info->scheduler_name == scheduler_name_) {
        pod_pending(info);
    }
}

void Scheduler::pod_placed(PodRef pod) {
    queue_.remove(pod->uid);
    cluster_.clear_nomination(pod->uid);
    const PodRef before = cluster_.is_assumed(pod->uid) ? nullptr : cluster_.find_pod(pod->uid);
    cluster_.set_pod(pod);
    if (!before) {
        happened({.kind = ClusterEvent::Kind::PodPlaced, .pod = pod.get()});
    } else if (before->labels != pod->labels || before->requests != pod->requests || before->terminating != pod->terminating) {
        happened({.kind = ClusterEvent::Kind::PodChanged, .pod = pod.get()});
    }
}

void Scheduler::pod_pending(PodRef pod) {
    if (pod->terminating) return pod_gone(pod->uid);
    if (cluster_.is_assumed(pod->uid)) return;  // an older state than our binding
    if (pod->nominated_node_name.empty()) {
        cluster_.clear_nomination(pod->uid);
    } else {
        cluster_.nominate(pod, pod->nominated_node_name);
    }
    queue_.set(std::move(pod));
    wake_.set();
}

void Scheduler::pod_gone(const std::string& uid) {
    queue_.remove(uid);
    cluster_.clear_nomination(uid);
    const PodRef last = cluster_.find_pod(uid);
    if (!last) return;
    cluster_.remove_pod(uid);
    happened({.kind = ClusterEvent::Kind::PodRemoved, .pod = last.get()});
}

void Scheduler::happened(const ClusterEvent& event) {
    queue_.on_event(event);
    wake_.set();
}

// ---- the work

Task<> Scheduler::run() {
    for (client::InformerCore* source :
         {&pods_.core(), &nodes_.core(), &namespaces_.core(), &budgets_.core(), &claims_.core(), &volumes_.core(), &classes_.core()}) {
        CO_TRY_VOID(co_await source->wait_for_sync());
    }
    auto ended = co_await work();
    CO_TRY_VOID(co_await scope_.close());
    co_return ended;
}

Task<> Scheduler::work() {
    for (;;) {
        wake_.reset();
        if (const auto next = queue_.flush()) wake_at(*next);
        int decided = 0;
        while (decided < PodsPerTurn && bindings_ < MaxBindings) {
            PodRef pod = queue_.pop();
            if (!pod) break;
            schedule(std::move(pod));
            ++decided;
        }
        if (decided == PodsPerTurn) {
            CO_TRY_VOID(co_await context_.loop.sleep(Duration::zero()));
        } else {
            CO_TRY_VOID(co_await wake_.wait());
        }
    }
}

void Scheduler::wake_at(MonotonicTime when) {
    if (timer_ && timer_->first <= when && timer_->first > context_.loop.now()) return;
    if (timer_) context_.loop.cancel_timer(timer_->second);
    timer_.emplace(when, context_.loop.call_at(when, [this] {
        timer_.reset();
        wake_.set();
    }));
}

void Scheduler::schedule(PodRef pod) {
    const Decision decision = cycle_.decide(*pod);
    if (decision.node) {
        const std::string node = decision.node->name();
        cluster_.clear_nomination(pod->uid);
        cluster_.assume(pod, node);
        ++bindings_;
        scope_.spawn(bind(std::move(pod), node));
        return;
    }
    ++counts_.unschedulable;
    std::string message = decision.diagnosis.text();
    std::string nominated_node;
    if (decision.diagnosis.node_count > 0) {
        std::vector<DisruptionBudget> budgets;
        for (const auto& budget : budgets_.list()) {
            budgets.push_back({budget->metadata.namespace_, selector(budget->spec.selector), budget->status.disruptions_allowed});
        }
        const Preemption preemption = find_preemption(*pod, cluster_, budgets, decision.diagnosis, cycle_, context_.random);
        if (preemption.node) {
            nominated_node = preemption.node->name();
            cluster_.nominate(pod, nominated_node);
            ++counts_.preemptions;
            for (const PodRef& victim : preemption.victims) {
                if (!victim->terminating) scope_.spawn(preempt(victim, pod, nominated_node));
            }
        } else {
            message += " preemption: " + preemption.message;
        }
    }
    report(pod, "Unschedulable", message, nominated_node);
    queue_.retry_after_rejection(pod->uid, decision.diagnosis.rejected_by);
}

core::ObjectReference Scheduler::reference(const PodInfo& pod) const {
    return {.kind = "Pod",
            .namespace_ = pod.namespace_,
            .name = pod.name,
            .uid = pod.uid,
            .api_version = "v1",
            .resource_version = pod.resource_version};
}

Task<> Scheduler::bind(PodRef pod, std::string node) {
    auto bound = co_await bind_claims(pod, node);
    if (bound) bound = co_await post_binding(pod, node);
    --bindings_;
    wake_.set();
    if (bound) {
        ++counts_.scheduled;
        queue_.remove(pod->uid);
        context_.events.normal(reference(*pod), "Scheduled", "Successfully assigned " + pod->key() + " to " + node);
        context_.log.debug("pod bound", {{"pod", pod->key()}, {"node", node}});
    } else if (!is_cancelled(bound)) {
        give_up_node(pod, bound.error());
    }
    co_return {};
}

Task<> Scheduler::post_binding(PodRef pod, std::string node) {
    const Value binding =
        Value::object({{"apiVersion", "v1"},
                       {"kind", "Binding"},
                       {"metadata", Value::object({{"name", pod->name}, {"namespace", pod->namespace_}, {"uid", pod->uid}})},
                       {"target", Value::object({{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}})}});
    const std::string path = client::Client::path(core::Pod::kind(), {pod->namespace_, pod->name}, "binding");
    CO_TRY_VOID(co_await context_.client.post(path, schema::to_json(binding)));
    co_return {};
}

bool Scheduler::all_claims_bound(const PodInfo& pod) const {
    return std::ranges::all_of(pod.claims, [&](const std::string& name) {
        const ClaimInfo* claim = cluster_.find_claim(pod.namespace_ + "/" + name);
        return claim && !claim->volume.empty();
    });
}

/// Tells the provisioners of unbound claims which node they are for, and waits for them.
Task<> Scheduler::bind_claims(PodRef pod, std::string node) {
    if (all_claims_bound(*pod)) co_return {};
    for (const std::string& name : pod->claims) {
        const ClaimInfo* claim = cluster_.find_claim(pod->namespace_ + "/" + name);
        if (claim && !claim->volume.empty()) continue;
        const Value patch =
            Value::object({{"metadata", Value::object({{"annotations", Value::object({{"volume.kubernetes.io/selected-node", node}})}})}});
        CO_TRY_VOID(co_await context_.client.patch<core::PersistentVolumeClaim>({pod->namespace_, name}, client::PatchType::Merge,
                                                                                schema::to_json(patch)));
    }
    const MonotonicTime deadline = context_.loop.now() + LongestVolumeWait;
    while (!all_claims_bound(*pod)) {
        volumes_changed_.reset();
        CO_TRY_VOID(co_await with_timeout(volumes_changed_.wait(), deadline - context_.loop.now(), "binding volumes"));
    }
    co_return {};
}

void Scheduler::give_up_node(const PodRef& pod, const Error& error) {
    // If the watch has shown the pod on a node meanwhile, it is no longer ours to retry.
    if (!cluster_.is_assumed(pod->uid)) return;
    cluster_.forget(pod->uid);
    happened({.kind = ClusterEvent::Kind::PodRemoved, .pod = pod.get()});
    queue_.retry_after_error(pod->uid);
    if (error.reason == Reason::NotFound) return;  // deleted; its watch event is on the way
    ++counts_.errors;
    context_.log.warn("binding failed", {{"pod", pod->key()}, {"error", error.message}});
    report(pod, "SchedulerError", "binding rejected: " + error.message, "");
}

// ---- telling people, and making room

void Scheduler::report(const PodRef& pod, const std::string& reason, const std::string& message, const std::string& nominated_node) {
    context_.events.warning(reference(*pod), "FailedScheduling", note(message));
    const NamespacedName key{pod->namespace_, pod->name};
    const auto current = pods_.find(key);
    if (!current || current->metadata.uid != pod->uid || says_the_same(*current, reason, message, nominated_node)) return;
    Value status =
        Value::object({{"conditions", Value::array({condition("PodScheduled", "False", reason, message, context_.loop.wall_now())})}});
    if (!nominated_node.empty()) status["nominatedNodeName"] = nominated_node;
    const Value patch = Value::object({{"metadata", Value::object({{"uid", pod->uid}})}, {"status", std::move(status)}});
    scope_.spawn([](client::Client& client, NamespacedName key, std::string body, Logger log) -> Task<> {
        const auto patched = co_await client.patch<core::Pod>(key, client::PatchType::StrategicMerge, std::move(body), "status");
        if (!patched && !is_cancelled(patched)) {
            log.debug("pod condition not written", {{"pod", key.text()}, {"error", patched.error().message}});
        }
        co_return {};
    }(context_.client, key, schema::to_json(patch), context_.log));
}

Task<> Scheduler::preempt(PodRef victim, PodRef preemptor, std::string node) {
    const NamespacedName key{victim->namespace_, victim->name};
    const Value status = Value::object(
        {{"conditions",
          Value::array({condition("DisruptionTarget", "True", "PreemptionByScheduler",
                                  scheduler_name_ + ": preempting to accommodate a higher priority pod", context_.loop.wall_now())})}});
    const Value patch = Value::object({{"metadata", Value::object({{"uid", victim->uid}})}, {"status", status}});
    const auto marked = co_await context_.client.patch<core::Pod>(key, client::PatchType::StrategicMerge, schema::to_json(patch), "status");
    if (is_not_found(marked)) co_return {};
    const auto removed = co_await context_.client.remove<core::Pod>(key, {.uid = victim->uid});
    if (!removed) {
        if (!is_not_found(removed) && !is_cancelled(removed)) {
            context_.log.warn("preemption failed", {{"victim", victim->key()}, {"error", removed.error().message}});
        }
        co_return {};
    }
    context_.events.normal(reference(*victim), "Preempted", "Preempted by pod " + preemptor->uid + " on node " + node);
    context_.log.info("pod preempted", {{"victim", victim->key()}, {"preemptor", preemptor->key()}, {"node", node}});
    co_return {};
}

}  // namespace porthole::scheduler
