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
/// nullopt while the job goes on. What has been decided once (FailureTarget, SuccessCriteriaMet) stays decided.
std::optional<End> decide_end(const Job& job, const Tally& tally, SystemTime now);
/// Until spec.activeDeadlineSeconds; nullopt where there is none or the job does not run.
std::optional<Duration> time_to_deadline(const Job& job, SystemTime now);

}  // namespace porthole::controllers::jobs
