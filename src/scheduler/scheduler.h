#pragma once
#include <memory>
#include <string>

#include "client/events.h"
#include "client/informer.h"
#include "scheduler/preemption.h"
#include "scheduler/queue.h"

namespace porthole::api::policy::v1 {
struct PodDisruptionBudget;
}

namespace porthole::api::storage::v1 {
struct StorageClass;
}

namespace porthole::scheduler {

/// What the scheduler runs on. All outlive it and live on `loop`.
struct SchedulerContext {
    EventLoop& loop;
    client::Client& client;
    client::Informers& informers;
    client::EventRecorder& events;  ///< of component "default-scheduler"
    Random& random;
    Logger log;
};

struct SchedulerCounts {
    std::uint64_t scheduled = 0, unschedulable = 0, errors = 0, preemptions = 0;
};

/// The scheduler as a component: feeds queue and cluster from watches, decides one pod after the other, binds in the background.
///
/// A decision is counted in the cluster at once (assumed), so the next one need not wait for its binding to be written. A failed
/// binding takes the assumption back and the pod tries again after a back-off.
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
    void follow_volumes();
    void claim_seen(const api::core::v1::PersistentVolumeClaim& claim);
    std::vector<std::string> candidates_for(const api::core::v1::PersistentVolumeClaim& claim) const;
    /// Claims that look for a volume look again.
    void volumes_moved();
    void pod_seen(const api::core::v1::Pod& pod);
    void pod_placed(PodRef pod);
    void pod_pending(PodRef pod);
    void pod_gone(const std::string& uid);
    void happened(const ClusterEvent& event);

    Task<> work();
    void wake_at(MonotonicTime when);
    void schedule(PodRef pod);
    Task<> bind(PodRef pod, std::string node);
    Task<> post_binding(PodRef pod, std::string node);
    Task<> bind_claims(PodRef pod, std::string node);
    bool all_claims_bound(const PodInfo& pod) const;
    void give_up_node(const PodRef& pod, const Error& error);
    void report(const PodRef& pod, const std::string& reason, const std::string& message, const std::string& nominated_node);
    Task<> preempt(PodRef victim, PodRef preemptor, std::string node);
    api::core::v1::ObjectReference reference(const PodInfo& pod) const;

    SchedulerContext context_;
    std::string scheduler_name_;
    client::Informer<api::core::v1::Pod>& pods_;
    client::Informer<api::core::v1::Node>& nodes_;
    client::Informer<api::core::v1::Namespace>& namespaces_;
    client::Informer<api::policy::v1::PodDisruptionBudget>& budgets_;
    client::Informer<api::core::v1::PersistentVolumeClaim>& claims_;
    client::Informer<api::core::v1::PersistentVolume>& volumes_;
    client::Informer<api::storage::v1::StorageClass>& classes_;

    PluginList plugins_;
    Cluster cluster_;
    SchedulingQueue queue_;
    Cycle cycle_;
    Event wake_;
    Event volumes_changed_;
    std::optional<std::pair<MonotonicTime, TimerId>> timer_;
    std::size_t bindings_ = 0;  // under way
    SchedulerCounts counts_;
    Scope scope_;
};

}  // namespace porthole::scheduler
