#pragma once
#include <string>
#include <string_view>

#include "api/batch_v1.h"
#include "runtime/event_loop.h"

namespace porthole::controllers {

using api::batch::v1::Job;
using api::batch::v1::JobCondition;
using api::batch::v1::JobStatus;

/// The condition of that type that is True; nullptr if there is none.
const JobCondition* find_true(const JobStatus& status, std::string_view type);
/// Complete or Failed; nullptr while the job has not ended.
const JobCondition* find_end(const Job& job);
/// Sets the condition; its transition time changes only with its status. False if nothing has changed.
bool set_condition(JobStatus& status, JobCondition condition, SystemTime now);

}  // namespace porthole::controllers
