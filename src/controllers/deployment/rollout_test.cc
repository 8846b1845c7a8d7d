#include "controllers/deployment/rollout.h"

#include <gtest/gtest.h>

#include "controllers/deployment/annotations.h"
#include "controllers/deployment/revisions.h"

namespace porthole::controllers::deployment {
namespace {

Deployment deployment(std::int32_t replicas, IntOrString surge, IntOrString unavailable) {
    Deployment result;
    result.spec.replicas = replicas;
    auto& update = result.spec.strategy.rolling_update.emplace();
    update.max_surge = surge;
    update.max_unavailable = unavailable;
    return result;
}

ReplicaSet set(std::int32_t replicas, std::int32_t available, std::int32_t annotated_max = 0) {
    ReplicaSet result;
    result.spec.replicas = replicas;
    result.status.available_replicas = available;
    if (annotated_max > 0) set_replicas_annotations(result, annotated_max, annotated_max);
    return result;
}

TEST(RollingUpdateLimits, RoundsSurgeUpAndUnavailableDownAndNeverStandsStill) {
    const struct {
        const char* name;
        std::int32_t replicas;
        IntOrString surge, unavailable;
        std::int32_t surge_is, unavailable_is;
    } rows[] = {
        {"percentages", 10, "25%", "25%", 3, 2}, {"numbers", 10, 1, 0, 1, 0},
        {"both nothing", 10, 0, 0, 0, 1},        {"both nothing after rounding", 2, 0, "25%", 0, 1},
        {"more than there are", 3, 0, 10, 0, 3}, {"no replicas", 0, "25%", "25%", 0, 0},
    };
    for (const auto& row : rows) {
        const RollingUpdateLimits result = rolling_update_limits(deployment(row.replicas, row.surge, row.unavailable));
        EXPECT_EQ(result.max_surge, row.surge_is) << row.name;
        EXPECT_EQ(result.max_unavailable, row.unavailable_is) << row.name;
    }
}

TEST(NewSetSize, GrowsAsFarAsTheSurgeAllows) {
    const Deployment wanted = deployment(10, 2, 0);
    EXPECT_EQ(new_set_size(wanted, {set(10, 10)}, 0), 2);
    EXPECT_EQ(new_set_size(wanted, {set(8, 8), set(2, 2)}, 2), 4);
    EXPECT_EQ(new_set_size(wanted, {set(10, 10), set(2, 0)}, 2), 2);
    EXPECT_EQ(new_set_size(wanted, {set(1, 1), set(9, 9)}, 9), 10);
    EXPECT_EQ(new_set_size(wanted, {set(12, 12)}, 12), 10);
}

TEST(ShrunkSizes, KeepEnoughAvailable) {
    const struct {
        const char* name;
        Deployment wanted;
        std::vector<ReplicaSet> old;
        ReplicaSet fresh;
        std::vector<std::int32_t> sizes;
    } rows[] = {
        {"may lack two", deployment(10, 0, 2), {set(10, 10)}, set(0, 0), {8}},
        {"new ones not up yet", deployment(10, 2, 0), {set(10, 10)}, set(2, 0), {10}},
        {"new ones up", deployment(10, 2, 0), {set(10, 10)}, set(2, 2), {8}},
        {"unhealthy go first, whatever their age", deployment(10, 2, 0), {set(5, 5), set(5, 2)}, set(2, 2), {5, 3}},
        {"one may lack, one is missing", deployment(10, 0, 1), {set(10, 9)}, set(0, 0), {9}},
        {"oldest first", deployment(4, 2, 2), {set(2, 2), set(2, 2)}, set(2, 2), {0, 0}},
    };
    for (const auto& row : rows) EXPECT_EQ(shrunk_sizes(row.wanted, row.old, row.fresh), row.sizes) << row.name;
}

TEST(RevisionHistory, ForgetsTheOldestBeyond2000Bytes) {
    ReplicaSet one;
    for (std::int64_t revision = 1; revision <= 1000; ++revision) set_revision_annotations(Deployment(), one, revision);
    const std::string& history = one.metadata.annotations.at(HistoryAnnotation);
    EXPECT_LE(history.size(), 2000u);
    EXPECT_GT(history.size(), 1990u);
    EXPECT_TRUE(history.ends_with(",998,999")) << history;
}

TEST(ProportionalSizes, EachSetKeepsItsShare) {
    const struct {
        const char* name;
        Deployment wanted;
        std::vector<ReplicaSet> active;
        std::vector<std::int32_t> sizes;
    } rows[] = {
        {"grows with the larger first", deployment(20, 0, 1), {set(7, 7, 10), set(3, 3, 10)}, {14, 6}},
        {"shrinks", deployment(5, 0, 1), {set(6, 6, 10), set(4, 4, 10)}, {3, 2}},
        {"left-overs go to the first", deployment(11, 0, 1), {set(5, 5, 10), set(5, 5, 10)}, {6, 5}},
        {"down to nothing", deployment(0, 0, 1), {set(6, 6, 10), set(4, 4, 10)}, {0, 0}},
        {"surge is shared, too", deployment(20, 10, 1), {set(10, 10, 15), set(5, 5, 15)}, {20, 10}},
    };
    for (const auto& row : rows) EXPECT_EQ(proportional_sizes(row.wanted, row.active), row.sizes) << row.name;
}

TEST(History, RemovesTheOldestBeyondTheLimitIfTheyAreEmpty) {
    Deployment wanted = deployment(1, 1, 0);
    wanted.spec.revision_history_limit = 1;
    std::vector<ReplicaSet> old;
    for (int i = 1; i <= 4; ++i) {
        ReplicaSet one = set(0, 0);
        one.metadata.name = std::to_string(i);
        set_revision_annotations(wanted, one, i);
        old.push_back(one);
    }
    old[1].status.replicas = 1;
    const auto removed = beyond_history(wanted, old);
    ASSERT_EQ(removed.size(), 2u);
    EXPECT_EQ(removed[0].metadata.name, "1");
    EXPECT_EQ(removed[1].metadata.name, "3");
    wanted.spec.revision_history_limit = INT32_MAX;
    EXPECT_TRUE(beyond_history(wanted, old).empty());
}

TEST(Revisions, AReusedSetRemembersItsPast) {
    Deployment wanted = deployment(1, 1, 0);
    wanted.metadata.annotations = {{"note", "x"}, {"kubectl.kubernetes.io/last-applied-configuration", "{}"}};
    ReplicaSet one;
    EXPECT_TRUE(set_revision_annotations(wanted, one, 1));
    EXPECT_FALSE(set_revision_annotations(wanted, one, 1));
    EXPECT_TRUE(set_revision_annotations(wanted, one, 3));
    EXPECT_TRUE(set_revision_annotations(wanted, one, 5));
    EXPECT_EQ(one.metadata.annotations,
              (std::map<std::string, std::string>{
                  {"note", "x"}, {"deployment.kubernetes.io/revision", "5"}, {"deployment.kubernetes.io/revision-history", "1,3"}}));
}

}  // namespace
}  // namespace porthole::controllers::deployment
