#include "controllers/job/job.h"

#include <algorithm>

#include "controllers/framework/sim/sim_world.h"
#include "objects/pods.h"

namespace porthole::controllers {
namespace {

using api::core::v1::Pod;

const client::NamespacedName Key{"ns", "work"};

struct JobTest : SimWorld {
    Job make(std::optional<int> completions, int parallelism) {
        Job job;
        job.metadata.namespace_ = "ns";
        job.metadata.name = "work";
        job.spec.completions = completions;
        job.spec.parallelism = parallelism;
        job.spec.backoff_limit = 6;
        job.spec.selector.emplace().match_labels = {{"job", "work"}};
        job.spec.template_ = pod_template("work", "work:1");
        job.spec.template_.metadata.labels = {{"job", "work"}};
        job.spec.template_.spec.restart_policy = "Never";
        return job;
    }
    Job make_indexed(int completions, int parallelism) {
        Job job = make(completions, parallelism);
        job.spec.completion_mode = "Indexed";
        return job;
    }
    void begin(const Job& job) {
        api.put(job);
        run<JobController>();
        settle();
    }
    void settle() {
        for (int i = 0; i < 5; ++i) kubelet();
    }
    std::vector<Pod> running() {
        std::vector<Pod> pods = this->pods();
        std::erase_if(pods, [](const Pod& pod) { return !objects::is_active(pod); });
        return pods;
    }
    void end(const Pod& pod, const std::string& phase, int exit_code = 0) {
        api.change<Pod>(client::key_of(pod), [&](Pod& pod) {
            pod.status.phase = phase;
            auto& container = pod.status.container_statuses.emplace_back();
            container.name = "main";
            container.state.terminated.emplace().exit_code = exit_code;
            container.state.terminated->finished_at = Timestamp(loop.wall_now());
        });
        pass(2s);
    }
    void end_all(const std::string& phase, int exit_code = 0) {
        for (const Pod& pod : running()) end(pod, phase, exit_code);
        settle();
    }
    Job job() { return *api.find<Job>(Key); }
    std::string ended() {
        const auto found = job();
        const JobCondition* end = find_end(found);
        return end ? end->type + " " + end->reason : "";
    }
    std::string indexes() {
        std::vector<std::string> all;
        for (const Pod& pod : running()) all.push_back(pod.metadata.annotations.at(jobs::IndexKey));
        std::ranges::sort(all);
        std::string text;
        for (const std::string& index : all) text += (text.empty() ? "" : " ") + index;
        return text;
    }
};

TEST_F(JobTest, RunsOnePodToCompletion) {
    begin(make(1, 1));
    ASSERT_EQ(running().size(), 1u);
    EXPECT_EQ(running()[0].metadata.finalizers, std::vector<std::string>{jobs::TrackingFinalizer});
    EXPECT_EQ(job().status.active, 1);
    EXPECT_TRUE(job().status.start_time.has_value());
    end_all("Succeeded");
    EXPECT_EQ(ended(), "Complete CompletionsReached");
    EXPECT_EQ(job().status.succeeded, 1);
    EXPECT_EQ(job().status.active, 0);
    EXPECT_TRUE(job().status.completion_time.has_value());
    EXPECT_TRUE(pods()[0].metadata.finalizers.empty()) << "a counted pod may be deleted";
    EXPECT_TRUE(has_event("Completed: Job completed"));
}

TEST_F(JobTest, RunsAsManyAtATimeAsAllowedUntilAllHaveSucceeded) {
    begin(make(5, 2));
    EXPECT_EQ(running().size(), 2u);
    end_all("Succeeded");
    EXPECT_EQ(running().size(), 2u);
    end_all("Succeeded");
    EXPECT_EQ(running().size(), 1u) << "only one is missing";
    end_all("Succeeded");
    EXPECT_EQ(ended(), "Complete CompletionsReached");
    EXPECT_EQ(job().status.succeeded, 5);
    EXPECT_EQ(pods().size(), 5u);
}

TEST_F(JobTest, AWorkQueueEndsWhenOneHasSucceededAndTheOthersHaveEnded) {
    begin(make(std::nullopt, 3));
    ASSERT_EQ(running().size(), 3u);
    end(running()[0], "Succeeded");
    settle();
    EXPECT_EQ(running().size(), 2u) << "none is replaced";
    EXPECT_EQ(ended(), "");
    end_all("Succeeded");
    EXPECT_EQ(ended(), "Complete CompletionsReached");
    EXPECT_EQ(job().status.succeeded, 3);
}

TEST_F(JobTest, ReplacesFailedPodsWithGrowingDelayUntilTheLimit) {
    Job wanted = make(1, 1);
    wanted.spec.backoff_limit = 2;
    begin(wanted);
    end(running().at(0), "Failed", 1);
    pass(5s);
    EXPECT_TRUE(running().empty()) << "10 s after the first failure";
    pass(5s);
    settle();
    end(running().at(0), "Failed", 1);
    pass(15s);
    EXPECT_TRUE(running().empty()) << "20 s after the second";
    pass(5s);
    settle();
    EXPECT_EQ(ended(), "");
    end(running().at(0), "Failed", 1);
    settle();
    EXPECT_EQ(ended(), "Failed BackoffLimitExceeded");
    EXPECT_EQ(job().status.failed, 3);
    EXPECT_TRUE(has_event("BackoffLimitExceeded: Job has reached the specified backoff limit"));
}

TEST_F(JobTest, EndsWhenTheClockThatItBeganByWasAhead) {
    clock_ahead = 24h * 365 * 5;
    begin(make(1, 1));
    clock_ahead = {};
    end_all("Succeeded");
    EXPECT_EQ(ended(), "Complete CompletionsReached");
    EXPECT_EQ(job().status.completion_time, job().status.start_time) << "the API accepts none before the start";
    EXPECT_LE(find_end(job())->last_transition_time.to_system_time(), loop.wall_now()) << "from which the time until it is deleted counts";
}

TEST_F(JobTest, ReplacesAFailedPodAlsoWhenTheClockIsSetBack) {
    begin(make(1, 1));
    clock_ahead = 24h * 365 * 5;
    api.change<Pod>(client::key_of(running().at(0)), [&](Pod& pod) { pod.status.phase = "Failed"; });
    pass(2s);
    clock_ahead = {};
    pass(10s);
    settle();
    EXPECT_EQ(running().size(), 1u);
}

TEST_F(JobTest, AJobPastItsDeadlineFailsAndItsPodsGo) {
    Job wanted = make(1, 1);
    wanted.spec.active_deadline_seconds = 60;
    begin(wanted);
    pass(50s);
    EXPECT_EQ(ended(), "");
    pass(10s);
    settle();
    EXPECT_EQ(ended(), "Failed DeadlineExceeded");
    EXPECT_TRUE(running().empty());
}

TEST_F(JobTest, ADeadlineMayBeAnyNumber) {
    Job wanted = make(1, 1);
    wanted.spec.active_deadline_seconds = INT64_MAX;
    begin(wanted);
    pass(50s);
    EXPECT_EQ(ended(), "");
    EXPECT_EQ(running().size(), 1u);
}

TEST_F(JobTest, AnEndIsSaidOnlyWhenNothingRunsAnyMore) {
    Job wanted = make(2, 2);
    wanted.spec.backoff_limit = 0;
    wanted.spec.pod_replacement_policy = "Failed";
    begin(wanted);
    end(running().at(0), "Failed", 1);
    EXPECT_EQ(ended(), "") << "the other is only being deleted";
    EXPECT_TRUE(find_true(job().status, "FailureTarget"));
    for (const Pod& pod : pods())
        if (objects::is_terminating(pod)) end(pod, "Failed", 143);
    settle();
    EXPECT_EQ(ended(), "Failed BackoffLimitExceeded");
}

TEST_F(JobTest, IndexedPodsCarryTheirIndexAndEachIndexSucceedsOnce) {
    begin(make_indexed(3, 2));
    EXPECT_EQ(indexes(), "0 1");
    const Pod first = running()[0];
    EXPECT_EQ(first.spec.hostname, "work-" + first.metadata.annotations.at(jobs::IndexKey));
    EXPECT_EQ(first.metadata.labels.at(jobs::IndexKey), first.metadata.annotations.at(jobs::IndexKey));
    EXPECT_EQ(first.spec.containers[0].env.at(0).name, "JOB_COMPLETION_INDEX");
    for (const Pod& pod : running())
        if (pod.metadata.annotations.at(jobs::IndexKey) == "1") end(pod, "Succeeded");
    settle();
    EXPECT_EQ(indexes(), "0 2");
    EXPECT_EQ(job().status.completed_indexes, "1");
    end_all("Succeeded");
    EXPECT_EQ(job().status.completed_indexes, "0-2");
    EXPECT_EQ(ended(), "Complete CompletionsReached");
}

TEST(JobTally, ManyPodsThatAreNotCountedYetTakeLinearTime) {
    constexpr int Many = 40'000;
    Job job;
    job.spec.completions = Many;
    auto& uncounted = job.status.uncounted_terminated_pods.emplace();
    std::vector<jobs::PodPointer> pods;
    for (int i = 0; i < Many; ++i) {
        Pod pod;
        pod.metadata.uid = "a-uid-as-long-as-others-are-" + std::to_string(i);
        pod.metadata.finalizers = {jobs::TrackingFinalizer};
        pod.status.phase = "Succeeded";
        uncounted.succeeded.push_back(pod.metadata.uid);
        pods.push_back(std::make_shared<const Pod>(std::move(pod)));
    }
    const jobs::Tally tally(job, pods, {});
    EXPECT_TRUE(tally.newly_succeeded.empty());
    EXPECT_EQ(tally.succeeded, Many);
}

TEST_F(JobTest, AnIndexThatFailsTooOftenIsGivenUpAndTheOthersGoOn) {
    Job wanted = make_indexed(2, 2);
    wanted.spec.backoff_limit = INT32_MAX;
    wanted.spec.backoff_limit_per_index = 1;
    begin(wanted);
    for (int round = 0; round < 2; ++round) {
        for (const Pod& pod : running())
            if (pod.metadata.annotations.at(jobs::IndexKey) == "0") end(pod, "Failed", 1);
        pass(30s);
        settle();
    }
    EXPECT_EQ(job().status.failed_indexes, "0");
    EXPECT_EQ(indexes(), "1");
    EXPECT_EQ(ended(), "");
    end_all("Succeeded");
    EXPECT_EQ(ended(), "Failed FailedIndexes");
}

TEST_F(JobTest, EachIndexWaitsAfterItsOwnFailures) {
    Job wanted = make_indexed(2, 2);
    wanted.spec.backoff_limit = INT32_MAX;
    wanted.spec.backoff_limit_per_index = 5;
    begin(wanted);
    const auto fail = [&](const std::string& index) {
        for (const Pod& pod : running())
            if (pod.metadata.annotations.at(jobs::IndexKey) == index) end(pod, "Failed", 1);
    };
    fail("0");
    pass(10s);
    fail("0");
    pass(20s);
    ASSERT_EQ(indexes(), "0 1");
    fail("0");
    fail("1");
    pass(10s);
    EXPECT_EQ(indexes(), "1") << "it failed once, and the other for the third time";
    pass(30s);
    EXPECT_EQ(indexes(), "0 1");
}

TEST_F(JobTest, AFailedPodStaysUntilItsIndexHasAnother) {
    Job wanted = make_indexed(1, 1);
    wanted.spec.backoff_limit = INT32_MAX;
    wanted.spec.backoff_limit_per_index = 1;
    begin(wanted);
    const auto failed = client::key_of(running().at(0));
    end(running().at(0), "Failed", 1);
    api.remove<Pod>(failed);
    pass(2s);
    ASSERT_TRUE(api.find<Pod>(failed)) << "nothing else knows of the failure";
    EXPECT_EQ(job().status.failed, 0);
    pass(10s);
    settle();
    EXPECT_FALSE(api.find<Pod>(failed));
    EXPECT_EQ(job().status.failed, 1);
    EXPECT_EQ(running().at(0).metadata.annotations.at(jobs::IndexFailures), "1");
    end_all("Failed", 1);
    EXPECT_EQ(job().status.failed, 2);
    EXPECT_EQ(ended(), "Failed FailedIndexes");
}

TEST_F(JobTest, IgnoredFailuresOfAnIndexAreCountedApart) {
    using Requirement = api::batch::v1::PodFailurePolicyOnExitCodesRequirement;
    Job wanted = make_indexed(1, 1);
    wanted.spec.backoff_limit = INT32_MAX;
    wanted.spec.backoff_limit_per_index = 1;
    wanted.spec.pod_failure_policy.emplace().rules = {{.action = "Ignore", .on_exit_codes = Requirement{.operator_ = "In", .values = {3}}}};
    begin(wanted);
    EXPECT_FALSE(running().at(0).metadata.annotations.contains(jobs::IgnoredIndexFailures));
    end(running().at(0), "Failed", 3);
    pass(10s);
    ASSERT_EQ(indexes(), "0");
    EXPECT_EQ(running().at(0).metadata.annotations.at(jobs::IndexFailures), "0");
    EXPECT_EQ(running().at(0).metadata.annotations.at(jobs::IgnoredIndexFailures), "1");
    end(running().at(0), "Failed", 3);
    pass(11s);
    EXPECT_EQ(indexes(), "") << "20 s after the second";
    EXPECT_EQ(job().status.failed, 0);
}

TEST_F(JobTest, ASecondPodOfAnIndexIsOneTooMany) {
    begin(make_indexed(2, 2));
    ASSERT_EQ(indexes(), "0 1");
    api.change<Pod>(client::key_of(running().at(1)),
                    [&](Pod& pod) { pod.metadata.annotations[jobs::IndexKey] = running().at(0).metadata.annotations.at(jobs::IndexKey); });
    settle();
    EXPECT_EQ(indexes(), "0 1");
}

TEST_F(JobTest, TheFailurePolicyEndsTheJobOrLooksAway) {
    using Requirement = api::batch::v1::PodFailurePolicyOnExitCodesRequirement;
    Job wanted = make(1, 1);
    auto& rules = wanted.spec.pod_failure_policy.emplace().rules;
    rules.push_back({.action = "Ignore", .on_exit_codes = Requirement{.operator_ = "In", .values = {3}}});
    rules.push_back({.action = "FailJob", .on_exit_codes = Requirement{.operator_ = "In", .values = {42}}});
    begin(wanted);
    end(running().at(0), "Failed", 3);
    settle();
    EXPECT_EQ(job().status.failed, 0);
    const std::string name = running().at(0).metadata.name;
    end(running().at(0), "Failed", 42);
    settle();
    EXPECT_EQ(ended(), "Failed PodFailurePolicy");
    EXPECT_TRUE(
        has_event("PodFailurePolicy: Container main for pod ns/" + name + " failed with exit code 42 matching FailJob rule at index 1"));
}

TEST_F(JobTest, TheSuccessPolicyEndsTheJobEarly) {
    Job wanted = make_indexed(3, 3);
    wanted.spec.success_policy.emplace().rules.push_back({.succeeded_indexes = "0", .succeeded_count = {}});
    begin(wanted);
    for (const Pod& pod : running())
        if (pod.metadata.annotations.at(jobs::IndexKey) == "0") end(pod, "Succeeded");
    settle();
    EXPECT_EQ(ended(), "Complete SuccessPolicy");
    EXPECT_TRUE(running().empty());
}

TEST_F(JobTest, SuspendingTakesThePodsAwayAndResumingBringsThemBack) {
    begin(make(2, 2));
    api.change<Job>(Key, [](Job& job) { job.spec.suspend = true; });
    settle();
    EXPECT_TRUE(running().empty());
    EXPECT_TRUE(find_true(job().status, "Suspended"));
    EXPECT_FALSE(job().status.start_time.has_value());
    EXPECT_EQ(job().status.failed, 0) << "they have not failed";
    api.change<Job>(Key, [](Job& job) { job.spec.suspend = false; });
    settle();
    EXPECT_EQ(running().size(), 2u);
    EXPECT_TRUE(job().status.start_time.has_value());
    end_all("Succeeded");
    EXPECT_EQ(ended(), "Complete CompletionsReached");
}

TEST_F(JobTest, FewerAtATimeLetsSurplusPodsGoUncounted) {
    begin(make(10, 4));
    api.change<Job>(Key, [](Job& job) { job.spec.parallelism = 1; });
    settle();
    EXPECT_EQ(running().size(), 1u);
    EXPECT_EQ(job().status.failed, 0);
}

TEST_F(JobTest, ADeletedPodIsReplacedAndCountsAsFailed) {
    begin(make(1, 1));
    api.remove<Pod>(client::key_of(running().at(0)));
    pass(15s);
    settle();
    EXPECT_EQ(running().size(), 1u);
    EXPECT_EQ(job().status.failed, 1);
}

TEST_F(JobTest, PodsOfADeletedJobAreLetGo) {
    begin(make(2, 2));
    api.erase<Job>(Key);
    settle();
    for (const Pod& pod : pods()) EXPECT_TRUE(pod.metadata.finalizers.empty());
}

TEST_F(JobTest, EveryPodIsCountedOnceWhateverHappensInBetween) {
    begin(make(4, 4));
    // Finalizers cannot be taken: ends are written down and nothing is lost or counted twice when that works again.
    api.set_fault([](const client::ApiRequest& request) -> std::optional<Error> {
        if (request.method == "PATCH") return Error(Reason::InternalError, "not now");
        return std::nullopt;
    });
    for (const Pod& pod : running()) end(pod, "Succeeded");
    EXPECT_EQ(job().status.uncounted_terminated_pods->succeeded.size() + static_cast<std::size_t>(job().status.succeeded), 4u);
    crash();
    api.set_fault({});
    run<JobController>();
    pass(5s);
    EXPECT_EQ(job().status.succeeded, 4);
    EXPECT_EQ(ended(), "Complete CompletionsReached");
    EXPECT_EQ(pods().size(), 4u);
}

TEST_F(JobTest, SomebodyElsesJobIsLeftAlone) {
    Job wanted = make(1, 1);
    wanted.spec.managed_by = "example.com/other";
    begin(wanted);
    EXPECT_TRUE(pods().empty());
}

}  // namespace
}  // namespace porthole::controllers
