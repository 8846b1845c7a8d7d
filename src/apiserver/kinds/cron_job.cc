#include <algorithm>

#include "api/batch_v1.h"
#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/workload.h"

namespace porthole::apiserver {

void validate_job_spec(const api::batch::v1::JobSpec& spec, const FieldPath& path, FieldErrors& errors);

namespace {

using api::batch::v1::CronJob;
constexpr std::size_t NameLimit = 52;

void set_defaults(CronJob& object) {
    auto& spec = object.spec;
    if (spec.concurrency_policy.empty()) spec.concurrency_policy = "Allow";
    if (!spec.suspend) spec.suspend = false;
    if (!spec.successful_jobs_history_limit) spec.successful_jobs_history_limit = 3;
    if (!spec.failed_jobs_history_limit) spec.failed_jobs_history_limit = 1;
    default_pod_spec(spec.job_template.spec.template_.spec);
}

std::size_t count_words(std::string_view text) {
    std::size_t words = 0;
    bool inside = false;
    for (const char c : text) {
        const bool blank = c == ' ' || c == '\t';
        if (!blank && !inside) ++words;
        inside = !blank;
    }
    return words;
}

void validate_schedule(const CronJob& object, const FieldPath& path, FieldErrors& errors) {
    const std::string& schedule = object.spec.schedule;
    if (schedule.empty()) return errors.required(path);
    if (schedule.contains("TZ")) return errors.invalid(path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    if (schedule.starts_with('@')) {
        const bool known = is_one_of(schedule, {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}) ||
                           (schedule.starts_with("@every ") && parse_duration(schedule.substr(7)));
        if (!known) errors.invalid(path, schedule, "unrecognized descriptor: " + schedule);
        return;
    }
    if (const std::size_t words = count_words(schedule); words != 5) {
        return errors.invalid(path, schedule,
                              "expected exactly 5 fields, found " + std::to_string(words) + ": [" + schedule + "]");
    }
    constexpr std::string_view Allowed = "0123456789*/,-?LW# \tabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (schedule.find_first_not_of(Allowed) != std::string::npos) errors.invalid(path, schedule, "failed to parse schedule");
}

void validate_common(const CronJob& object, FieldErrors& errors) {
    const FieldPath path = "spec";
    const auto& spec = object.spec;
    validate_schedule(object, path / "schedule", errors);
    if (spec.starting_deadline_seconds) check_not_negative(*spec.starting_deadline_seconds, path / "startingDeadlineSeconds", errors);
    if (spec.time_zone) {
        if (spec.time_zone->empty()) errors.invalid(path / "timeZone", *spec.time_zone, "timeZone must be nil or non-empty string");
        else if (*spec.time_zone == "Local") {
            errors.invalid(path / "timeZone", *spec.time_zone,
                           "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones");
        }
    }
    if (spec.concurrency_policy.empty()) errors.required(path / "concurrencyPolicy");
    else if (!is_one_of(spec.concurrency_policy, {"Allow", "Forbid", "Replace"}))
        errors.not_supported(path / "concurrencyPolicy", spec.concurrency_policy, {"Allow", "Forbid", "Replace"});
    if (spec.successful_jobs_history_limit) check_not_negative(*spec.successful_jobs_history_limit, path / "successfulJobsHistoryLimit", errors);
    if (spec.failed_jobs_history_limit) check_not_negative(*spec.failed_jobs_history_limit, path / "failedJobsHistoryLimit", errors);
    const FieldPath job = path / "jobTemplate" / "spec";
    validate_job_spec(spec.job_template.spec, job, errors);
    if (spec.job_template.spec.selector) errors.invalid(job / "selector", "", "`selector` will be auto-generated");
    if (spec.job_template.spec.manual_selector.value_or(false)) errors.not_supported(job / "manualSelector", true, {"nil", "false"});
}

void validate(const CronJob& object, FieldErrors& errors) {
    validate_common(object, errors);
    if (object.metadata.name.size() > NameLimit) errors.invalid("metadata.name", object.metadata.name, "must be no more than 52 bytes");
}

void validate_update(const CronJob& object, const CronJob&, FieldErrors& errors) { validate_common(object, errors); }

}  // namespace

KindRules cron_job_rules() {
    KindRules rules = rules_for<CronJob>({.set_defaults = set_defaults, .validate = validate, .validate_update = validate_update});
    rules.generation = Generation::OnSpecChange;
    return rules;
}

}  // namespace porthole::apiserver
