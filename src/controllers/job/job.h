#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/batch_v1.h"
#include "client/informers/controller.h"
#include "controllers/framework/context.h"
#include "controllers/framework/expectations.h"
#include "controllers/framework/pod_control.h"
#include "controllers/job/job_end.h"
#include "controllers/job/job_pods.h"

namespace porthole::controllers {

/// Runs the pods of Jobs until enough have succeeded or too many have failed.
class JobController final : public client::Controller {
public:
    static constexpr const char* Account = "job-controller";
    explicit JobController(Context& context);

private:
    using Pod = api::core::v1::Pod;
    using PodPointer = jobs::PodPointer;
    /// Failures in a row, and when the last one was: not by the wall clock, which may be set back.
    struct Failures {
        int count = 0;
        MonotonicTime last{};
    };

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    Task<client::Requeue> work_on(const Job& job, std::vector<PodPointer> pods);
    std::shared_ptr<const Job> owner_of_pod(const Pod& pod) const;
    void pod_changed(const Pod& pod);
    void pod_gone(const Pod& pod);

    Task<std::vector<PodPointer>> claim_pods(const Job& job);
    /// Records pods that have ended since; returns the job as stored.
    Task<Job> write_down(Job job, const jobs::Tally& tally);
    /// Removes finalizers; returns the status with the pods that lost their finalizer moved into the counters.
    Task<JobStatus> count_ended(const Job& job, const std::vector<PodPointer>& pods, const jobs::Tally& tally);
    Task<> release_pod(PodPointer pod);
    /// Removes the finalizer of pods whose job no longer exists, or that no longer belong to it: they are not counted.
    Task<> release_all(std::vector<PodPointer> pods);
    void note_failures(const client::NamespacedName& key, const jobs::Tally& tally);
    Duration backoff_left(const client::NamespacedName& key) const;

    /// Creates or deletes pods towards the wanted number. Returns how long to wait before creating more; zero for none.
    Task<Duration> adjust_pods(const Job& job, const std::vector<PodPointer>& pods, const jobs::Tally& tally);
    Task<> create_pods(const Job& job, std::vector<Pod> wanted);
    Task<> delete_pods(const Job& job, std::vector<PodPointer> pods, bool counted_no_more);
    Task<> delete_pod(const Job& job, PodPointer pod, bool counted_no_more);

    void settle_end(const Job& job, JobStatus& status, const jobs::End& end, bool all_ended);
    bool settle_suspension(const Job& job, JobStatus& status);
    Task<Job> write_status(const Job& job, JobStatus status);

    Context& context_;
    client::EventRecorder& events_;
    PodControl pod_control_;
    Expectations expectations_;
    client::Informer<Job>& jobs_;
    client::Informer<Pod>& pods_;
    PodOwnerIndex pods_by_owner_;
    PodIndex tracked_by_job_;  ///< pods with our finalizer by "namespace/name" of their job
    std::map<client::NamespacedName, Failures> failures_;
    OwnWrites written_;
    std::set<std::string> counted_;  ///< pods whose finalizer we have removed, until that is observed
};

}  // namespace porthole::controllers
