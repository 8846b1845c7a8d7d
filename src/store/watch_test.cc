#include "store/watch.h"

#include "store/store_fixture.h"

namespace porthole::store {
namespace {

struct WatchTest : StoreTest {
    Watch watch(std::string prefix, std::uint64_t after = 0, std::string topic = "") {
        auto watch = store_->watch({std::move(prefix), Revision(after), std::move(topic)});
        CHECK(watch.has_value());
        return std::move(*watch);
    }
    std::string next(Watch& watch, std::size_t limit = 512) {
        const auto events = sim::run(loop_, watch.next(limit), 1s);
        return events ? text(*events) : events.error().message;
    }
};

TEST_F(WatchTest, DeliversPastAndFutureInOrder) {
    ASSERT_TRUE(put("/a", "1"));
    Watch all = watch("/");
    ASSERT_TRUE(put("/b", "1"));
    ASSERT_TRUE(remove("/a"));
    EXPECT_EQ(next(all), "+/a=1@1 +/b=1@2 -/a=1@3");
    ASSERT_TRUE(put("/b", "2"));
    EXPECT_EQ(next(all), "/b=2@4");
    EXPECT_EQ(next(all), "the task did not end in time");
}

TEST_F(WatchTest, SeesOnlyItsPrefixOrKey) {
    Watch namespaced = watch("/pods/a/"), one = watch("/pods/a/x"), other = watch("/pods/ab/");
    for (const char* key : {"/pods/a/x", "/pods/a/xy", "/pods/ab/x", "/nodes/x"}) ASSERT_TRUE(put(key, "1"));
    EXPECT_EQ(next(namespaced), "+/pods/a/x=1@1 +/pods/a/xy=1@2");
    EXPECT_EQ(next(one), "+/pods/a/x=1@1");
    EXPECT_EQ(next(other), "+/pods/ab/x=1@3");
    EXPECT_EQ(one.revision(), Revision(4));
}

TEST_F(WatchTest, StartsAfterARevisionOfTheFuture) {
    Watch later = watch("/", 2);
    for (int i = 1; i <= 3; ++i) ASSERT_TRUE(put("/a", std::to_string(i)));
    EXPECT_EQ(next(later), "/a=3@3");
}

TEST_F(WatchTest, ATopicShowsWhatEntersAndLeavesIt) {
    Watch live = watch("/", 0, "n1");
    ASSERT_TRUE(put("/a", "n1;1"));
    ASSERT_TRUE(put("/a", "n1;2"));
    ASSERT_TRUE(put("/b", "n2;1"));
    ASSERT_TRUE(put("/a", "n2;3"));
    ASSERT_TRUE(put("/a", "n2;4"));
    Watch replayed = watch("/", 0, "n1");
    const std::string expected = "+/a=n1;1@1 /a=n1;2@2 /a=n2;3@4";
    EXPECT_EQ(next(live), expected);
    EXPECT_EQ(next(replayed), expected);
}

TEST_F(WatchTest, ASlowReaderMissesNothing) {
    Watch slow = watch("/");
    for (int i = 1; i <= 3000; ++i) ASSERT_TRUE(put("/a", std::to_string(i)));
    for (int i = 1; i <= 3000;) {
        const auto events = run(slow.next(100));
        ASSERT_TRUE(events);
        for (const EventPtr& event : *events) ASSERT_EQ(event->revision, Revision(static_cast<std::uint64_t>(i++)));
    }
    ASSERT_TRUE(put("/a", "last"));
    EXPECT_EQ(next(slow), "/a=last@3001");
}

TEST_F(WatchTest, AReaderThatCompactionOvertakesIsExpired) {
    Watch slow = watch("/"), quick = watch("/");
    for (int i = 1; i <= 3000; ++i) {
        ASSERT_TRUE(put("/a", std::to_string(i)));
        next(quick);
    }
    ASSERT_TRUE(run(store_->compact(Revision(2000))));
    EXPECT_EQ(next(slow), "too old resource version: 0 (2000)");
    ASSERT_TRUE(put("/a", "last"));
    EXPECT_EQ(next(quick), "/a=last@3001");
}

TEST_F(WatchTest, AReaderOfLargeObjectsHoldsFewOfThem) {
    Watch slow = watch("/");
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(put("/" + std::to_string(i), std::string(1 << 20, 'x')));
    Watch late = watch("/");
    for (Watch* each : {&slow, &late}) EXPECT_EQ(run(each->next())->size(), 4u) << "a batch is bounded, too";
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(remove("/" + std::to_string(i)));
    ASSERT_TRUE(run(store_->compact(Revision(30))));
    EXPECT_EQ(next(slow), "too old resource version: 4 (30)") << "it keeps nothing that the history has forgotten";
}

TEST_F(WatchTest, ItsRevisionNeverRunsAheadOfADelivery) {
    Watch all = watch("/");
    ASSERT_TRUE(run(store_->commit({{}, {put_of("/a", "1"), put_of("/b", "1")}})));
    EXPECT_EQ(all.revision(), Revision(0));
    EXPECT_EQ(next(all, 1), "+/a=1@1");
    EXPECT_EQ(all.revision(), Revision(0));  // half of the transaction is still to come
    EXPECT_EQ(next(all), "+/b=1@1");
    EXPECT_EQ(all.revision(), Revision(1));
    ASSERT_TRUE(put("/c", "1"));
    EXPECT_EQ(all.revision(), Revision(1));
}

TEST_F(WatchTest, WakesWhoeverWaits) {
    Watch all = watch("/");
    TaskContext context(loop_);
    std::string seen;
    start_task(all.next(), context, [&](Result<std::vector<EventPtr>> events) { seen = text(*events); });
    loop_.run_ready();
    EXPECT_EQ(seen, "");
    ASSERT_TRUE(put("/a", "1"));
    loop_.run_ready();
    EXPECT_EQ(seen, "+/a=1@1");
}

TEST_F(WatchTest, AReaderThatWaitsForItsTurnTakesWhatHasComeMeanwhile) {
    ASSERT_TRUE(put("/0", "1"));
    Watch all = watch("/");
    const auto wait = [&] { return sim::run(loop_, all.wait(), 1s).has_value(); };
    const auto take = [&](std::size_t limit = Watch::Batch) { return text(*all.take(limit)); };
    EXPECT_TRUE(wait());
    EXPECT_EQ(take(), "+/0=1@1") << "of its past";
    EXPECT_FALSE(wait());
    ASSERT_TRUE(put("/a", "1"));
    EXPECT_TRUE(wait());
    EXPECT_EQ(all.revision(), Revision(1));
    ASSERT_TRUE(put("/b", "1"));
    ASSERT_TRUE(put("/c", "1"));
    EXPECT_EQ(take(2), "+/a=1@2 +/b=1@3");
    EXPECT_TRUE(wait());
    EXPECT_EQ(take(), "+/c=1@4");
    EXPECT_EQ(take(), "");
    EXPECT_EQ(all.revision(), Revision(4));
    EXPECT_FALSE(wait());
}

TEST_F(WatchTest, EveryWatcherSharesTheSameBytes) {
    Watch one = watch("/"), two = watch("/a");
    ASSERT_TRUE(put("/a", "1"));
    const auto first = run(one.next()), second = run(two.next());
    EXPECT_EQ(first->front()->record->value.bytes().get(), second->front()->record->value.bytes().get());
    EXPECT_EQ(first->front()->record, store_->get("/a"));
}

}  // namespace
}  // namespace porthole::store
