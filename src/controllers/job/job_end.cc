#include "controllers/job/job_end.h"

#include <algorithm>

#include "base/time/bounded_seconds.h"

namespace porthole::controllers::jobs {
namespace {

End failure(const char* reason, std::string message) { return {false, reason, std::move(message)}; }

/// How often the containers of running pods have been started again; in-place restarts use up the limit, too.
std::int32_t restarts_of(const std::vector<PodPointer>& pods) {
    std::int32_t restarts = 0;
    for (const PodPointer& pod : pods)
        for (const auto* statuses : {&pod->status.init_container_statuses, &pod->status.container_statuses})
            for (const auto& container : *statuses) restarts += container.restart_count;
    return restarts;
}

bool past_backoff_limit(const Job& job, const Tally& tally) {
    const std::int32_t limit = job.spec.backoff_limit.value_or(6);
    if (tally.failed > limit) return true;
    if (job.spec.template_.spec.restart_policy != "OnFailure") return false;
    const std::int32_t restarts = restarts_of(tally.active);
    return limit == 0 ? restarts > 0 : restarts >= limit;
}

std::optional<End> failed_indexes(const Job& job, const Tally& tally) {
    if (!job.spec.backoff_limit_per_index || tally.failed_indexes.empty()) return std::nullopt;
    if (job.spec.max_failed_indexes && tally.failed_indexes.size() > *job.spec.max_failed_indexes)
        return failure("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes");
    if (tally.succeeded + tally.failed_indexes.size() >= job.spec.completions.value_or(0))
        return failure("FailedIndexes", "Job has failed indexes");
    return std::nullopt;
}

std::optional<End> success_policy(const Job& job, const Tally& tally) {
    if (!job.spec.success_policy || !is_indexed(job)) return std::nullopt;
    const auto& rules = job.spec.success_policy->rules;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const IndexSet wanted = IndexSet::parse(rules[i].succeeded_indexes.value_or(""), job.spec.completions.value_or(0));
        const std::int32_t met =
            rules[i].succeeded_indexes ? tally.completed_indexes.size_of_common(wanted) : tally.completed_indexes.size();
        if (met >= rules[i].succeeded_count.value_or(wanted.size()))
            return End{true, "SuccessPolicy", "Matched rules at index " + std::to_string(i)};
    }
    return std::nullopt;
}

}  // namespace

std::optional<Duration> time_to_deadline(const Job& job, SystemTime now) {
    if (!job.spec.active_deadline_seconds || !job.status.start_time || job.spec.suspend.value_or(false)) return std::nullopt;
    return *job.status.start_time + bounded_seconds(*job.spec.active_deadline_seconds) - Timestamp(now);
}

std::optional<End> decide_end(const Job& job, const Tally& tally, SystemTime now) {
    if (const JobCondition* decided = find_true(job.status, "SuccessCriteriaMet")) return End{true, decided->reason, decided->message};
    if (const JobCondition* decided = find_true(job.status, "FailureTarget")) return End{false, decided->reason, decided->message};
    if (!tally.fatal.empty()) return failure("PodFailurePolicy", tally.fatal);
    if (past_backoff_limit(job, tally)) return failure("BackoffLimitExceeded", "Job has reached the specified backoff limit");
    const auto left = time_to_deadline(job, now);
    if (left && *left <= Duration::zero()) return failure("DeadlineExceeded", "Job was active longer than specified deadline");
    if (auto end = failed_indexes(job, tally)) return end;
    if (auto end = success_policy(job, tally)) return end;
    const bool reached = job.spec.completions ? tally.succeeded >= *job.spec.completions : tally.succeeded > 0;
    if (reached && tally.active.empty()) return End{true, "CompletionsReached", "Reached expected number of succeeded pods"};
    return std::nullopt;
}

}  // namespace porthole::controllers::jobs
