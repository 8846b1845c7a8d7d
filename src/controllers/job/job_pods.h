#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "controllers/job/failure_policy.h"
#include "controllers/job/index_set.h"
#include "controllers/job/job_status.h"

namespace porthole::controllers::jobs {

using api::core::v1::Pod;
using PodPointer = std::shared_ptr<const Pod>;

inline constexpr const char* TrackingFinalizer = "batch.kubernetes.io/job-tracking";
inline constexpr const char* IndexKey = "batch.kubernetes.io/job-completion-index";  ///< annotation and label
inline constexpr const char* IndexFailures = "batch.kubernetes.io/job-index-failure-count";
inline constexpr const char* IgnoredIndexFailures = "batch.kubernetes.io/job-index-ignored-failure-count";

inline bool is_indexed(const Job& job) { return job.spec.completion_mode.value_or("") == "Indexed"; }
/// A pod that is being deleted counts against new ones until it has really ended.
inline bool replaces_only_ended(const Job& job) { return job.spec.pod_replacement_policy.value_or("") == "Failed"; }
/// The pod's completion index; nullopt if it has none or one that the job does not have.
std::optional<std::int32_t> index_of(const Job& job, const Pod& pod);
/// When the pod's last container ended, or the best estimate.
SystemTime end_time(const Pod& pod, SystemTime now);
/// How often the pods of an index have failed, from the annotations of the last one.
struct IndexFailureCount {
    std::int32_t counted = 0, ignored = 0;  ///< ignored by spec.podFailurePolicy
    std::int32_t all() const { return counted + ignored; }
};
/// With the failure of `failed`, the index's last pod.
IndexFailureCount failures_with(const Job& job, const Pod& failed);

/// A job's pods by their state, and the resulting state of the job.
///
/// A pod is counted exactly once: while it has the tracking finalizer it cannot be removed; its end is first recorded in
/// status.uncountedTerminatedPods (or completedIndexes), then the finalizer is removed, then it moves into the counters.
struct Tally {
    /// `counted` are the uids of pods whose finalizer was removed, although the cache may still show it.
    Tally(const Job& job, const std::vector<PodPointer>& pods, const std::set<std::string>& counted);

    std::vector<PodPointer> active;                         ///< neither ended nor being deleted
    std::vector<PodPointer> newly_succeeded, newly_failed;  ///< ended, and in neither list of the status
    std::vector<PodPointer> ended;                          ///< all that have ended and have the finalizer still
    std::int32_t ready = 0, terminating = 0;
    std::int32_t succeeded = 0, failed = 0;  ///< in all
    IndexSet completed_indexes, failed_indexes;
    std::string fatal;  ///< why the failure policy ends the job; "" if it does not
    /// With spec.backoffLimitPerIndex: the last failed pod of each index that is to get another. It keeps its finalizer until then, as
    /// nothing else knows how often the index has failed. Part of `failed`, and of neither `newly_failed` nor `ended`.
    std::map<std::int32_t, PodPointer> held;

    /// Releases the held pods, once no index will get another one: the job ends or is deleted.
    void let_go_of_held(const Job& job);

    /// Records in the status what has to be stored before a finalizer may be removed.
    void write_down(const Job& job, JobStatus& status) const;

private:
    void add_failure(const Job& job, const PodPointer& pod);
    /// `written`: uids of pods whose end the status has already.
    void hold(const Job& job, const std::unordered_set<std::string_view>& written);
};

}  // namespace porthole::controllers::jobs
