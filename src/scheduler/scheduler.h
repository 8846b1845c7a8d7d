#pragma once
#include <memory>
#include <optional>
#include <string>

#include "scheduler/cycle.h"
#include "scheduler/extenders/extenders.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/queue.h"
#include "schema/value.h"

namespace porthole::scheduler {

/// Counted since the scheduler was made; never falls.
struct SchedulerCounts {
    std::uint64_t scheduled = 0, unschedulable = 0, errors = 0, preemptions = 0;
};

/// The scheduler as a component, with the profiles of its configuration: feeds queue and cluster from watches, decides one pod after the
/// other, binds in the background.
///
/// A decision is counted in the cluster immediately (assumed), so the next one need not wait for its binding to be written. A failed
/// binding reverts the assumption and the pod is tried again after a back-off. Its handlers stay subscribed: the informers must have
/// stopped before it is destroyed.
class Scheduler {
public:
    /// Requires that the configuration has at most MostProfiles, and `make_transport` if it has extenders.
    explicit Scheduler(SchedulerContext context, Configuration configuration = {}, const Extenders::MakeTransport& make_transport = {});
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;

    /// Waits for the first lists, then schedules until cancelled.
    Task<> run();

    struct Profile {
        std::string name;
        SchedulerCounts counts;
    };
    /// Of each profile, in their order.
    std::vector<Profile> profiles() const;
    /// Of all profiles.
    SchedulerCounts counts() const;
    SchedulingQueue::Sizes queue_sizes() const { return queue_.sizes(); }
    /// Those of all profiles.
    const PluginList& plugins() const { return configured_.plugins; }

private:
    /// A profile at work.
    struct Worker {
        std::string name;
        std::unique_ptr<client::EventRecorder> own_events;  ///< null: those of the context
        std::unique_ptr<Cycle> cycle;
        SchedulerCounts counts;
    };
    std::vector<Worker> make_workers();
    /// nullptr: pods with that scheduler name are not ours.
    Worker* find_worker(std::string_view scheduler_name);
    /// Requires: the pod is one of ours.
    Worker& worker_of(const PodInfo& pod) { return *find_worker(pod.scheduler_name); }
    client::EventRecorder& events_of(const std::string& scheduler_name);

    void follow_pods();
    void follow_nodes();
    void follow_namespaces();
    /// `before`: null if it is new.
    void pod_seen(const api::core::v1::Pod& pod, const api::core::v1::Pod* before);
    void pod_placed(PodRef pod);
    void pod_pending(PodRef pod, bool was_nominated);
    void pod_gone(const PodInfo& pod);
    void nominate(PodRef pod, const std::string& node);
    void end_nomination(const PodInfo& pod, const std::string* unless_for = nullptr);
    void happened(const ClusterEvent& event);

    Task<> work();
    void wake_at(MonotonicTime when);
    void schedule(PodRef pod);
    Task<> schedule_with_extenders(PodRef pod);
    Task<Decision> decide_with_extenders(PodRef pod, Cycle::Among among);
    PostFilter post_filter(const PodRef& pod, const Diagnosis& diagnosis);
    void refuse(const PodRef& pod, const Diagnosis& diagnosis, const PostFilter& helped, bool event_may_have_come = false);
    void add_windows_reasons(const PodInfo& pod, const Diagnosis& diagnosis, std::string& message) const;
    void reserve(PodRef pod, std::string node);
    Task<> bind(PodRef pod, std::string node);
    Task<> bind_with_extenders(PodRef pod, std::string node);
    Task<> post_binding(PodRef pod, std::string node);
    void give_up_node(const PodRef& pod, const Error& error);
    void end_less_important_nominations(const PodInfo& pod, const std::string& node);
    /// `nominated_node`: for the status; "" takes away what it says, nullopt leaves it.
    void report(const PodRef& pod, const std::string& reason, const std::string& message,
                const std::optional<std::string>& nominated_node = std::nullopt);
    void patch_status(const PodInfo& pod, schema::Value status);

    SchedulerContext context_;
    const Configuration configuration_;
    client::Informer<api::core::v1::Pod>& pods_;
    client::Informer<api::core::v1::Node>& nodes_;
    client::Informer<api::core::v1::Namespace>& namespaces_;

    Cluster cluster_;
    Extenders extenders_;
    ConfiguredPlugins configured_;
    SchedulingQueue queue_;
    std::vector<Worker> workers_;  ///< one for each profile
    Event wake_;
    std::optional<std::pair<MonotonicTime, TimerId>> timer_;
    std::size_t bindings_ = 0;      // in progress
    std::uint64_t happenings_ = 0;  // events so far
    Scope scope_;
};

}  // namespace porthole::scheduler
