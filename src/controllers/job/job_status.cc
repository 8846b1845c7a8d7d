#include "controllers/job/job_status.h"

#include "objects/conditions.h"

#include <algorithm>

namespace porthole::controllers {

const JobCondition* find_true(const JobStatus& status, std::string_view type) {
    const JobCondition* condition = objects::find_condition(status.conditions, type);
    return condition && condition->status == "True" ? condition : nullptr;
}

const JobCondition* find_end(const Job& job) {
    const JobCondition* complete = find_true(job.status, "Complete");
    return complete ? complete : find_true(job.status, "Failed");
}

bool set_condition(JobStatus& status, JobCondition condition, SystemTime now) {
    condition.last_probe_time = Timestamp(now);
    return objects::set_condition(status.conditions, std::move(condition), Timestamp(now));
}

}  // namespace porthole::controllers
