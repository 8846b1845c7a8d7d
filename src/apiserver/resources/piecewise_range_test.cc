#include "apiserver/resources/piecewise_range.h"

#include <gtest/gtest.h>

#include <deque>

#include "runtime/sim/sim_loop.h"
#include "store/memory/memory_engine.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;

/// Each object that a selector looks at takes its time.
struct WorkClock final : Clock {
    MonotonicTime now() const override { return time; }
    SystemTime wall_now() const override { return {}; }
    MonotonicTime time{1h};
};

struct PiecewiseRangeTest : testing::Test {
    void SetUp() override {
        store = *store::Store::open({loop, pool, Logger(make_null_sink(), "test")}, std::make_unique<store::MemoryEngine>(disk), {}, {});
        for (int i = 0; i < 1000; ++i) put("/a/" + std::to_string(i), "old");
    }
    void TearDown() override { EXPECT_TRUE(sim::run(loop, store->close())); }

    void put(const std::string& key, const std::string& value) {
        store::Transaction transaction;
        transaction.operations.push_back(store::Put{key, value});
        EXPECT_TRUE(sim::run(loop, store->commit(std::move(transaction))));
    }
    store::RangeRequest request(Duration of_an_object) {
        return {.prefix = "/a/", .matches = [this, of_an_object](const store::Record& record) {
                    clock.time += of_an_object;
                    return record.key.ends_with("7");
                }};
    }
    /// Reads until it waits for its next turn.
    void begin(store::RangeRequest request, LookAtRecords look = {}) {
        // Another flow waits, so that there is something to pause for.
        start_task(take_turn(), contexts.emplace_back(loop), [](const Result<void>&) {});
        start_task(read_range(*store, std::move(request), &pieces, std::move(look)), contexts.emplace_back(loop),
                   [this](Result<store::Range> read) { result = std::move(read); });
    }
    Task<> take_turn() {
        Turns::Place place(turns);
        if (!place.begin(2)) CO_TRY_VOID(co_await place);
        clock.time += 500us;  // all of the loop's turn
        co_return {};
    }

    sim::SimLoop loop;
    sim::SimWorkerPool pool{loop};
    store::MemoryDisk disk;
    std::unique_ptr<store::Store> store;
    WorkClock clock;
    Turns turns{loop, clock, 500us};
    LongWork work{turns, 1};
    int pauses = 0;
    Pieces pieces{work, clock, [this] { ++pauses; }};
    std::deque<TaskContext> contexts;
    std::optional<Result<store::Range>> result;
};

TEST_F(PiecewiseRangeTest, LetsOthersHaveTheThreadWhateverAnObjectCosts) {
    struct {
        const char* name;
        Duration of_an_object;
        int least, most;
    } const rows[] = {
        {"quick", 1us, 2, 10},
        {"slow", 20us, 20, 200},
        {"slower than a piece", 1ms, 500, 1000},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        result.reset();
        pauses = 0;
        begin(request(row.of_an_object));
        EXPECT_FALSE(result);
        // A flow that always has something to do.
        for (int i = 0; i < 2000; ++i) start_task(take_turn(), contexts.emplace_back(loop), [](const Result<void>&) {});
        loop.run_ready();
        ASSERT_TRUE(result && *result);
        EXPECT_EQ((*result)->records.size(), 100u);
        EXPECT_GE(pauses, row.least);
        EXPECT_LE(pauses, row.most);
    }
}

TEST_F(PiecewiseRangeTest, IsOfOneRevisionWhateverIsWrittenMeanwhile) {
    const store::Revision before = store->revision();
    begin(request(100us));
    ASSERT_FALSE(result);
    put("/a/997", "new");
    put("/a/9997", "new");
    loop.run_ready();
    ASSERT_TRUE(result && *result);
    EXPECT_EQ((*result)->revision, before);
    EXPECT_EQ((*result)->records.size(), 100u);
    for (const store::RecordPtr& record : (*result)->records) EXPECT_EQ(*record->value.bytes(), "old");
}

TEST_F(PiecewiseRangeTest, ReadsTheNewestRevisionIfItsOwnIsCompacted) {
    std::size_t seen = 0;
    const auto look = [&seen](std::span<store::RecordPtr> records) -> Result<void> {
        seen += records.size();
        return {};
    };
    begin(request(100us), look);
    ASSERT_FALSE(result);
    put("/a/997", "new");
    ASSERT_TRUE(sim::run(loop, store->compact(store->revision())));
    loop.run_ready();
    ASSERT_TRUE(result && *result);
    EXPECT_EQ((*result)->revision, store->revision());
    EXPECT_EQ((*result)->records.size(), 100u);
    EXPECT_GE(seen, 100u) << "each record that is answered has been looked at";
}

TEST_F(PiecewiseRangeTest, ARevisionThatTheClientNamesExpires) {
    store::RangeRequest exact = request(100us);
    exact.revision = store->revision();
    begin(std::move(exact));
    ASSERT_FALSE(result);
    put("/a/997", "new");
    ASSERT_TRUE(sim::run(loop, store->compact(store->revision())));
    loop.run_ready();
    ASSERT_TRUE(result && !*result);
    EXPECT_EQ(result->error().reason, Reason::Expired);
}

TEST_F(PiecewiseRangeTest, WhatIsWrongWithARecordEndsIt) {
    const auto look = [](std::span<store::RecordPtr> records) -> Result<void> {
        if (!records.empty()) return Error(Reason::InternalError, "it cannot be decrypted");
        return {};
    };
    begin(request(1us), look);
    loop.run_ready();
    ASSERT_TRUE(result && !*result);
    EXPECT_EQ(result->error().message, "it cannot be decrypted");
}

TEST_F(PiecewiseRangeTest, WithoutPiecesItIsReadAtOnce) {
    start_task(read_range(*store, request(1ms), nullptr), contexts.emplace_back(loop),
               [this](Result<store::Range> read) { result = std::move(read); });
    ASSERT_TRUE(result && *result);
    EXPECT_EQ((*result)->records.size(), 100u);
}

}  // namespace
}  // namespace porthole::apiserver
