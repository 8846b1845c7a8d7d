#include "controllers/cron_job/cron_job.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/result.h"
#include "base/time/bounded_seconds.h"
#include "controllers/framework/owner.h"
#include "controllers/framework/pod_control.h"
#include "controllers/job/job_status.h"
#include "objects/owners.h"

namespace porthole::controllers {

using api::batch::v1::CronJob;
using api::core::v1::ObjectReference;
using client::NamespacedName;
using client::Requeue;
using Seconds = CronSchedule::Seconds;
using namespace std::chrono_literals;

namespace {

constexpr const char* ScheduledAt = "batch.kubernetes.io/cronjob-scheduled-timestamp";
constexpr Duration Slack = 100ms;  ///< so that a timer that fires a little early finds the moment passed

/// RFC 3339 with the place's own offset: "2024-05-01T10:00:00+02:00".
std::string local_text(Seconds time, std::chrono::seconds offset) {
    std::string text = Timestamp(time + offset).to_string();
    if (offset == 0s) return text;
    const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(abs(offset)).count();
    text.pop_back();  // 'Z'
    return text + fmt::format("{}{:02}:{:02}", offset < 0s ? '-' : '+', minutes / 60, minutes % 60);
}

bool is_active(const CronJob& cron, const std::string& uid) {
    return std::ranges::find(cron.status.active, uid, &ObjectReference::uid) != cron.status.active.end();
}

std::optional<Seconds> last_in(const LocalSchedule& schedule, Seconds after, Seconds now) {
    std::optional<Seconds> latest;
    for (auto next = schedule.next(after); next && *next <= now; next = schedule.next(*next)) latest = next;
    return latest;
}

/// Until then nothing would start. If the object itself is of the future, it is our clock that is behind.
bool is_of_wrong_clock(const CronJob& cron, Seconds now) {
    const auto last = cron.status.last_schedule_time;
    return last && last->to_system_time() > now + 24h && cron.metadata.creation_timestamp.to_system_time() <= now;
}

}  // namespace

CronJobController::CronJobController(Context& context)
    : Controller(context.loop, context.log, {.name = "cronjob-controller", .workers = 5}),
      context_(context),
      events_(context.events.get("cronjob-controller")),
      crons_(context.informers.get<CronJob>()),
      jobs_(context.informers.get<Job>()),
      jobs_by_owner_(jobs_) {
    reconcile_each(crons_);
    depends_on(jobs_).on_change([this](const Job& job) {
        const auto* owner = objects::find_controller(job.metadata);
        if (owner && owner->kind == "CronJob") queue().add({job.metadata.namespace_, owner->name});
    });
}

Seconds CronJobController::now() const { return std::chrono::floor<std::chrono::seconds>(loop().wall_now()); }

Task<Requeue> CronJobController::reconcile(NamespacedName key) {
    const auto cached = crons_.find(key);
    if (!cached) {
        written_.forget(key);
        co_return Requeue::never();
    }
    if (written_.is_stale(*cached)) co_return Requeue::in(1s);
    CronJob cron = *cached;
    const Jobs jobs = jobs_by_owner_.dependents_of(cron.metadata);
    CO_TRY_VOID(co_await follow_jobs(cron, jobs));
    std::optional<Error> failure;
    Requeue again = Requeue::never();
    if (!cron.metadata.deletion_timestamp) {
        CO_TRY_VOID(co_await clean_history(cron, jobs));
        const auto schedule = cron.spec.suspend.value_or(false) ? std::nullopt : schedule_of(cron);
        if (schedule) {
            Result<void> started = co_await start_due(cron, *schedule);
            if (!started) failure = std::move(started).error();
            if (const auto next = schedule->next(now())) again = Requeue::in(*next - loop().wall_now() + Slack);
        }
    }
    if (cron.status != cached->status) {
        CO_TRY(const CronJob stored, co_await context_.client.update_status(cron));
        written_.note(stored);
    }
    if (failure) co_return std::move(*failure);
    co_return again;
}

Task<> CronJobController::follow_jobs(CronJob& cron, const Jobs& jobs) {
    for (const auto& job : jobs) {
        const auto* end = find_end(*job);
        const bool listed = is_active(cron, job->metadata.uid);
        if (!listed && !end)
            events_.warning(cron, "UnexpectedJob", "Saw a job that the controller did not create or forgot: " + job->metadata.name);
        if (!listed || !end) continue;
        std::erase_if(cron.status.active, [&](const ObjectReference& active) { return active.uid == job->metadata.uid; });
        events_.normal(cron, "SawCompletedJob", fmt::format("Saw completed job: {}, condition: {}", job->metadata.name, end->type));
    }
    for (const auto& job : jobs)
        if (job->status.completion_time && find_true(job->status, "Complete"))
            cron.status.last_successful_time =
                std::max(cron.status.last_successful_time.value_or(Timestamp()), *job->status.completion_time);
    for (const ObjectReference& active : std::vector(cron.status.active)) {
        if (const auto cached = jobs_.find({cron.metadata.namespace_, active.name}); cached && cached->metadata.uid == active.uid) continue;
        const auto live = co_await context_.client.get<Job>({cron.metadata.namespace_, active.name});
        if (!live && !is_not_found(live)) co_return live.error();
        if (live && live->metadata.uid == active.uid) continue;  // the cache lags
        events_.normal(cron, "MissingJob", "Active job went missing: " + active.name);
        std::erase_if(cron.status.active, [&](const ObjectReference& other) { return other.uid == active.uid; });
    }
    co_return {};
}

Task<> CronJobController::clean_history(const CronJob& cron, const Jobs& jobs) {
    const std::pair<const char*, std::optional<std::int32_t>> kinds[] = {{"Complete", cron.spec.successful_jobs_history_limit},
                                                                         {"Failed", cron.spec.failed_jobs_history_limit}};
    for (const auto& [type, limit] : kinds) {
        if (!limit) continue;
        Jobs ended = jobs;
        std::erase_if(ended, [&](const auto& job) { return job->metadata.deletion_timestamp || !find_true(job->status, type); });
        std::ranges::sort(ended, {}, [](const auto& job) {
            return std::pair(job->status.start_time.value_or(job->metadata.creation_timestamp), job->metadata.name);
        });
        for (std::size_t i = 0; i + static_cast<std::size_t>(std::max(0, *limit)) < ended.size(); ++i)
            CO_TRY_VOID(co_await remove_job(cron, client::key_of(*ended[i]), ended[i]->metadata.uid));
    }
    co_return {};
}

std::optional<LocalSchedule> CronJobController::schedule_of(const CronJob& cron) {
    auto schedule = CronSchedule::parse(cron.spec.schedule);
    if (!schedule) {
        events_.warning(cron, "UnparseableSchedule",
                        fmt::format("unparseable schedule: \"{}\" : {}", cron.spec.schedule, schedule.error().message));
        return std::nullopt;
    }
    LocalSchedule result{std::move(*schedule), {}};
    if (!cron.spec.time_zone || *cron.spec.time_zone == "UTC" || *cron.spec.time_zone == "Etc/UTC") return result;
    const auto& read = context_.settings.read_time_zone;
    const Result<std::string> file =
        read ? read(*cron.spec.time_zone) : Result<std::string>(Error(Reason::NotFound, "this server has no time zones"));
    auto zone = file ? TimeZone::parse(*file) : Result<TimeZone>(file.error());
    if (!zone) {
        events_.warning(cron, "UnknownTimeZone", fmt::format("invalid timeZone: \"{}\": {}", *cron.spec.time_zone, zone.error().message));
        return std::nullopt;
    }
    result.zone = std::move(*zone);
    return result;
}

Task<> CronJobController::start_due(CronJob& cron, const LocalSchedule& schedule) {
    if (is_of_wrong_clock(cron, now())) {
        events_.warning(cron, "ClockSkew", "The last schedule time is more than a day ahead, and is set to now");
        cron.status.last_schedule_time = Timestamp(now());
    }
    Timestamp since = cron.status.last_schedule_time.value_or(cron.metadata.creation_timestamp);
    if (const auto deadline = cron.spec.starting_deadline_seconds) since = std::max(since, Timestamp(now()) + -bounded_seconds(*deadline));
    const Missed missed = missed_times(schedule, Seconds(std::chrono::seconds(since.seconds())), now());
    if (!missed.latest) co_return {};
    if (missed.count >= Missed::TooMany)
        events_.warning(cron, "TooManyMissedTimes",
                        "too many missed start times: more than 100. Set or decrease .spec.startingDeadlineSeconds or check clock skew");
    if (cron.spec.concurrency_policy == "Forbid" && !cron.status.active.empty()) {
        events_.normal(cron, "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid");
        co_return {};
    }
    if (cron.spec.concurrency_policy == "Replace") CO_TRY_VOID(co_await stop_active(cron));
    CO_TRY(const Job job, co_await make_job(cron, schedule, *missed.latest));
    if (!find_end(job) && !is_active(cron, job.metadata.uid)) {
        ObjectReference reference = objects::object_reference(job);
        reference.field_path.clear();
        cron.status.active.push_back(std::move(reference));
    }
    cron.status.last_schedule_time = Timestamp(*missed.latest);
    co_return {};
}

Task<> CronJobController::stop_active(CronJob& cron) {
    for (const ObjectReference& active : std::vector(cron.status.active)) {
        CO_TRY_VOID(co_await remove_job(cron, {cron.metadata.namespace_, active.name}, active.uid));
        std::erase_if(cron.status.active, [&](const ObjectReference& other) { return other.uid == active.uid; });
    }
    co_return {};
}

/// The job's name says what moment it is for: who makes it twice finds it there.
Task<Job> CronJobController::make_job(const CronJob& cron, const LocalSchedule& schedule, Seconds time) {
    Job job;
    job.metadata.namespace_ = cron.metadata.namespace_;
    job.metadata.name = fmt::format("{}-{}", cron.metadata.name, time.time_since_epoch() / 1min);
    job.metadata.labels = cron.spec.job_template.metadata.labels;
    job.metadata.annotations = cron.spec.job_template.metadata.annotations;
    job.metadata.annotations[ScheduledAt] = local_text(time, schedule.offset_at(time));
    job.metadata.owner_references = {owner_of(cron).controller_reference()};
    job.spec = cron.spec.job_template.spec;
    const NamespacedName key = client::key_of(job);
    Result<Job> created = co_await context_.client.create(std::move(job));
    if (created) {
        events_.normal(cron, "SuccessfulCreate", "Created job " + key.name);
        co_return created;
    }
    if (created.error().reason == Reason::AlreadyExists) {
        CO_TRY(Job there, co_await context_.client.get<Job>(key));
        if (objects::is_controlled_by(there.metadata, cron.metadata.uid)) co_return std::move(there);
    }
    if (!is_cancelled(created) && !is_namespace_terminating(created.error()))
        events_.warning(cron, "FailedCreate", "Error creating job: " + created.error().message);
    co_return created;
}

Task<> CronJobController::remove_job(const CronJob& cron, NamespacedName key, std::string uid) {
    const auto removed = co_await context_.client.remove<Job>(key, {.uid = std::move(uid), .propagation_policy = "Background"});
    if (removed) {
        events_.normal(cron, "SuccessfulDelete", "Deleted job " + key.name);
    } else if (!is_not_found(removed)) {
        events_.warning(cron, "FailedDelete", "Deleted job: " + removed.error().message);
        co_return removed.error();
    }
    co_return {};
}

Result<ControllerPtr> make_cron_job(Context& context) { return make_controller<CronJobController>(context); }

std::optional<Seconds> LocalSchedule::next(Seconds after) const {
    if (!zone) return schedule.next(after);
    return schedule.next(after, [this](Seconds time) { return offset_at(time); });
}

Missed missed_times(const LocalSchedule& schedule, Seconds after, Seconds now) {
    Missed missed;
    for (auto next = schedule.next(after); next && *next <= now; next = schedule.next(*next)) {
        missed.latest = next;
        if (++missed.count == Missed::TooMany) break;
    }
    if (missed.count < Missed::TooMany) return missed;
    // After a long time only the last moment counts: looked for in windows that grow, instead of from the beginning.
    for (const std::chrono::seconds window : {std::chrono::seconds(1h), std::chrono::seconds(24h), std::chrono::seconds(24h * 31)}) {
        if (now - window <= after) break;
        if (const auto latest = last_in(schedule, now - window, now)) return {latest, Missed::TooMany};
    }
    return {last_in(schedule, after, now), Missed::TooMany};
}

}  // namespace porthole::controllers
