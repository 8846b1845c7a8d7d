#include "controllers/cron_job/cron_job.h"

#include "controllers/framework/sim/sim_world.h"
#include "controllers/job/job_status.h"

namespace porthole::controllers {
namespace {

using api::batch::v1::CronJob;

const client::NamespacedName Key{"ns", "tick"};

struct CronJobTest : SimWorld {
    CronJob make(const std::string& schedule) {
        CronJob cron;
        cron.metadata.namespace_ = "ns";
        cron.metadata.name = "tick";
        cron.spec.schedule = schedule;
        cron.spec.concurrency_policy = "Allow";
        cron.spec.successful_jobs_history_limit = 3;
        cron.spec.failed_jobs_history_limit = 1;
        cron.spec.job_template.metadata.labels = {{"made-by", "tick"}};
        cron.spec.job_template.spec.template_ = pod_template("tick", "tick:1");
        return cron;
    }
    void begin(const CronJob& cron) {
        to_next_minute();
        api.put(cron);
        run<CronJobController>();
    }
    /// Half a minute past one, so that nothing is due at once.
    void to_next_minute() {
        const auto now = loop.wall_now().time_since_epoch();
        pass(90s - now % 60s);
    }
    std::vector<Job> jobs() { return api.list<Job>("ns"); }
    CronJob cron() { return *api.find<CronJob>(Key); }
    void end_jobs(const std::string& type) {
        for (const Job& job : jobs())
            if (!find_end(job))
                api.change<Job>(client::key_of(job), [&](Job& job) {
                    set_condition(job.status, {.type = type, .status = "True"}, loop.wall_now());
                    job.status.start_time = Timestamp(loop.wall_now());
                    if (type == "Complete") job.status.completion_time = Timestamp(loop.wall_now());
                });
        pass(1s);
    }
};

TEST_F(CronJobTest, StartsAJobAtEveryMomentOfItsSchedule) {
    begin(make("* * * * *"));
    EXPECT_TRUE(jobs().empty());
    pass(31s);
    ASSERT_EQ(jobs().size(), 1u);
    const Job job = jobs()[0];
    const auto minutes = loop.wall_now().time_since_epoch() / 1min;
    EXPECT_EQ(job.metadata.name, "tick-" + std::to_string(minutes));
    EXPECT_EQ(job.metadata.labels.at("made-by"), "tick");
    EXPECT_EQ(job.metadata.owner_references.at(0).kind, "CronJob");
    EXPECT_EQ(job.metadata.annotations.at("batch.kubernetes.io/cronjob-scheduled-timestamp"),
              Timestamp::from_seconds(minutes * 60).to_string());
    EXPECT_EQ(cron().status.active.size(), 1u);
    EXPECT_EQ(cron().status.last_schedule_time, Timestamp::from_seconds(minutes * 60));
    pass(2min);
    EXPECT_EQ(jobs().size(), 3u);
    EXPECT_TRUE(has_event("SuccessfulCreate: Created job " + job.metadata.name));
}

TEST_F(CronJobTest, FollowsItsJobsToTheirEnd) {
    begin(make("* * * * *"));
    pass(31s);
    const std::string name = jobs().at(0).metadata.name;
    end_jobs("Complete");
    EXPECT_TRUE(cron().status.active.empty());
    EXPECT_TRUE(cron().status.last_successful_time.has_value());
    EXPECT_TRUE(has_event("SawCompletedJob: Saw completed job: " + name + ", condition: Complete"));
}

TEST_F(CronJobTest, ForbidWaitsForThePriorJobAndReplaceEndsIt) {
    CronJob wanted = make("* * * * *");
    wanted.spec.concurrency_policy = "Forbid";
    begin(wanted);
    pass(2min);
    EXPECT_EQ(jobs().size(), 1u);
    EXPECT_TRUE(has_event("JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid"));
    const std::string first = jobs()[0].metadata.name;
    api.change<CronJob>(Key, [](CronJob& cron) { cron.spec.concurrency_policy = "Replace"; });
    pass(1min);
    ASSERT_EQ(jobs().size(), 1u);
    EXPECT_NE(jobs()[0].metadata.name, first);
    EXPECT_EQ(cron().status.active.size(), 1u);
}

TEST_F(CronJobTest, KeepsOnlySoManyFinishedJobs) {
    begin(make("* * * * *"));
    for (int i = 0; i < 6; ++i) {
        pass(1min);
        end_jobs("Complete");
    }
    EXPECT_EQ(jobs().size(), 3u);
    for (int i = 0; i < 3; ++i) {
        pass(1min);
        end_jobs("Failed");
    }
    EXPECT_EQ(jobs().size(), 4u) << "three that succeeded, one that failed";
}

TEST_F(CronJobTest, AfterAnOutageOnlyTheLastMissedMomentCounts) {
    begin(make("*/5 * * * *"));
    crash();
    pass(32min);
    run<CronJobController>();
    EXPECT_EQ(jobs().size(), 1u);
    crash();
    pass(24h);
    run<CronJobController>();
    EXPECT_EQ(jobs().size(), 2u);
    EXPECT_EQ(cron().status.last_schedule_time->seconds() % 300, 0);
    EXPECT_LT(loop.wall_now() - cron().status.last_schedule_time->to_system_time(), 5min + 2s);
    EXPECT_EQ(events().back().substr(0, 12), "SuccessfulCr");
}

TEST_F(CronJobTest, WhatIsLaterThanItsDeadlineIsNotStarted) {
    CronJob wanted = make("0 * * * *");
    wanted.spec.starting_deadline_seconds = 60;
    begin(wanted);
    crash();
    const auto into_hour = loop.wall_now().time_since_epoch() % 1h;
    pass(1h - into_hour + 10min);
    run<CronJobController>();
    EXPECT_TRUE(jobs().empty());
    pass(51min);
    EXPECT_EQ(jobs().size(), 1u);
}

TEST_F(CronJobTest, ADeadlineMayBeAnyNumber) {
    CronJob wanted = make("* * * * *");
    wanted.spec.starting_deadline_seconds = INT64_MAX;
    begin(wanted);
    pass(2min);
    EXPECT_EQ(jobs().size(), 2u);
}

TEST_F(CronJobTest, SuspendedStartsNothing) {
    CronJob wanted = make("* * * * *");
    wanted.spec.suspend = true;
    begin(wanted);
    pass(5min);
    EXPECT_TRUE(jobs().empty());
}

TEST_F(CronJobTest, StartsAgainAfterAClockThatWasYearsAhead) {
    begin(make("* * * * *"));
    clock_ahead = 24h * 365 * 5;
    pass(2min);
    const auto made = jobs().size();
    EXPECT_GT(cron().status.last_schedule_time->to_system_time(), loop.wall_now() + 24h);
    clock_ahead = {};
    pass(5min);
    EXPECT_GE(jobs().size(), made + 3);
    EXPECT_LT(cron().status.last_schedule_time->to_system_time(), loop.wall_now());
    EXPECT_TRUE(has_event("ClockSkew: The last schedule time is more than a day ahead, and is set to now"));
}

TEST_F(CronJobTest, AClockThatIsYearsBehindChangesNothing) {
    begin(make("* * * * *"));
    pass(1min);
    const auto last = cron().status.last_schedule_time;
    const auto made = jobs().size();
    clock_ahead = -24h * 365 * 5;
    pass(5min);
    EXPECT_EQ(cron().status.last_schedule_time, last);
    EXPECT_EQ(jobs().size(), made);
}

TEST_F(CronJobTest, CountsInItsTimeZone) {
    // A zone with one offset: "<+0530>-5:30".
    std::string part = "TZif2" + std::string(15 + 12, '\0') + std::string(4, '\0') + std::string("\0\0\0\1", 4) +
                       std::string("\0\0\0\4", 4) + std::string("\x00\x00\x4d\x58\0\0IST\0", 10);
    settings.read_time_zone = [file = part + part + "\nIST-5:30\n"](const std::string& name) -> Result<std::string> {
        if (name == "Asia/Kolkata") return file;
        return Error(Reason::NotFound, "no such zone");
    };
    CronJob wanted = make("30 7 * * *");
    wanted.spec.time_zone = "Asia/Kolkata";
    begin(wanted);
    pass(24h);
    ASSERT_EQ(jobs().size(), 1u);
    EXPECT_EQ(cron().status.last_schedule_time->to_string().substr(10), "T02:00:00Z");
    EXPECT_EQ(jobs()[0].metadata.annotations.at("batch.kubernetes.io/cronjob-scheduled-timestamp").substr(10), "T07:30:00+05:30");
    api.change<CronJob>(Key, [](CronJob& cron) { cron.spec.time_zone = "Nowhere/Else"; });
    pass(24h);
    EXPECT_EQ(jobs().size(), 1u);
    EXPECT_TRUE(has_event("UnknownTimeZone: invalid timeZone: \"Nowhere/Else\": no such zone"));
}

TEST_F(CronJobTest, AJobThatWentMissingIsForgotten) {
    begin(make("0 0 1 1 *"));
    api.change<CronJob>(Key, [](CronJob& cron) {
        auto& active = cron.status.active.emplace_back();
        active.name = "tick-1";
        active.uid = "gone";
    });
    pass(2s);
    EXPECT_TRUE(cron().status.active.empty());
    EXPECT_TRUE(has_event("MissingJob: Active job went missing: tick-1"));
}

}  // namespace
}  // namespace porthole::controllers
