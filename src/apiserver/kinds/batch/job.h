#pragma once
#include "api/batch_v1.h"
#include "apiserver/validation/field_errors.h"

namespace porthole::apiserver {

/// Rules for jobs and for the templates of CronJobs: all except those for selector and name.
void validate_job_spec(const api::batch::v1::JobSpec& spec, const FieldPath& path, FieldErrors& errors);
/// podFailurePolicy and successPolicy of a job.
void validate_job_policies(const api::batch::v1::JobSpec& spec, const FieldPath& path, FieldErrors& errors);

}  // namespace porthole::apiserver
