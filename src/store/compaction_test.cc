#include "store/store_fixture.h"

namespace porthole::store {
namespace {

using CompactionTest = StoreTest;

TEST_F(CompactionTest, OldRevisionsExpireAndTheRestStaysReadable) {
    for (int i = 1; i <= 5; ++i) ASSERT_TRUE(put("/a", std::to_string(i)));
    ASSERT_TRUE(run(store_->compact(Revision(3))));
    EXPECT_EQ(store_->compacted(), Revision(3));
    EXPECT_EQ(*(*store_->get_at("/a", Revision(3)))->value, "3");
    EXPECT_EQ(*(*store_->get_at("/a", Revision(4)))->value, "4");
    const auto old = store_->get_at("/a", Revision(2));
    ASSERT_FALSE(old);
    EXPECT_EQ(old.error().reason, Reason::Expired);
    EXPECT_EQ(old.error().message, "too old resource version: 2 (3)");
    EXPECT_EQ(store_->range({.prefix = "/", .revision = Revision(2)}).error().reason, Reason::Expired);
    EXPECT_EQ(store_->watch({.prefix = "/", .after = Revision(2)}).error().reason, Reason::Expired);
    EXPECT_TRUE(store_->watch({.prefix = "/", .after = Revision(3)}));
}

TEST_F(CompactionTest, SupersededRowsLeaveTheDisk) {
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(put("/a", "1"));
    ASSERT_TRUE(put("/b", "1"));
    ASSERT_TRUE(remove("/b"));
    EXPECT_EQ(disk_.row_count(), 12u);
    ASSERT_TRUE(run(store_->compact(store_->revision())));
    EXPECT_EQ(disk_.row_count(), 1u);
    reopen();
    EXPECT_EQ(store_->revision(), Revision(12));  // although no row says so
    EXPECT_EQ(store_->compacted(), Revision(12));
    EXPECT_EQ(store_->get("/a")->created, Revision(1));
    EXPECT_EQ(put("/a", "2")->revision, Revision(13));
}

TEST_F(CompactionTest, HistoryIsKeptForItsTime) {
    ASSERT_TRUE(put("/a", "1"));
    ASSERT_TRUE(put("/a", "2"));
    loop_.advance(4min);
    EXPECT_TRUE(store_->get_at("/a", Revision(1)));
    loop_.advance(2min);
    EXPECT_FALSE(store_->get_at("/a", Revision(1)));
    EXPECT_EQ(value("/a"), "2");
}

struct SmallHistory : StoreTest {
    SmallHistory() {
        options_.keep_events = 100;
        options_.keep_bytes = 10'000;
    }
};

TEST_F(SmallHistory, EventsAreBounded) {
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(put("/a", "1"));
    loop_.run_ready();
    EXPECT_GE(store_->compacted(), Revision(890));
    EXPECT_LE(store_->compacted(), Revision(920));
}

TEST_F(SmallHistory, BytesAreBounded) {
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(put("/a", std::string(1000, 'x')));
    loop_.run_ready();
    EXPECT_GE(store_->compacted(), Revision(39));
    EXPECT_LT(store_->compacted(), Revision(45));
}

TEST_F(CompactionTest, ACompactionCutShortIsFinishedAfterReopening) {
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(put("/a", "1"));
    ASSERT_TRUE(put("/b", "1"));
    ASSERT_TRUE(remove("/b"));
    // What a crash leaves that comes after the first of several small compaction transactions.
    ASSERT_TRUE(MemoryEngine(disk_).compact(Revision(12), {}));
    reopen();
    EXPECT_EQ(store_->count("/"), 1u);
    EXPECT_EQ(store_->get("/a")->modified, Revision(10));
    ASSERT_TRUE(run(store_->compact(store_->revision())));
    EXPECT_EQ(disk_.row_count(), 1u);
}

}  // namespace
}  // namespace porthole::store
