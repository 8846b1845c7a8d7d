#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/batch_v1.h"
#include "base/time/cron_schedule.h"
#include "base/time/time_zone.h"
#include "client/informers/controller.h"
#include "controllers/framework/context.h"
#include "controllers/framework/expectations.h"

namespace porthole::controllers {

/// A schedule in a time zone.
struct LocalSchedule {
    CronSchedule schedule;
    std::optional<TimeZone> zone;  ///< UTC, when empty

    std::chrono::seconds offset_at(CronSchedule::Seconds time) const { return zone ? zone->offset_at(time) : std::chrono::seconds(0); }
    std::optional<CronSchedule::Seconds> next(CronSchedule::Seconds after) const;
};

/// The moments of a schedule in a span of time.
struct Missed {
    std::optional<CronSchedule::Seconds> latest;  ///< the last moment in (after, now]
    int count = 0;                                ///< how many there were; counting ends at TooMany
    static constexpr int TooMany = 101;
};
Missed missed_times(const LocalSchedule& schedule, CronSchedule::Seconds after, CronSchedule::Seconds now);

/// Starts the Jobs of CronJobs when they are due.
class CronJobController final : public client::Controller {
public:
    static constexpr const char* Account = "cronjob-controller";
    explicit CronJobController(Context& context);

private:
    using CronJob = api::batch::v1::CronJob;
    using Job = api::batch::v1::Job;
    using Jobs = std::vector<std::shared_ptr<const Job>>;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// Updates status.active and lastSuccessfulTime from the state of the jobs.
    Task<> follow_jobs(CronJob& cron, const Jobs& jobs);
    Task<> clean_history(const CronJob& cron, const Jobs& jobs);
    /// nullopt if there is none, after an event with the reason.
    std::optional<LocalSchedule> schedule_of(const CronJob& cron);
    /// Starts the job that is due, if one is.
    Task<> start_due(CronJob& cron, const LocalSchedule& schedule);
    Task<> stop_active(CronJob& cron);
    Task<Job> make_job(const CronJob& cron, const LocalSchedule& schedule, CronSchedule::Seconds time);
    Task<> remove_job(const CronJob& cron, client::NamespacedName key, std::string uid);
    CronSchedule::Seconds now() const;

    Context& context_;
    client::EventRecorder& events_;
    client::Informer<CronJob>& crons_;
    client::Informer<Job>& jobs_;
    OwnerIndex<Job> jobs_by_owner_;
    OwnWrites written_;
};

}  // namespace porthole::controllers
