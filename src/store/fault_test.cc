#include "store/store_fixture.h"

namespace porthole::store {
namespace {

using FaultTest = StoreTest;

TEST_F(FaultTest, WritesOfOneMomentShareOneSync) {
    std::vector<Task<Committed>> tasks;
    for (int i = 0; i < 64; ++i) tasks.push_back(store_->commit({{}, {put_of("/" + std::to_string(i), "1")}}));
    AllOperation<Committed> all(std::move(tasks));
    const auto wait = [](AllOperation<Committed>& all) -> Task<std::vector<Result<Committed>>> { co_return co_await all; };
    ASSERT_TRUE(run(wait(all)));
    EXPECT_EQ(store_->revision(), Revision(64));
    EXPECT_EQ(disk_.append_count(), 1u);
}

TEST_F(FaultTest, WritesThatCanWaitShareASyncWithLaterOnes) {
    const MonotonicTime start = loop_.now();
    const auto put_later = [this](std::string key, Duration delay, bool patient) -> Task<Committed> {
        CO_TRY_VOID(co_await loop_.sleep(delay));
        Transaction transaction{.operations = {put_of(std::move(key), "1")}, .patient = patient};
        co_return co_await store_->commit(std::move(transaction));
    };
    const auto all_of = [](std::vector<Task<Committed>> tasks) -> Task<std::vector<Result<Committed>>> {
        AllOperation<Committed> all(std::move(tasks));
        co_return co_await all;
    };
    std::vector<Task<Committed>> tasks;
    for (int i = 0; i < 8; ++i) tasks.push_back(put_later("/" + std::to_string(i), i * 10ms, true));
    ASSERT_TRUE(run(all_of(std::move(tasks))));
    EXPECT_EQ(disk_.append_count(), 1u);
    EXPECT_EQ(loop_.now() - start, 100ms);

    tasks.clear();
    tasks.push_back(put_later("/patient", 0ms, true));
    tasks.push_back(put_later("/urgent", 20ms, false));
    ASSERT_TRUE(run(all_of(std::move(tasks))));
    EXPECT_EQ(disk_.append_count(), 2u);
    EXPECT_EQ(loop_.now() - start, 120ms) << "what is urgent takes along what waits";
}

TEST_F(FaultTest, AStoreClosesWhileAWriteWaitsForOthers) {
    std::optional<Result<Committed>> result;
    Scope scope(loop_);
    scope.spawn([](Store& store, std::optional<Result<Committed>>& result) -> Task<> {
        Transaction transaction{.operations = {put_of("/a", "1")}, .patient = true};
        result = co_await store.commit(std::move(transaction));
        co_return {};
    }(*store_, result));
    loop_.run_ready();
    EXPECT_FALSE(result);
    close();
    ASSERT_TRUE(result);
    open();
    EXPECT_EQ(value("/a"), *result ? "1" : "(absent)");
}

TEST_F(FaultTest, AFullDiskRefusesWritesAndLeavesReadsAlone) {
    ASSERT_TRUE(put("/a", "1"));
    auto watch = store_->watch({.prefix = "/", .after = Revision(1)});
    ASSERT_TRUE(watch);
    disk_.fail_next(MemoryDisk::Fault::Full, 2);
    for (int i = 0; i < 2; ++i) {
        const auto refused = run(store_->commit({{}, {put_of("/a", "2"), put_of("/b", "2")}}));
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().reason, Reason::Io);
    }
    EXPECT_EQ(value("/a"), "1");
    EXPECT_EQ(value("/b"), "(absent)");
    EXPECT_EQ(store_->revision(), Revision(1));

    EXPECT_EQ(put("/a", "3")->revision, Revision(2));
    EXPECT_EQ(text(*run(watch->next())), "/a=3@2");
}

TEST_F(FaultTest, AGuardAgainstAWriteThatThenFailsIsAskedAgain) {
    disk_.fail_next(MemoryDisk::Fault::Full);
    std::vector<Task<Committed>> tasks;
    for (const char* text : {"first", "second"}) {
        tasks.push_back(store_->commit({{Guard::absent("/a")}, {put_of("/a", text)}}));
    }
    AllOperation<Committed> all(std::move(tasks));
    const auto wait = [](AllOperation<Committed>& all) -> Task<std::vector<Result<Committed>>> { co_return co_await all; };
    const auto results = run(wait(all));
    EXPECT_EQ((*results)[0].error().reason, Reason::Io);
    EXPECT_TRUE((*results)[1]);
    EXPECT_EQ(value("/a"), "second");
}

TEST_F(FaultTest, AfterAFailedSyncACrashShowsWholeTransactionsOrNone) {
    int shown = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::string key = "/" + std::to_string(seed);
        disk_.fail_next(MemoryDisk::Fault::SyncFails);
        ASSERT_FALSE(run(store_->commit({{}, {put_of(key, "1"), put_of(key + "/x", "1")}})));
        EXPECT_EQ(value(key), "(absent)");
        close();
        SeededRandom random(seed);
        disk_.crash(random);
        open();
        EXPECT_EQ(value(key), value(key + "/x"));
        shown += value(key) == "1";
        ASSERT_TRUE(put("/acknowledged", std::to_string(seed)));
    }
    EXPECT_GT(shown, 0);
    EXPECT_LT(shown, 20);
}

TEST_F(FaultTest, WhatAFailedSyncLeftIsWrittenOver) {
    disk_.fail_next(MemoryDisk::Fault::SyncFails);
    ASSERT_FALSE(put("/lost", "1"));
    ASSERT_TRUE(put("/kept", "1"));
    close();
    SeededRandom random(1);
    disk_.crash(random);
    open();
    EXPECT_EQ(value("/lost"), "(absent)");
    EXPECT_EQ(value("/kept"), "1");
}

TEST_F(FaultTest, ACancelledCallerDoesNotStopItsTransaction) {
    TaskContext context(loop_);
    std::optional<Reason> ended;
    start_task(store_->commit({{}, {put_of("/a", "1")}}), context,
               [&](Result<Committed> result) { ended = result ? Reason::Unknown : result.error().reason; });
    context.cancel();
    loop_.run_ready();
    EXPECT_EQ(ended, Reason::Cancelled);
    EXPECT_EQ(value("/a"), "1");
}

}  // namespace
}  // namespace porthole::store
