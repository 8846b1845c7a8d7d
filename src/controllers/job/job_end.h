#pragma once
#include <optional>
#include <string>

#include "controllers/job/job_pods.h"

namespace porthole::controllers::jobs {

/// How a job ends.
struct End {
    bool success = false;
    std::string reason, message;
};
/// nullopt while the job continues. A decision that the job's status records (FailureTarget, SuccessCriteriaMet) does not change.
std::optional<End> decide_end(const Job& job, const Tally& tally, SystemTime now);
/// Time until spec.activeDeadlineSeconds; nullopt without a deadline, or if the job does not run.
std::optional<Duration> time_to_deadline(const Job& job, SystemTime now);

}  // namespace porthole::controllers::jobs
