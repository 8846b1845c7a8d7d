#include "controllers/job/job_pods.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_set>

#include "objects/owners.h"
#include "objects/pods.h"

namespace porthole::controllers::jobs {
namespace {

std::optional<std::int32_t> number_in(const std::map<std::string, std::string>& texts, const char* key) {
    const auto found = texts.find(key);
    if (found == texts.end()) return std::nullopt;
    const std::string& text = found->second;
    std::int32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

/// It will not run again, as far as the job is concerned.
bool has_failed(const Job& job, const Pod& pod) {
    if (pod.status.phase == "Failed") return true;
    return !replaces_only_ended(job) && objects::is_terminating(pod) && pod.status.phase != "Succeeded";
}

}  // namespace

std::optional<std::int32_t> index_of(const Job& job, const Pod& pod) {
    const auto index = number_in(pod.metadata.annotations, IndexKey);
    if (!index || *index < 0 || *index >= job.spec.completions.value_or(0)) return std::nullopt;
    return index;
}

SystemTime end_time(const Pod& pod, SystemTime now) {
    Timestamp latest;
    for (const auto& container : pod.status.container_statuses)
        if (container.state.terminated) latest = std::max(latest, container.state.terminated->finished_at);
    if (latest.is_zero() && pod.metadata.deletion_timestamp) latest = *pod.metadata.deletion_timestamp;
    return latest.is_zero() ? now : std::min(latest.to_system_time(), now);
}

std::map<std::int32_t, std::int32_t> failures_by_index(const Job& job, const std::vector<PodPointer>& pods) {
    std::map<std::int32_t, std::int32_t> failures;
    for (const PodPointer& pod : pods) {
        const auto index = index_of(job, *pod);
        if (!index || !has_failed(job, *pod)) continue;
        const bool ignored = judge_failure(job.spec, *pod).action == FailureVerdict::Action::Ignore;
        std::int32_t& most = failures[*index];
        most = std::max(most, number_in(pod->metadata.annotations, IndexFailures).value_or(0) + (ignored ? 0 : 1));
    }
    return failures;
}

Tally::Tally(const Job& job, const std::vector<PodPointer>& pods, const std::set<std::string>& counted) {
    const std::int32_t completions = job.spec.completions.value_or(0);
    const auto uncounted = job.status.uncounted_terminated_pods.value_or(api::batch::v1::UncountedTerminatedPods{});
    completed_indexes = IndexSet::parse(job.status.completed_indexes, completions);
    failed_indexes = IndexSet::parse(job.status.failed_indexes.value_or(""), completions);
    failed = job.status.failed + static_cast<std::int32_t>(uncounted.failed.size());
    succeeded = job.status.succeeded + static_cast<std::int32_t>(uncounted.succeeded.size());
    std::unordered_set<std::string_view> written(uncounted.failed.begin(), uncounted.failed.end());  // there may be thousands
    written.insert(uncounted.succeeded.begin(), uncounted.succeeded.end());
    for (const PodPointer& pod : pods) {
        if (objects::is_active(*pod)) {
            active.push_back(pod);
            if (objects::is_ready(*pod)) ++ready;
            continue;
        }
        if (objects::is_terminating(*pod) && !objects::is_terminal(*pod)) ++terminating;
        const bool tracked = objects::has_finalizer(pod->metadata, TrackingFinalizer) && !counted.contains(pod->metadata.uid);
        const bool success = pod->status.phase == "Succeeded";
        if (!tracked || (!success && !has_failed(job, *pod))) continue;
        ended.push_back(pod);
        if (written.contains(pod->metadata.uid)) continue;
        if (!success) {
            add_failure(job, pod);
        } else if (!is_indexed(job)) {
            newly_succeeded.push_back(pod);
            ++succeeded;
        } else if (const auto index = index_of(job, *pod); index && !completed_indexes.contains(*index)) {
            newly_succeeded.push_back(pod);
            completed_indexes.insert(*index);
        }
    }
    if (is_indexed(job)) succeeded = completed_indexes.size();
}

void Tally::add_failure(const Job& job, const PodPointer& pod) {
    const FailureVerdict verdict = judge_failure(job.spec, *pod);
    if (verdict.action == FailureVerdict::Action::Ignore) return;
    if (verdict.action == FailureVerdict::Action::FailJob && fatal.empty()) fatal = verdict.message;
    newly_failed.push_back(pod);
    ++failed;
    if (!job.spec.backoff_limit_per_index) return;
    const auto index = index_of(job, *pod);
    if (!index || completed_indexes.contains(*index)) return;
    const std::int32_t failures = number_in(pod->metadata.annotations, IndexFailures).value_or(0) + 1;
    if (verdict.action == FailureVerdict::Action::FailIndex || failures > *job.spec.backoff_limit_per_index) failed_indexes.insert(*index);
}

void Tally::write_down(const Job& job, JobStatus& status) const {
    auto uncounted = status.uncounted_terminated_pods.value_or(api::batch::v1::UncountedTerminatedPods{});
    for (const PodPointer& pod : newly_failed) uncounted.failed.push_back(pod->metadata.uid);
    if (is_indexed(job))
        status.completed_indexes = completed_indexes.to_string();
    else
        for (const PodPointer& pod : newly_succeeded) uncounted.succeeded.push_back(pod->metadata.uid);
    if (job.spec.backoff_limit_per_index) status.failed_indexes = failed_indexes.to_string();
    status.uncounted_terminated_pods = std::move(uncounted);
}

}  // namespace porthole::controllers::jobs
