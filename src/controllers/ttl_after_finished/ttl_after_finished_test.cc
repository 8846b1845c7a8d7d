#include "controllers/ttl_after_finished/ttl_after_finished.h"

#include "controllers/framework/sim/sim_world.h"

namespace porthole::controllers {
namespace {

using api::batch::v1::Job;

struct TtlAfterFinished : SimWorld {
    Job job(std::optional<std::int32_t> ttl, const char* ended) {
        Job made;
        made.metadata.namespace_ = "ns";
        made.metadata.name = "a";
        made.spec.ttl_seconds_after_finished = ttl;
        if (ended) {
            auto& condition = made.status.conditions.emplace_back();
            condition.type = ended;
            condition.status = "True";
            condition.last_transition_time = Timestamp(loop.wall_now());
        }
        return made;
    }
    /// Deleted in the foreground: the job waits for its pods.
    bool deleted() { return api.find<Job>({"ns", "a"})->metadata.deletion_timestamp.has_value(); }
};

TEST_F(TtlAfterFinished, KeepsAJobUntilItsTimeHasPassed) {
    for (const char* end : {"Complete", "Failed"}) {
        SCOPED_TRACE(end);
        api.put(job(60, end));
        run<TtlAfterFinishedController>();
        pass(55s);
        EXPECT_FALSE(deleted());
        pass(10s);
        EXPECT_TRUE(deleted());
        EXPECT_EQ(api.find<Job>({"ns", "a"})->metadata.finalizers, std::vector<std::string>{"foregroundDeletion"});
        crash();
        api.erase<Job>({"ns", "a"});
    }
}

TEST_F(TtlAfterFinished, LeavesRunningJobsAndThoseWithoutATime) {
    api.put(job(60, nullptr));
    run<TtlAfterFinishedController>();
    pass(1h);
    EXPECT_FALSE(deleted());
    api.put(job(std::nullopt, "Complete"));
    pass(1h);
    EXPECT_FALSE(deleted());
}

TEST_F(TtlAfterFinished, AClockThatWasYearsBehindDelaysItByTenMinutes) {
    api.put(job(60, "Complete"));
    clock_ahead = -24h * 365 * 5;
    run<TtlAfterFinishedController>();
    clock_ahead = {};
    pass(10min);
    EXPECT_TRUE(deleted());
}

TEST_F(TtlAfterFinished, AProlongedTimeCounts) {
    api.put(job(60, "Complete"));
    run<TtlAfterFinishedController>();
    pass(30s);
    api.change<Job>({"ns", "a"}, [](Job& job) { job.spec.ttl_seconds_after_finished = 3600; });
    pass(10min);
    EXPECT_FALSE(deleted());
    pass(1h);
    EXPECT_TRUE(deleted());
}

}  // namespace
}  // namespace porthole::controllers
