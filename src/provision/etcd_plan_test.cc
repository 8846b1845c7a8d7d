#include "provision/etcd_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/random.h"

namespace porthole::provision {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = EtcdStep::Kind;

std::string address_of_host(int number) { return "10.0.0." + std::to_string(number); }

EtcdHostSeen bare(int number) {
    EtcdHostSeen host;
    host.name = "cp-" + std::to_string(number);
    host.address = address_of_host(number);
    return host;
}

EtcdHostSeen settled(int number) {
    EtcdHostSeen host = bare(number);
    host.is_prepared = host.has_log = host.is_running = host.serves_objects = true;
    host.bootstrap = SealedBootstrap;
    return host;
}

/// A host whose etcd has lost its data; its server's are there.
EtcdHostSeen without_data(int number) {
    EtcdHostSeen host = settled(number);
    host.has_log = host.is_running = false;
    return host;
}

EtcdMemberSeen voter(int number, bool is_healthy = true) {
    return {.id = static_cast<std::uint64_t>(number), .address = address_of_host(number), .is_learner = false, .is_healthy = is_healthy};
}

EtcdMemberSeen learner(int number) {
    EtcdMemberSeen member = voter(number);
    member.is_learner = true;
    return member;
}

/// What is done one after the other, and what the plan then ends with: an error, or that it waits.
std::vector<std::string> steps_of(EtcdSeen seen, decltype(next_step)* next = next_step) {
    std::vector<std::string> lines;
    while (lines.size() < 100) {
        const auto step = next(seen);
        if (!step) lines.push_back("refused: " + step.error().message);
        if (!step || !*step) break;
        if ((*step)->kind == Kind::Wait) {
            lines.push_back("wait: " + (*step)->why);
            break;
        }
        lines.push_back(done_text(**step).substr(std::string_view("etcd member ").size()));
        seen = after(std::move(seen), **step);
    }
    return lines;
}

TEST(EtcdPlan, BareHostsBeginTogether) {
    EXPECT_THAT(steps_of({.hosts = {bare(1), bare(2), bare(3)}, .members = {}}),
                ElementsAre("cp-1 set up", "cp-1 started", "cp-2 set up", "cp-2 started", "cp-3 set up", "cp-3 started",
                            "cp-1 has its data", "cp-2 has its data", "cp-3 has its data"));
    EXPECT_EQ(first_bootstrap({bare(1), bare(2)}),
              "ETCD_INITIAL_CLUSTER=10.0.0.1=https://10.0.0.1:2380,10.0.0.2=https://10.0.0.2:2380\nETCD_INITIAL_CLUSTER_STATE=new\n");
}

TEST(EtcdPlan, AsDescribedThereIsNothingToDo) {
    const EtcdSeen seen{.hosts = {settled(1), settled(2), settled(3)}, .members = {voter(1), voter(2), voter(3)}};
    EXPECT_THAT(steps_of(seen), IsEmpty());
    EXPECT_THAT(steps_of(seen, next_removal), IsEmpty());
}

TEST(EtcdPlan, AFirstStartThatWasCutOffGoesOn) {
    EtcdSeen seen{.hosts = {bare(1), bare(2), bare(3)}, .members = {}};
    seen.hosts[0].is_prepared = seen.hosts[0].has_log = true;
    seen.hosts[0].bootstrap = first_bootstrap(seen.hosts);
    EXPECT_EQ(steps_of(seen)[0], "cp-1 started");
    EXPECT_EQ(steps_of(seen)[2], "cp-2 started");
    seen.hosts[0].bootstrap = first_bootstrap({bare(1), bare(2), bare(4)});
    EXPECT_THAT(steps_of(seen), ElementsAre(HasSubstr("refused: cp-1 has the data of an etcd of other hosts")));
}

TEST(EtcdPlan, TheLastMemberOfAFirstStartBeginsWithTheOthersThoughTheyAnswer) {
    EtcdSeen seen{.hosts = {bare(1), bare(2), bare(3)}, .members = {voter(1), voter(2), voter(3, false)}};
    for (int i : {0, 1}) {
        seen.hosts[i].is_prepared = seen.hosts[i].has_log = seen.hosts[i].is_running = true;
        seen.hosts[i].bootstrap = first_bootstrap(seen.hosts);
    }
    const auto lines = steps_of(seen);
    EXPECT_EQ(lines[0], "cp-3 set up");
    EXPECT_EQ(lines[1], "cp-3 started");
}

TEST(EtcdPlan, AHostIsAddedAsALearnerAndThenVotes) {
    EXPECT_THAT(steps_of({.hosts = {settled(1), bare(2), bare(3)}, .members = {voter(1)}}),
                ElementsAre("cp-2 set up", "cp-2 joined as a learner", "cp-2 has its data", "cp-2 votes", "cp-3 set up",
                            "cp-3 joined as a learner", "cp-3 has its data", "cp-3 votes"));
    EXPECT_EQ(joining_bootstrap({"10.0.0.2"}),
              "ETCD_INITIAL_CLUSTER=10.0.0.2=https://10.0.0.2:2380\nETCD_INITIAL_CLUSTER_STATE=existing\n");
}

TEST(EtcdPlan, AHostThatWasAddedAndNotStartedIsAddedOnceMore) {
    EtcdSeen seen{.hosts = {settled(1), settled(2), bare(3)}, .members = {voter(1), voter(2), learner(3)}};
    seen.members.back().is_healthy = false;
    EXPECT_THAT(steps_of(seen), ElementsAre("cp-3 removed: its data are lost", "cp-3 set up", "cp-3 joined as a learner",
                                            "cp-3 has its data", "cp-3 votes"));
}

TEST(EtcdPlan, AMemberWithoutItsDataBecomesAnotherMember) {
    EtcdSeen seen{.hosts = {settled(1), without_data(2), settled(3)}, .members = {voter(1), voter(2, false), voter(3)}};
    EXPECT_THAT(steps_of(seen),
                ElementsAre("cp-2 removed: its data are lost", "cp-2 joined as a learner", "cp-2 has its data", "cp-2 votes"));
    // Of five two, which both are removed before etcd adds one.
    seen = {.hosts = {settled(1), without_data(2), without_data(3), settled(4), settled(5)},
            .members = {voter(1), voter(2, false), voter(3, false), voter(4), voter(5)}};
    const auto lines = steps_of(seen);
    EXPECT_EQ(lines[0], "cp-2 removed: its data are lost");
    EXPECT_EQ(lines[1], "cp-3 removed: its data are lost");
    EXPECT_EQ(lines[2], "cp-2 joined as a learner");
}

// What two of three have acknowledged may be missing in the third.
TEST(EtcdPlan, WithoutAMajorityOfTheDataNoneBegins) {
    EXPECT_THAT(steps_of({.hosts = {without_data(1), without_data(2), settled(3)}, .members = {}}),
                ElementsAre(HasSubstr("wait: no majority of etcd's members answers at port 2379; there are no data of etcd on cp-1 and "
                                      "cp-2: ")));
    EXPECT_THAT(steps_of({.hosts = {without_data(1)}, .members = {}}), ElementsAre(HasSubstr("no described host has its data")));
    // A host that is bare does not make the data of the others those of a new etcd.
    EXPECT_THAT(steps_of({.hosts = {bare(1), bare(2), without_data(3)}, .members = {}}),
                ElementsAre(HasSubstr("no described host has its data")));
    // Nor if the servers' data are lost as well: a member with data has been one of a majority.
    EtcdHostSeen left = settled(1);
    left.serves_objects = false;
    EXPECT_THAT(steps_of({.hosts = {left, bare(4), bare(5)}, .members = {}}), ElementsAre(HasSubstr("no data of etcd on cp-4 and cp-5")));
}

// They may answer others: another machine's port 2379 may be closed to this one.
TEST(EtcdPlan, MembersThatRunAreNotStoppedWhileNoMajorityAnswers) {
    EtcdSeen seen{.hosts = {settled(1), settled(2), settled(3)}, .members = {}};
    for (EtcdHostSeen& host : seen.hosts) host.is_prepared = false;
    EXPECT_THAT(steps_of(seen), ElementsAre(HasSubstr("wait: no majority")));
}

TEST(EtcdPlan, AfterAPowerCutMembersWithDataStart) {
    EtcdSeen seen{.hosts = {settled(1), settled(2), without_data(3)}, .members = {}};
    seen.hosts[0].is_running = seen.hosts[1].is_running = false;
    EXPECT_THAT(steps_of(seen), ElementsAre("cp-1 started", "cp-2 started", HasSubstr("wait: no majority")));
}

TEST(EtcdPlan, AMemberThatWasRemovedBeginsWithoutItsOldData) {
    EXPECT_THAT(steps_of({.hosts = {settled(1), settled(2), settled(3)}, .members = {voter(1), voter(2)}}),
                ElementsAre("cp-3 joined as a learner", "cp-3 has its data", "cp-3 votes"));
}

TEST(EtcdPlan, MembersOfOtherHostsGoWhenTheyAreDeadOrTheServersAreDone) {
    EtcdSeen seen{.hosts = {settled(1), settled(2), bare(4)}, .members = {voter(1), voter(2), voter(3)}};
    EXPECT_THAT(steps_of(seen), ElementsAre("cp-4 set up", "cp-4 joined as a learner", "cp-4 has its data", "cp-4 votes"));
    seen.members[2].is_healthy = false;
    EXPECT_EQ(steps_of(seen)[0], "10.0.0.3 removed: it is no longer described");
    seen = {.hosts = {settled(1)}, .members = {voter(1), voter(2), voter(3)}};
    EXPECT_THAT(steps_of(seen, next_removal),
                ElementsAre("10.0.0.2 removed: it is no longer described", "10.0.0.3 removed: it is no longer described"));
}

TEST(EtcdPlan, NoStepTakesTheMajority) {
    EtcdSeen seen{.hosts = {settled(1), settled(2)}, .members = {voter(1), voter(2, false), voter(3)}};
    EXPECT_THAT(steps_of(seen, next_removal), ElementsAre(HasSubstr("wait: the etcd member 10.0.0.3 cannot be removed")));
    seen = {.hosts = {settled(1), settled(2), settled(3)}, .members = {voter(1), voter(2, false), voter(3)}};
    seen.hosts[0].is_prepared = false;
    EXPECT_THAT(steps_of(seen), ElementsAre("wait: the etcd member cp-1 has to be restarted, and too few others are healthy"));
}

TEST(EtcdPlan, OtherFilesReachOneMemberAfterTheOther) {
    EtcdSeen seen{.hosts = {settled(1), settled(2), settled(3)}, .members = {voter(1), voter(2), voter(3)}};
    for (EtcdHostSeen& host : seen.hosts) host.is_prepared = false;
    EXPECT_THAT(steps_of(seen), ElementsAre("cp-1 set up", "cp-1 started", "cp-2 set up", "cp-2 started", "cp-3 set up", "cp-3 started"));
    seen = {.hosts = {settled(1)}, .members = {voter(1)}};
    seen.hosts[0].is_prepared = false;
    EXPECT_THAT(steps_of(seen), ElementsAre("cp-1 set up", "cp-1 started"));
}

// From any state in which a majority answers: the end is reached, and on the way a majority is left that has all that was acknowledged.
TEST(EtcdPlan, ComesToItsEndFromWhateverIsThere) {
    SeededRandom random(1);
    for (int round = 0; round < 2000; ++round) {
        EtcdSeen seen;
        const int hosts = 1 + 2 * static_cast<int>(random.below(3));
        for (int number = 1; number <= hosts; ++number) {
            EtcdHostSeen host = random.below(4) == 0 ? bare(number) : settled(number);
            if (random.below(3) == 0) host.is_prepared = false;
            if (random.below(4) == 0) host.has_log = host.is_running = false;
            if (random.below(4) == 0) host.bootstrap = "ETCD_INITIAL_CLUSTER_STATE=new\n";
            if (random.below(4) != 0) {
                EtcdMemberSeen member = voter(number, host.has_log && host.is_running);
                member.is_learner = random.below(5) == 0;
                seen.members.push_back(member);
            }
            seen.hosts.push_back(host);
        }
        if (random.below(2) == 0) seen.members.push_back(voter(9, random.below(2) == 0));
        const auto has_majority = [](const EtcdSeen& one) {
            const auto voters = std::ranges::count(one.members, false, &EtcdMemberSeen::is_learner);
            const auto healthy =
                std::ranges::count_if(one.members, [](const EtcdMemberSeen& member) { return !member.is_learner && member.is_healthy; });
            return 2 * healthy > voters;
        };
        if (!has_majority(seen)) continue;
        int steps = 0;
        for (; steps < 100; ++steps) {
            const auto step = next_step(seen);
            ASSERT_TRUE(step) << round;
            if (!*step) break;
            ASSERT_NE((*step)->kind, Kind::Wait) << round << ": " << (*step)->why;
            seen = after(std::move(seen), **step);
            const auto voters = std::ranges::count(seen.members, false, &EtcdMemberSeen::is_learner);
            ASSERT_TRUE(has_majority(seen) || voters <= 2) << round << ": " << done_text(**step);
        }
        ASSERT_LT(steps, 100) << round;
        for (const EtcdHostSeen& host : seen.hosts) {
            EXPECT_TRUE(host.is_prepared && host.is_running && host.bootstrap == SealedBootstrap);
            const auto member = std::ranges::find(seen.members, host.address, &EtcdMemberSeen::address);
            ASSERT_NE(member, seen.members.end());
            EXPECT_FALSE(member->is_learner);
        }
    }
}

}  // namespace
}  // namespace porthole::provision
