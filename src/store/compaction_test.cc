#include "store/store_fixture.h"

namespace porthole::store {
namespace {

using CompactionTest = StoreTest;

TEST_F(CompactionTest, ReopeningGivesTheSameHistory) {
    ASSERT_TRUE(put("/a", "1"));
    ASSERT_TRUE(put("/b", "2"));
    ASSERT_TRUE(remove("/a"));
    reopen();
    auto watch = store_->watch({.prefix = "/", .after = Revision(1)});
    ASSERT_TRUE(watch);
    EXPECT_EQ(text(*run(watch->next())), "+/b=2@2 -/a=1@3");
}

TEST_F(CompactionTest, OldRevisionsExpireAndTheRestStaysReadable) {
    for (int i = 1; i <= 5; ++i) ASSERT_TRUE(put("/a", std::to_string(i)));
    ASSERT_TRUE(run(store_->compact(Revision(3))));
    EXPECT_EQ(store_->compacted(), Revision(3));
    EXPECT_EQ(*(*store_->get_at("/a", Revision(3)))->value.bytes(), "3");
    EXPECT_EQ(*(*store_->get_at("/a", Revision(4)))->value.bytes(), "4");
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

/// An engine whose compactions fail after the first few, as when the process ends or the disk fills up in between.
class EndingEngine final : public Engine {
public:
    EndingEngine(MemoryDisk& disk, std::size_t compactions) : engine_(disk), left_(compactions) {}
    Result<Revision> load(const std::function<void(Row)>& visit) override { return engine_.load(visit); }
    Result<void> append(std::span<const Commit> commits) override { return engine_.append(commits); }
    Result<void> compact(Revision compacted, std::span<const Row> superseded) override {
        if (left_ == 0) return Error(Reason::Io, "the process has ended");
        --left_;
        return engine_.compact(compacted, superseded);
    }
    void close() override { engine_.close(); }

private:
    MemoryEngine engine_;
    std::size_t left_;
};

class CutCompaction : public CompactionTest {
protected:
    /// Opens the store on what is on disk, with an engine that ends after so many transactions of compactions.
    void open_ending_after(std::size_t compactions) {
        Store::Seams seams{loop_, pool_, Logger(make_null_sink(), "store")};
        auto opened = Store::open(std::move(seams), std::make_unique<EndingEngine>(disk_, compactions), {}, options_);
        ASSERT_TRUE(opened) << opened.error().message;
        store_ = std::move(*opened);
    }
    std::map<std::string, std::string> contents() {
        std::map<std::string, std::string> all;
        for (const RecordPtr& record : store_->range({.prefix = "/"})->records) all[record->key] = *record->value.bytes();
        return all;
    }
};

TEST_F(CutCompaction, BringsNothingBackThatWasDeleted) {
    ASSERT_TRUE(put("/k", "1"));
    ASSERT_TRUE(put("/k", "2"));
    for (int i = 0; i < 1500; ++i) ASSERT_TRUE(put("/f", std::to_string(i)));
    ASSERT_TRUE(remove("/k"));
    close();
    open_ending_after(1);
    EXPECT_FALSE(run(store_->compact(store_->revision())));
    reopen();
    EXPECT_FALSE(store_->get("/k"));
    EXPECT_EQ(value("/f"), "1499");
    ASSERT_TRUE(run(store_->compact(store_->revision())));
    EXPECT_EQ(disk_.row_count(), 1u);
}

TEST_F(CutCompaction, ShowsTheSameWhereverItIsCut) {
    options_.compaction_rows = 3;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        SeededRandom random(seed);
        close();
        disk_ = MemoryDisk();
        open();
        // Few keys, so that each is made and deleted again and again.
        for (int i = 0; i < 60; ++i) {
            const std::string key = "/" + std::to_string(random.below(6));
            if (random.below(3) == 0) {
                ASSERT_TRUE(remove(key));
            } else {
                ASSERT_TRUE(put(key, std::to_string(i)));
            }
        }
        const auto expected = contents();
        close();
        const MemoryDisk before = disk_;
        for (std::size_t cut = 0; cut < 25; ++cut) {
            SCOPED_TRACE("cut after " + std::to_string(cut) + " transactions");
            disk_ = before;
            open_ending_after(cut);
            const Revision some(store_->revision().value - random.below(20));
            const auto compacted = run(store_->compact(some));
            (void)compacted;  // it may be cut or not
            close();
            open();
            EXPECT_EQ(contents(), expected);
            // The next compaction may be cut as well.
            close();
            open_ending_after(cut / 2);
            (void)run(store_->compact(store_->revision()));
            close();
            open();
            EXPECT_EQ(contents(), expected);
            close();
        }
        open();
    }
}

}  // namespace
}  // namespace porthole::store
