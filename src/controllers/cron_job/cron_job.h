#pragma once
#include <string>
#include <vector>

#include "api/batch_v1.h"
#include "client/controller.h"
#include "controllers/cron_job/schedule_times.h"
#include "controllers/framework/context.h"
#include "controllers/framework/own_writes.h"

namespace porthole::controllers {

/// Starts the Jobs of CronJobs when they are due.
class CronJobController final : public client::Controller {
public:
    explicit CronJobController(Context& context);

private:
    using CronJob = api::batch::v1::CronJob;
    using Job = api::batch::v1::Job;
    using Jobs = std::vector<std::shared_ptr<const Job>>;

    Task<client::Requeue> reconcile(client::NamespacedName key) override;
    /// Brings status.active and lastSuccessfulTime up to what has become of the jobs.
    Task<> follow_jobs(CronJob& cron, const Jobs& jobs);
    Task<> clean_history(const CronJob& cron, const Jobs& jobs);
    /// nullopt after telling people why there is none.
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
    client::Informer<Job>::Index jobs_by_owner_;
    OwnWrites written_;
};

}  // namespace porthole::controllers
