#include "controllers/job/job_pods.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/time/bounded_seconds.h"
#include "objects/conditions.h"
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

/// When the pod ended, as far as its status tells; zero if it does not.
Timestamp latest_end(const Pod& pod) {
    Timestamp latest;
    bool all_ended = !pod.status.container_statuses.empty();
    for (const auto& container : pod.status.container_statuses) {
        const auto& ended = container.state.terminated;
        all_ended = all_ended && ended && !ended->finished_at.is_zero();
        if (ended) latest = std::max(latest, ended->finished_at);
    }
    if (all_ended) return latest;
    const auto* ready = objects::find_condition(pod.status.conditions, "Ready");
    if (ready && ready->status == "False" && !ready->last_transition_time.is_zero()) return ready->last_transition_time;
    if (pod.metadata.deletion_timestamp)
        return *pod.metadata.deletion_timestamp + -bounded_seconds(pod.metadata.deletion_grace_period_seconds.value_or(0));
    return pod.metadata.creation_timestamp;
}

IndexFailureCount failures_before(const Pod& pod) {
    return {number_in(pod.metadata.annotations, IndexFailures).value_or(0),
            number_in(pod.metadata.annotations, IgnoredIndexFailures).value_or(0)};
}

}  // namespace

std::optional<std::int32_t> index_of(const Job& job, const Pod& pod) {
    const auto index = number_in(pod.metadata.annotations, IndexKey);
    if (!index || *index < 0 || *index >= job.spec.completions.value_or(0)) return std::nullopt;
    return index;
}

SystemTime end_time(const Pod& pod, SystemTime now) {
    const Timestamp latest = latest_end(pod);
    return latest.is_zero() ? now : std::min(latest.to_system_time(), now);
}

IndexFailureCount failures_with(const Job& job, const Pod& failed) {
    IndexFailureCount count = failures_before(failed);
    const bool ignored = judge_failure(job.spec, failed).action == FailureVerdict::Action::Ignore;
    ++(ignored ? count.ignored : count.counted);
    return count;
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
    if (job.spec.backoff_limit_per_index) hold(job, written);
}

void Tally::hold(const Job& job, const std::unordered_set<std::string_view>& written) {
    IndexSet busy;
    for (const PodPointer& pod : active)
        if (const auto index = index_of(job, *pod)) busy.insert(*index);
    for (const PodPointer& pod : ended) {
        const auto index = index_of(job, *pod);
        if (!index || pod->status.phase == "Succeeded" || written.contains(pod->metadata.uid)) continue;
        if (busy.contains(*index) || completed_indexes.contains(*index) || failed_indexes.contains(*index)) continue;
        PodPointer& last = held[*index];
        const auto rank = [](const Pod& pod) { return std::pair(failures_before(pod).all(), latest_end(pod)); };
        if (!last || rank(*last) <= rank(*pod)) last = pod;
    }
    const auto is_held = [&](const PodPointer& pod) {
        const auto index = index_of(job, *pod);
        const auto found = index ? held.find(*index) : held.end();
        return found != held.end() && found->second == pod;
    };
    std::erase_if(ended, is_held);
    std::erase_if(newly_failed, is_held);
}

void Tally::let_go_of_held(const Job& job) {
    for (const auto& [index, pod] : held) {
        ended.push_back(pod);
        if (judge_failure(job.spec, *pod).action != FailureVerdict::Action::Ignore) newly_failed.push_back(pod);
    }
    held.clear();
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
