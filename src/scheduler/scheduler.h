#pragma once
#include <memory>
#include <string>

#include "scheduler/cycle.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/queue.h"

namespace porthole::scheduler {

/// Counted since the scheduler was made; never falls.
/// Counted since the scheduler was made; never falls.
struct SchedulerCounts {
    std::uint64_t scheduled = 0, unschedulable = 0, errors = 0, preemptions = 0;
};

/// The scheduler as a component: feeds queue and cluster from watches, decides one pod after the other, binds in the background.
///
/// A decision is counted in the cluster immediately (assumed), so the next one need not wait for its binding to be written. A failed
/// binding reverts the assumption and the pod is tried again after a back-off. Its handlers stay subscribed: the informers must have
/// stopped before it is destroyed.
class Scheduler {
public:
    explicit Scheduler(SchedulerContext context, std::string scheduler_name = "default-scheduler");
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;

    /// Waits for the first lists, then schedules until cancelled.
    Task<> run();

    const std::string& name() const { return scheduler_name_; }
    const SchedulerCounts& counts() const { return counts_; }
    SchedulingQueue::Sizes queue_sizes() const { return queue_.sizes(); }

private:
    void follow_pods();
    void follow_nodes();
    void follow_namespaces();
    void pod_seen(const api::core::v1::Pod& pod);
    void pod_placed(PodRef pod);
    void pod_pending(PodRef pod);
    void pod_gone(const std::string& uid);
    void happened(const ClusterEvent& event);

    Task<> work();
    void wake_at(MonotonicTime when);
    void schedule(PodRef pod);
    void add_windows_reasons(const PodInfo& pod, const Diagnosis& diagnosis, std::string& message) const;
    void reserve(PodRef pod, std::string node);
    Task<> bind(PodRef pod, std::string node);
    Task<> post_binding(PodRef pod, std::string node);
    void give_up_node(const PodRef& pod, const Error& error);
    void report(const PodRef& pod, const std::string& reason, const std::string& message, const std::string& nominated_node);

    SchedulerContext context_;
    std::string scheduler_name_;
    client::Informer<api::core::v1::Pod>& pods_;
    client::Informer<api::core::v1::Node>& nodes_;
    client::Informer<api::core::v1::Namespace>& namespaces_;

    Cluster cluster_;
    PluginList plugins_;
    SchedulingQueue queue_;
    Cycle cycle_;
    Event wake_;
    std::optional<std::pair<MonotonicTime, TimerId>> timer_;
    std::size_t bindings_ = 0;  // in progress
    SchedulerCounts counts_;
    Scope scope_;
};

}  // namespace porthole::scheduler
