#include "store/store.h"

#include "store/store_fixture.h"

namespace porthole::store {
namespace {

struct StoreBasics : StoreTest {
    Result<Committed> guarded(std::vector<Guard> guards, std::vector<Operation> operations) {
        return run(store_->commit({std::move(guards), std::move(operations)}));
    }
    Reason refusal(std::vector<Guard> guards) {
        const auto result = guarded(std::move(guards), {put_of("/x", "new")});
        return result ? Reason::Unknown : result.error().reason;
    }
    std::vector<std::string> keys(const Range& range) {
        std::vector<std::string> keys;
        for (const RecordPtr& record : range.records) keys.push_back(record->key);
        return keys;
    }
};

TEST_F(StoreBasics, EachTransactionGetsTheNextRevision) {
    EXPECT_EQ(store_->revision(), Revision(0));
    EXPECT_EQ(put("/a", "1")->revision, Revision(1));
    EXPECT_EQ(put("/b", "1")->revision, Revision(2));
    EXPECT_EQ(put("/a", "2")->revision, Revision(3));
    const RecordPtr record = store_->get("/a");
    EXPECT_EQ(record->created, Revision(1));
    EXPECT_EQ(record->modified, Revision(3));
    EXPECT_EQ(*record->value.bytes(), "2");
}

TEST_F(StoreBasics, InsertsTheRevisionWhereAskedAlsoAfterReopening) {
    Put put = put_of("/a", R"({"rv":""})");
    put.revision_at = 7;
    ASSERT_TRUE(guarded({}, {put}));
    ASSERT_TRUE(guarded({}, {put}));
    EXPECT_EQ(value("/a"), R"({"rv":"2"})");
    reopen();
    EXPECT_EQ(value("/a"), R"({"rv":"2"})");
}

TEST_F(StoreBasics, GuardsRefuseWithTheReasonThatClientsBranchOn) {
    ASSERT_TRUE(put("/a", "1"));
    ASSERT_TRUE(put("/a", "2"));
    EXPECT_EQ(refusal({Guard::absent("/a")}), Reason::AlreadyExists);
    EXPECT_EQ(refusal({Guard::unchanged("/a", Revision(1))}), Reason::Conflict);
    EXPECT_EQ(refusal({Guard::unchanged("/b", Revision(1))}), Reason::NotFound);
    EXPECT_EQ(refusal({Guard::present("/b")}), Reason::NotFound);
    EXPECT_EQ(refusal({Guard::unchanged("/a", Revision(2)), Guard::absent("/b"), Guard::present("/a")}), Reason::Unknown);
}

TEST_F(StoreBasics, OneRefusedGuardLeavesEveryKeyAlone) {
    ASSERT_TRUE(put("/a", "1"));
    EXPECT_FALSE(guarded({Guard::unchanged("/a", Revision(1)), Guard::absent("/a")}, {put_of("/b", "1"), Delete{"/a"}}));
    EXPECT_EQ(value("/a"), "1");
    EXPECT_EQ(value("/b"), "(absent)");
    EXPECT_EQ(store_->revision(), Revision(1));
}

TEST_F(StoreBasics, ATransactionsOperationsShareARevision) {
    ASSERT_TRUE(put("/a", "1"));
    const auto committed = guarded({}, {put_of("/b", "1"), Delete{"/a"}, Delete{"/absent"}});
    ASSERT_TRUE(committed);
    EXPECT_EQ(committed->revision, Revision(2));
    ASSERT_EQ(committed->events.size(), 3u);
    EXPECT_TRUE(committed->events[0]->is_create());
    EXPECT_EQ(committed->events[1]->type, Event::Type::Delete);
    EXPECT_EQ(*committed->events[1]->previous->value.bytes(), "1");
    EXPECT_EQ(committed->events[2], nullptr);
}

TEST_F(StoreBasics, DeletingNothingTakesNoRevision) {
    ASSERT_TRUE(put("/a", "1"));
    const auto committed = remove("/b");
    ASSERT_TRUE(committed);
    EXPECT_EQ(committed->revision, Revision(1));
}

TEST_F(StoreBasics, ADeletionShowsTheLastStateAtItsOwnRevision) {
    Put put = put_of("/a", "rv=!");
    put.revision_at = 3;
    for (int i = 0; i < 9; ++i) ASSERT_TRUE(guarded({}, {put}));
    const auto removed = remove("/a");
    ASSERT_TRUE(removed);
    EXPECT_EQ(*removed->events[0]->record->value.bytes(), "rv=10!");
    EXPECT_EQ(*removed->events[0]->previous->value.bytes(), "rv=9!");
}

TEST_F(StoreBasics, RangesPageThroughOneRevisionWhileOthersWrite) {
    for (const char* key : {"/p/a", "/p/b", "/p/c", "/p/d", "/q/a"}) ASSERT_TRUE(put(key, "old"));
    const auto first = store_->range({.prefix = "/p/", .limit = 2});
    ASSERT_TRUE(first);
    EXPECT_EQ(keys(*first), (std::vector<std::string>{"/p/a", "/p/b"}));
    EXPECT_EQ(first->remaining, 2u);
    ASSERT_TRUE(remove("/p/c"));
    ASSERT_TRUE(put("/p/d", "new"));
    ASSERT_TRUE(put("/p/e", "new"));
    const auto second = store_->range({.prefix = "/p/", .start_key = first->next_key, .revision = first->revision});
    ASSERT_TRUE(second);
    EXPECT_EQ(keys(*second), (std::vector<std::string>{"/p/c", "/p/d"}));
    EXPECT_EQ(*second->records[1]->value.bytes(), "old");
    EXPECT_EQ(second->next_key, "");
    EXPECT_EQ(store_->count("/p/"), 4u);
}

TEST_F(StoreBasics, ARangeThatIsReadInPiecesIsOfOneRevision) {
    for (const char* key : {"/p/a", "/p/b", "/p/c", "/p/d", "/q/a"}) ASSERT_TRUE(put(key, "old"));
    const RangeRequest request{.prefix = "/p/", .matches = [](const Record& record) { return record.key != "/p/b"; }};
    Range range;
    EXPECT_FALSE(store_->read_on(request, range, 2).value());
    EXPECT_EQ(keys(range), std::vector<std::string>{"/p/a"});
    ASSERT_TRUE(remove("/p/c"));
    ASSERT_TRUE(put("/p/d", "new"));
    ASSERT_TRUE(put("/p/e", "new"));
    EXPECT_FALSE(store_->read_on(request, range, 1).value());
    EXPECT_TRUE(store_->read_on(request, range, 2).value());
    EXPECT_EQ(keys(range), (std::vector<std::string>{"/p/a", "/p/c", "/p/d"}));
    EXPECT_EQ(*range.records[2]->value.bytes(), "old");
    EXPECT_EQ(range.revision, Revision(5));
}

TEST_F(StoreBasics, ARangeWhoseRevisionIsCompactedBetweenItsPiecesExpires) {
    for (const char* key : {"/p/a", "/p/b"}) ASSERT_TRUE(put(key, "old"));
    Range range;
    EXPECT_FALSE(store_->read_on({.prefix = "/p/"}, range, 1).value());
    ASSERT_TRUE(put("/p/b", "new"));
    ASSERT_TRUE(run(store_->compact(store_->revision())));
    const auto read = store_->read_on({.prefix = "/p/"}, range, 1);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().reason, Reason::Expired);
}

TEST_F(StoreBasics, PiecesCountWhatIsLeftOfAPageLikeTheWhole) {
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(put("/p/" + std::to_string(i), ""));
    const RangeRequest request{.prefix = "/p/", .limit = 3};
    Range range;
    for (int pieces = 1; !store_->read_on(request, range, 2).value(); ++pieces) ASSERT_LT(pieces, 6);
    EXPECT_EQ(keys(range), (std::vector<std::string>{"/p/0", "/p/1", "/p/2"}));
    EXPECT_EQ(range.next_key, "/p/3");
    EXPECT_EQ(range.remaining, 7u);
}

TEST_F(StoreBasics, TheLimitCountsWhatMatches) {
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(put("/p/" + std::to_string(i), i % 3 == 0 ? "yes" : "no"));
    RangeRequest request{.prefix = "/p/", .limit = 2, .matches = [](const Record& record) { return *record.value.bytes() == "yes"; }};
    auto page = store_->range(request);
    ASSERT_TRUE(page);
    EXPECT_EQ(keys(*page), (std::vector<std::string>{"/p/0", "/p/3"}));
    EXPECT_EQ(page->next_key, "/p/6");
    request.start_key = page->next_key;
    EXPECT_EQ(keys(*store_->range(request)), (std::vector<std::string>{"/p/6", "/p/9"}));
    EXPECT_EQ(store_->range(request)->next_key, "");
}

TEST_F(StoreBasics, ReadsTheStateOfOldRevisions) {
    ASSERT_TRUE(put("/a", "1"));
    ASSERT_TRUE(remove("/a"));
    ASSERT_TRUE(put("/a", "3"));
    EXPECT_EQ(*(*store_->get_at("/a", Revision(1)))->value.bytes(), "1");
    EXPECT_EQ(*store_->get_at("/a", Revision(2)), nullptr);
    EXPECT_EQ((*store_->get_at("/a", Revision(3)))->created, Revision(3));
    const auto future = store_->get_at("/a", Revision(4));
    ASSERT_FALSE(future);
    EXPECT_EQ(future.error().reason, Reason::Timeout);
    EXPECT_EQ(future.error().message, "Too large resource version: 4, current: 3");
}

TEST_F(StoreBasics, WaitsForARevisionThatIsOnItsWay) {
    std::optional<bool> seen;
    TaskContext context(loop_);
    start_task(store_->wait_for_revision(Revision(1), 3s), context, [&](Result<void> result) { seen = result.has_value(); });
    loop_.advance(1s);
    EXPECT_FALSE(seen);
    ASSERT_TRUE(put("/a", "1"));
    loop_.run_ready();
    EXPECT_EQ(seen, true);
    EXPECT_EQ(run(store_->wait_for_revision(Revision(9), 3s)).error().message, "Too large resource version: 9, current: 1");
}

TEST_F(StoreBasics, OfManyWhoCreateOneKeyExactlyOneSucceeds) {
    std::vector<Task<Committed>> tasks;
    for (int i = 0; i < 10; ++i) tasks.push_back(store_->commit({{Guard::absent("/a")}, {put_of("/a", std::to_string(i))}}));
    AllOperation<Committed> all(std::move(tasks));
    const auto wait = [](AllOperation<Committed>& all) -> Task<std::vector<Result<Committed>>> { co_return co_await all; };
    const auto results = run(wait(all));
    ASSERT_TRUE(results);
    EXPECT_TRUE((*results)[0]);
    for (std::size_t i = 1; i < 10; ++i) EXPECT_EQ((*results)[i].error().reason, Reason::AlreadyExists);
    EXPECT_EQ(value("/a"), "0");
}

TEST_F(StoreBasics, ReopeningGivesTheSameState) {
    ASSERT_TRUE(put("/a", "1"));
    ASSERT_TRUE(put("/b", "2"));
    ASSERT_TRUE(remove("/a"));
    reopen();
    EXPECT_EQ(store_->revision(), Revision(3));
    EXPECT_EQ(value("/a"), "(absent)");
    EXPECT_EQ(store_->get("/b")->attributes->topic(), "2");
    EXPECT_EQ(store_->get("/b")->modified, Revision(2));
    EXPECT_EQ(put("/b", "3")->revision, Revision(4));
}

TEST_F(StoreBasics, AClosedStoreRefusesWithoutHanging) {
    auto watch = store_->watch({.prefix = "/"});
    ASSERT_TRUE(watch);
    ASSERT_TRUE(run(store_->close()));
    EXPECT_EQ(put("/a", "1").error().reason, Reason::ServiceUnavailable);
    EXPECT_EQ(run(watch->next()).error().reason, Reason::ServiceUnavailable);
    loop_.run_ready();
    store_.reset();
}

}  // namespace
}  // namespace porthole::store
