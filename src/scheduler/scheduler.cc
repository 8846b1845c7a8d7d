#include "scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/result.h"
#include "objects/conditions.h"
#include "objects/pods.h"
#include "scheduler/framework/convert.h"
#include "scheduler/framework/extension_points.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/windows_reasons.h"
#include "schema/json/json.h"
#include "schema/value.h"

namespace porthole::scheduler {

namespace {

namespace core = api::core::v1;
using client::NamespacedName;
using schema::Value;

/// Bindings under way at a time: enough to fill the store's group commits.
constexpr std::size_t MaxBindings = 512;
/// One that takes longer than this waits for others, for volumes or devices, and does not hold up further ones.
constexpr Duration LongestBinding = std::chrono::seconds(5);
/// Pods decided in one turn of the loop, so that watches and requests get theirs.
constexpr int PodsPerTurn = 32;
constexpr std::size_t LongestNote = 1024;

std::string note(std::string text) {
    if (text.size() <= LongestNote) return text;
    return text.substr(0, LongestNote - 4) + " ...";
}

bool says_the_same(const core::Pod& pod, const std::string& reason, const std::string& message,
                   const std::optional<std::string>& nominated_node) {
    const core::PodCondition* known = objects::find_condition(pod.status.conditions, "PodScheduled");
    return known && known->status == "False" && known->reason == reason && known->message == message &&
           (!nominated_node || pod.status.nominated_node_name == *nominated_node);
}

}  // namespace

Scheduler::Scheduler(SchedulerContext context, Configuration configuration, const Extenders::MakeTransport& make_transport)
    : context_(std::move(context)),
      configuration_(std::move(configuration)),
      pods_(context_.informers.get<core::Pod>()),
      nodes_(context_.informers.get<core::Node>()),
      namespaces_(context_.informers.get<core::Namespace>()),
      extenders_(context_, cluster_, configuration_.extenders, make_transport),
      configured_(make_plugins({.context = context_,
                                .configuration = configuration_,
                                .profile = configuration_.profiles.front(),
                                .events_of = [this](const std::string& name) -> client::EventRecorder& { return events_of(name); },
                                .cluster = cluster_,
                                .scope = scope_,
                                .happened = [this](const ClusterEvent& event) { happened(event); },
                                .reviewer = extenders_.empty() ? nullptr : &extenders_})),
      queue_(context_.loop, configured_.plugins, {configuration_.initial_backoff, configuration_.longest_backoff}),
      workers_(make_workers()),
      scope_(context_.loop) {
    follow_pods();
    follow_nodes();
    follow_namespaces();
}

Scheduler::~Scheduler() {
    if (timer_) context_.loop.cancel_timer(timer_->second);
}

// ---- the profiles

std::vector<Scheduler::Worker> Scheduler::make_workers() {
    std::vector<Worker> workers;
    for (std::size_t i = 0; i < configuration_.profiles.size(); ++i) {
        const ProfileConfiguration& profile = configuration_.profiles[i];
        Worker& worker = workers.emplace_back(profile.scheduler_name);
        const std::int64_t percentage = profile.percentage_of_nodes_to_score.value_or(configuration_.percentage_of_nodes_to_score);
        worker.cycle = std::make_unique<Cycle>(cluster_, configured_.calls[i], context_.random, percentage);
        if (worker.name == ProfileConfiguration().scheduler_name) continue;
        worker.own_events = std::make_unique<client::EventRecorder>(context_.loop, context_.client, context_.log, worker.name);
    }
    return workers;
}

Scheduler::Worker* Scheduler::find_worker(std::string_view scheduler_name) {
    const auto found = std::ranges::find(workers_, scheduler_name, &Worker::name);
    return found == workers_.end() ? nullptr : &*found;
}

client::EventRecorder& Scheduler::events_of(const std::string& scheduler_name) {
    const Worker* worker = find_worker(scheduler_name);
    return worker && worker->own_events ? *worker->own_events : context_.events;
}

std::vector<Scheduler::Profile> Scheduler::profiles() const {
    std::vector<Profile> profiles;
    for (const Worker& worker : workers_) profiles.push_back({worker.name, worker.counts});
    return profiles;
}

SchedulerCounts Scheduler::counts() const {
    SchedulerCounts sum;
    for (const auto& [name, events, cycle, counts] : workers_) {
        sum.scheduled += counts.scheduled;
        sum.unschedulable += counts.unschedulable;
        sum.errors += counts.errors;
        sum.preemptions += counts.preemptions;
    }
    return sum;
}

// ---- what the watches tell

void Scheduler::follow_pods() {
    pods_.subscribe({.added = [this](const auto& now) { pod_seen(*now, nullptr); },
                     .updated = [this](const auto& before, const auto& now) { pod_seen(*now, before.get()); },
                     .deleted = [this](const auto& last) { pod_gone(pod_info(*last)); }});
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
                      .deleted =
                          [this](const auto& last) {
                              const NodeSpec spec = node_spec(*last);
                              cluster_.remove_node(spec.name);
                              happened({.kind = ClusterEvent::Kind::NodeRemoved, .node = &spec});
                          }});
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

void Scheduler::pod_seen(const core::Pod& pod, const core::Pod* before) {
    PodInfo parts = pod_info(pod);
    if (!parts.node_name.empty()) forget_search(parts);
    const PodRef info = std::make_shared<const PodInfo>(std::move(parts));
    if (before && before->metadata.uid != info->uid) {
        pod_gone(pod_info(*before));
        before = nullptr;
    }
    if (info->finished) {
        pod_gone(*info);
    } else if (!info->node_name.empty()) {
        pod_placed(info);
    } else if (find_worker(info->scheduler_name)) {
        pod_pending(info, before && !before->status.nominated_node_name.empty());
    }
}

void Scheduler::pod_placed(PodRef pod) {
    queue_.remove(pod->uid);
    end_nomination(*pod, &pod->node_name);
    const PodRef before = cluster_.is_assumed(pod->uid) ? nullptr : cluster_.find_pod(pod->uid);
    cluster_.set_pod(pod);
    if (!before) {
        happened({.kind = ClusterEvent::Kind::PodPlaced, .pod = pod.get()});
    } else if (before->labels != pod->labels || before->requests != pod->requests || before->terminating != pod->terminating) {
        happened({.kind = ClusterEvent::Kind::PodChanged, .pod = pod.get()});
    }
}

void Scheduler::pod_pending(PodRef pod, bool was_nominated) {
    if (pod->terminating) return pod_gone(*pod);
    if (cluster_.is_assumed(pod->uid)) {
        // An older state than our binding; while that is still to come, what the pod is if it fails.
        if (queue_.contains(pod->uid)) queue_.set(std::move(pod));
        return;
    }
    if (!pod->nominated_node_name.empty()) {
        nominate(pod, pod->nominated_node_name);
    } else if (was_nominated) {  // otherwise it may be older than our nomination
        end_nomination(*pod);
    }
    queue_.set(std::move(pod));
    wake_.set();
}

void Scheduler::pod_gone(const PodInfo& pod) {
    queue_.remove(pod.uid);
    end_nomination(pod);
    const PodRef last = cluster_.find_pod(pod.uid);
    if (!last) return;
    cluster_.remove_pod(pod.uid);
    happened({.kind = ClusterEvent::Kind::PodRemoved, .pod = last.get()});
}

void Scheduler::nominate(PodRef pod, const std::string& node) {
    end_nomination(*pod, &node);
    cluster_.nominate(std::move(pod), node);
}

/// The room that was kept for the pod is everybody's again, except where the pod itself has taken it.
void Scheduler::end_nomination(const PodInfo& pod, const std::string* unless_for) {
    const std::string* nominated = cluster_.find_nomination(pod.uid);
    if (!nominated) return;
    const bool is_free = !unless_for || *nominated != *unless_for;
    cluster_.clear_nomination(pod.uid);
    if (is_free) happened({.kind = ClusterEvent::Kind::PodRemoved, .pod = &pod});
}

void Scheduler::happened(const ClusterEvent& event) {
    ++happenings_;
    queue_.on_event(event);
    wake_.set();
}

// ---- the work

Task<> Scheduler::run() {
    for (client::InformerCore* source : {&pods_.core(), &nodes_.core(), &namespaces_.core()}) {
        CO_TRY_VOID(co_await source->wait_for_sync());
    }
    for (const auto& plugin : configured_.plugins) CO_TRY_VOID(co_await plugin->wait_for_sync());
    for (const Worker& worker : workers_) {
        if (worker.own_events) scope_.spawn(worker.own_events->run());
    }
    auto ended = co_await work();
    CO_TRY_VOID(co_await scope_.close());
    co_return ended;
}

Task<> Scheduler::work() {
    for (;;) {
        wake_.reset();
        queue_.flush();
        int decided = 0;
        while (decided < PodsPerTurn && bindings_ < MaxBindings) {
            PodRef pod = queue_.pop();
            if (!pod) break;
            if (extenders_.concern(*pod)) {
                CO_TRY_VOID(co_await schedule_with_extenders(std::move(pod)));
            } else {
                schedule(std::move(pod));
            }
            ++decided;
        }
        if (decided == PodsPerTurn) {
            CO_TRY_VOID(co_await context_.loop.sleep(Duration::zero()));
        } else {
            // Those that were just rejected wait, too, and no event need come of it.
            if (const auto next = queue_.next_flush()) wake_at(*next);
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
    const Decision decision = worker_of(*pod).cycle->decide(*pod);
    if (decision.node) {
        reserve(std::move(pod), decision.node->name());
        return;
    }
    const PostFilter helped = post_filter(pod, decision.diagnosis);
    CHECK(!helped.later);  // the pod concerns no extender
    refuse(pod, decision.diagnosis, helped);
}

/// The same, with calls in between. Other pods wait, as upstream: an extender may rely on being asked about one pod at a time.
Task<> Scheduler::schedule_with_extenders(PodRef pod) {
    const std::uint64_t happenings = happenings_;
    Result<Decision> decision;
    if (!pod->nominated_node_name.empty()) decision = co_await decide_with_extenders(pod, Cycle::Among::NominatedNode);
    if (!is_cancelled(decision) && !(decision && decision->node)) decision = co_await decide_with_extenders(pod, Cycle::Among::AllNodes);
    if (is_cancelled(decision)) co_return std::move(decision).error();
    if (!queue_.is_in_flight(pod->uid)) co_return {};  // deleted, ended, or bound by someone else
    if (!decision) {
        ++worker_of(*pod).counts.errors;
        report(pod, "SchedulerError", decision.error().message);
        queue_.retry_after_error(pod->uid);
        co_return {};
    }
    if (decision->node) {
        reserve(pod, decision->node->name());
        co_return {};
    }
    PostFilter helped = post_filter(pod, decision->diagnosis);
    if (helped.later) {
        Task<PostFilter> later = *std::move(helped.later);
        CO_TRY(helped, co_await std::move(later));
        if (!queue_.is_in_flight(pod->uid)) co_return {};
    }
    refuse(pod, decision->diagnosis, helped, happenings_ != happenings);
    co_return {};
}

/// The result is valid until the next suspension.
Task<Decision> Scheduler::decide_with_extenders(PodRef pod, Cycle::Among among) {
    Cycle& cycle = *worker_of(*pod).cycle;
    Proposal proposal = cycle.propose(*pod, among);
    if (proposal.nodes.empty()) co_return std::move(proposal.decision);
    CO_TRY(const ExtenderAnswers answers, co_await extenders_.ask(pod, std::move(proposal.nodes)));
    co_return cycle.decide(*pod, among, answers);
}

PostFilter Scheduler::post_filter(const PodRef& pod, const Diagnosis& diagnosis) {
    if (!diagnosis.error.empty() || diagnosis.node_count == 0) return {};
    Cycle& cycle = *worker_of(*pod).cycle;
    return run_post_filters(cycle.calls(), pod, diagnosis, cycle);
}

/// There is no node for the pod at this time.
void Scheduler::refuse(const PodRef& pod, const Diagnosis& diagnosis, const PostFilter& helped, bool event_may_have_come) {
    SchedulerCounts& counts = worker_of(*pod).counts;
    if (!diagnosis.error.empty()) {
        ++counts.errors;
        report(pod, "SchedulerError", diagnosis.error);
        // It would come to the same again, at the same cost, as long as nothing changes.
        return queue_.retry_after_rejection(pod->uid, diagnosis.rejected_by, event_may_have_come);
    }
    ++counts.unschedulable;
    std::string message = diagnosis.text();
    std::optional<std::string> nominated_node;
    if (!helped.nominated_node.empty()) {
        nominated_node = helped.nominated_node;
        end_less_important_nominations(*pod, helped.nominated_node);
        nominate(pod, helped.nominated_node);
        ++counts.preemptions;
    } else {
        if (!helped.message.empty()) message += " " + helped.message;
        add_windows_reasons(*pod, diagnosis, message);
        if (helped.ends_nomination) {
            nominated_node = "";
            end_nomination(*pod);
        }
    }
    report(pod, "Unschedulable", message, nominated_node);
    queue_.retry_after_rejection(pod->uid, diagnosis.rejected_by, event_may_have_come);
}

/// After what upstream says, which programs read.
void Scheduler::add_windows_reasons(const PodInfo& pod, const Diagnosis& diagnosis, std::string& message) const {
    const auto object = pods_.find({pod.namespace_, pod.name});
    const std::string reasons = object ? windows_reasons(pod, *object, cluster_, diagnosis) : "";
    if (!reasons.empty()) message += (message.ends_with('.') ? " " : ". ") + reasons + ".";
}

/// They may not fit there any more, and look for another place.
void Scheduler::end_less_important_nominations(const PodInfo& pod, const std::string& node) {
    const auto nominated = cluster_.nominated(node);
    for (const PodRef& other : std::vector<PodRef>(nominated.begin(), nominated.end())) {
        if (other->priority >= pod.priority) continue;
        end_nomination(*other);
        patch_status(*other, Value::object({{"nominatedNodeName", nullptr}}));
    }
}

/// Counts the pod on its node, and binds it in the background.
void Scheduler::reserve(PodRef pod, std::string node) {
    end_nomination(*pod, &node);
    cluster_.assume(pod, node);
    const auto reserved = run_reserve(worker_of(*pod).cycle->calls(), *pod, node);
    if (!reserved) return give_up_node(pod, reserved.error());
    ++bindings_;
    scope_.spawn(bind(std::move(pod), std::move(node)));
}

Task<> Scheduler::bind(PodRef pod, std::string node) {
    bool is_counted = true;
    const auto discount = [&] {
        if (!std::exchange(is_counted, false)) return;
        --bindings_;
        wake_.set();
    };
    const TimerId patience = context_.loop.call_after(LongestBinding, discount);
    Worker& worker = worker_of(*pod);
    auto bound = co_await run_pre_bind(worker.cycle->calls(), pod, node);
    if (bound && extenders_.empty())
        bound = co_await post_binding(pod, node);
    else if (bound)
        bound = co_await bind_with_extenders(pod, node);
    context_.loop.cancel_timer(patience);
    discount();
    if (bound) {
        ++worker.counts.scheduled;
        queue_.remove(pod->uid);
        events_of(worker.name).normal(object_reference(*pod), "Scheduled", "Successfully assigned " + pod->key() + " to " + node);
        context_.log.debug("pod bound", {{"pod", pod->key()}, {"node", node}});
    } else if (!is_cancelled(bound)) {
        run_unreserve(worker.cycle->calls(), *pod, node);
        give_up_node(pod, bound.error());
    }
    co_return {};
}

Task<> Scheduler::bind_with_extenders(PodRef pod, std::string node) {
    CO_TRY(const bool is_bound, co_await extenders_.bind(pod, node));
    if (is_bound) co_return {};
    co_return co_await post_binding(std::move(pod), std::move(node));
}

Task<> Scheduler::post_binding(PodRef pod, std::string node) {
    const Value binding =
        Value::object({{"apiVersion", "v1"},
                       {"kind", "Binding"},
                       {"metadata", Value::object({{"name", pod->name}, {"namespace", pod->namespace_}, {"uid", pod->uid}})},
                       {"target", Value::object({{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}})}});
    const std::string path = client::Client::path(core::Pod::kind(), {pod->namespace_, pod->name}, "binding");
    auto posted = co_await context_.client.post(path, schema::to_json(binding));
    if (!posted) co_return std::move(posted).error().with_context("binding rejected");
    co_return {};
}

void Scheduler::give_up_node(const PodRef& pod, const Error& error) {
    // If the watch has shown the pod on a node meanwhile, it is no longer ours to retry.
    if (!cluster_.is_assumed(pod->uid)) return;
    cluster_.forget(pod->uid);
    happened({.kind = ClusterEvent::Kind::PodRemoved, .pod = pod.get()});
    queue_.retry_after_error(pod->uid);
    if (error.reason == Reason::NotFound) return;  // deleted; its watch event is on the way
    ++worker_of(*pod).counts.errors;
    context_.log.warn("binding failed", {{"pod", pod->key()}, {"error", error.message}});
    report(pod, "SchedulerError", error.message);
}

// ---- telling people

void Scheduler::report(const PodRef& pod, const std::string& reason, const std::string& message,
                       const std::optional<std::string>& nominated_node) {
    events_of(pod->scheduler_name).warning(object_reference(*pod), "FailedScheduling", note(message));
    const auto current = pods_.find({pod->namespace_, pod->name});
    if (!current || current->metadata.uid != pod->uid || says_the_same(*current, reason, message, nominated_node)) return;
    Value condition = pod_condition(current.get(), "PodScheduled", "False", reason, message, context_.loop.wall_now());
    Value status = Value::object({{"conditions", Value::array({std::move(condition)})}});
    if (nominated_node) status["nominatedNodeName"] = nominated_node->empty() ? Value() : Value(*nominated_node);
    patch_status(*pod, std::move(status));
}

void Scheduler::patch_status(const PodInfo& pod, Value status) {
    const NamespacedName key{pod.namespace_, pod.name};
    const Value patch = Value::object({{"metadata", Value::object({{"uid", pod.uid}})}, {"status", std::move(status)}});
    scope_.spawn([](client::Client& client, NamespacedName key, std::string body, Logger log) -> Task<> {
        const auto patched = co_await client.patch<core::Pod>(key, client::PatchType::StrategicMerge, std::move(body), "status");
        if (!patched && !is_cancelled(patched)) {
            log.debug("pod condition not written", {{"pod", key.text()}, {"error", patched.error().message}});
        }
        co_return {};
    }(context_.client, key, schema::to_json(patch), context_.log));
}

}  // namespace porthole::scheduler
