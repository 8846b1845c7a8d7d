#include "controllers/job/job_status.h"

#include <algorithm>

namespace porthole::controllers {

const JobCondition* find_true(const JobStatus& status, std::string_view type) {
    for (const JobCondition& condition : status.conditions)
        if (condition.type == type && condition.status == "True") return &condition;
    return nullptr;
}

const JobCondition* find_end(const Job& job) {
    const JobCondition* complete = find_true(job.status, "Complete");
    return complete ? complete : find_true(job.status, "Failed");
}

bool set_condition(JobStatus& status, JobCondition condition, SystemTime now) {
    const auto found = std::ranges::find(status.conditions, condition.type, &JobCondition::type);
    const bool known = found != status.conditions.end();
    if (known && found->status == condition.status && found->reason == condition.reason && found->message == condition.message)
        return false;
    const bool same = known && found->status == condition.status;
    condition.last_transition_time = same ? found->last_transition_time : Timestamp(now);
    condition.last_probe_time = Timestamp(now);
    if (known)
        *found = std::move(condition);
    else
        status.conditions.push_back(std::move(condition));
    return true;
}

}  // namespace porthole::controllers
