#include <algorithm>

#include "api/batch_v1.h"
#include "apiserver/kinds/batch/job.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/kinds/core/workload.h"
#include "apiserver/kinds/kinds.h"
#include "base/time/cron_schedule.h"
#include "schema/convert.h"

namespace porthole::apiserver {
namespace {

using api::batch::v1::CronJob;
using api::batch::v1::CronJobSpec;

/// A job's name is this one's and a number of up to 11 characters.
constexpr std::size_t NameLimit = 52;

/// The job's own defaults are for the jobs that are made from it.
void set_defaults(CronJob& object) {
    CronJobSpec& spec = object.spec;
    if (spec.concurrency_policy.empty()) spec.concurrency_policy = "Allow";
    if (!spec.suspend) spec.suspend = false;
    if (!spec.successful_jobs_history_limit) spec.successful_jobs_history_limit = 3;
    if (!spec.failed_jobs_history_limit) spec.failed_jobs_history_limit = 1;
    default_pod_spec(spec.job_template.spec.template_.spec);
}

void validate_schedule(const CronJobSpec& spec, const FieldPath& path, FieldErrors& errors) {
    if (spec.schedule.empty()) return errors.required(path);
    if (spec.schedule.contains("TZ"))
        return errors.invalid(path, spec.schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    if (const auto parsed = CronSchedule::parse(spec.schedule); !parsed) errors.invalid(path, spec.schedule, parsed.error().message);
}

bool is_zone_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("/_+-").contains(c);
}

void validate_time_zone(const std::string& zone, const FieldPath& path, FieldErrors& errors) {
    if (zone.empty()) return errors.invalid(path, zone, "timeZone must be nil or non-empty string");
    if (zone == "Local")
        return errors.invalid(path, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
    const bool letter = (zone[0] >= 'A' && zone[0] <= 'Z') || (zone[0] >= 'a' && zone[0] <= 'z');
    if (!letter || !std::ranges::all_of(zone, is_zone_character)) errors.invalid(path, zone, "unknown time zone " + zone);
}

void validate_spec(const CronJobSpec& spec, FieldErrors& errors) {
    const FieldPath path = "spec";
    validate_schedule(spec, path / "schedule", errors);
    check_not_negative(spec.starting_deadline_seconds, path / "startingDeadlineSeconds", errors);
    if (spec.time_zone) validate_time_zone(*spec.time_zone, path / "timeZone", errors);
    check_required_choice(spec.concurrency_policy, {"Allow", "Forbid", "Replace"}, path / "concurrencyPolicy", errors);
    const FieldPath job = path / "jobTemplate" / "spec";
    validate_job_spec(spec.job_template.spec, job, errors);
    if (const auto& selector = spec.job_template.spec.selector)
        errors.invalid(job / "selector", schema::to_value(*selector), "`selector` will be auto-generated");
    if (spec.job_template.spec.manual_selector.value_or(false)) errors.not_supported(job / "manualSelector", true, {"nil", "false"});
    check_not_negative(spec.successful_jobs_history_limit, path / "successfulJobsHistoryLimit", errors);
    check_not_negative(spec.failed_jobs_history_limit, path / "failedJobsHistoryLimit", errors);
}

void validate(const CronJob& object, FieldErrors& errors) {
    validate_spec(object.spec, errors);
    if (object.metadata.name.size() > NameLimit) errors.invalid("metadata.name", object.metadata.name, "must be no more than 52 bytes");
}

void validate_update(const CronJob& object, const CronJob&, FieldErrors& errors) { validate_spec(object.spec, errors); }

void warn(const CronJob& object, const CronJob* old, std::vector<std::string>& warnings) {
    if (!old) warn_of_name(object.metadata.name, "Pod names and hostnames", warnings);
    if (old && object.metadata.generation == old->metadata.generation) return;
    const PodTemplateSpec& pod = object.spec.job_template.spec.template_;
    warn_of_pod(pod.metadata, pod.spec, "spec.jobTemplate.spec.template", warnings);
}

}  // namespace

Strategy cron_job_strategy() {
    Strategy strategy =
        strategy_for<CronJob>({.set_defaults = set_defaults, .validate = validate, .validate_update = validate_update, .warn = warn});
    strategy.generation = Generation::OnSpecChange;
    return strategy;
}

}  // namespace porthole::apiserver
