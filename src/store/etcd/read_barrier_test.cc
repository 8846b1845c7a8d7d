#include <gmock/gmock.h>

#include "store/etcd/etcd_store_fixture.h"

namespace porthole::store::etcd {
namespace {

/// A server whose watch says nothing, and another one's that does.
struct ReadBarrierTest : EtcdStoreTest {
    std::unique_ptr<Store> other;

    ~ReadBarrierTest() override { close(other); }
    static SharedStore& shared(Store& store) { return dynamic_cast<SharedStore&>(store); }
    struct Waiting {
        Waiting(sim::SimLoop& loop, Task<> task) : context(loop) {
            start_task(std::move(task), context, [this](Result<void> value) { result.emplace(std::move(value)); });
        }
        bool done() const { return result.has_value(); }
        TaskContext context;
        std::optional<Result<void>> result;
    };
};

TEST_F(ReadBarrierTest, AReaderSeesWhatAnotherServerHasAcknowledged) {
    open();
    other = std::move(store);
    etcd.silence_watches();
    open();
    ASSERT_TRUE(create("/a", "1"));
    EXPECT_FALSE(other->get("/a")) << "its watch has said nothing";
    Waiting reader(loop, shared(*other).catch_up());
    loop.advance(1s);
    EXPECT_FALSE(reader.done());
    etcd.cut();  // and the next watch delivers
    loop.advance(1s);
    ASSERT_TRUE(reader.done());
    EXPECT_TRUE(*reader.result) << reader.result->error().message;
    EXPECT_TRUE(other->get("/a"));
}

TEST_F(ReadBarrierTest, WhereNothingIsNewOneReadIsAll) {
    open();
    ASSERT_TRUE(create("/a", "1"));
    const std::size_t ranges = etcd.ranges, txns = etcd.txns;
    ASSERT_TRUE(sim::run(loop, shared(*store).catch_up()));
    EXPECT_EQ(etcd.ranges, ranges + 1);
    EXPECT_EQ(etcd.txns, txns);
}

TEST_F(ReadBarrierTest, ThoseWhoWaitShareAReadThatBeginsAfterTheyCame) {
    open();
    const std::size_t ranges = etcd.ranges;
    porthole::Event answer;
    etcd.before_range = [&](const RangeRequest&) { return answer.wait(); };
    std::vector<std::unique_ptr<Waiting>> readers;
    readers.push_back(std::make_unique<Waiting>(loop, shared(*store).catch_up()));
    loop.run_ready();
    EXPECT_EQ(etcd.ranges, ranges + 1);
    for (int i = 0; i < 100; ++i) readers.push_back(std::make_unique<Waiting>(loop, shared(*store).catch_up()));
    loop.run_ready();
    EXPECT_EQ(etcd.ranges, ranges + 1) << "they wait for the end of the first, which began before they came";
    answer.set();
    loop.run_ready();
    EXPECT_EQ(etcd.ranges, ranges + 2);
    for (const auto& reader : readers) EXPECT_TRUE(reader->done() && *reader->result);
}

TEST_F(ReadBarrierTest, ARevisionOfAnotherPrefixIsReachedByTouchingAKey) {
    open();
    etcd.put("/other/a", ";1");
    const std::size_t txns = etcd.txns;
    Waiting one(loop, shared(*store).catch_up()), two(loop, shared(*store).catch_up());
    loop.advance(20ms);
    EXPECT_FALSE(one.done());
    Waiting three(loop, shared(*store).catch_up());
    loop.advance(200ms);
    EXPECT_TRUE(one.done() && *one.result);
    EXPECT_TRUE(two.done() && *two.result);
    EXPECT_TRUE(three.done() && *three.result);
    EXPECT_EQ(etcd.txns, txns + 1) << "once for all of them";
    EXPECT_GE(store->revision(), Revision(static_cast<std::uint64_t>(etcd.revision())));
}

TEST_F(ReadBarrierTest, WhatDoesNotArriveIsATimeoutThatNamesTheRevisions) {
    open();
    etcd.hold_watches(true);
    put_there("/a", "1");
    Waiting reader(loop, shared(*store).catch_up());
    loop.advance(8s);
    ASSERT_TRUE(reader.done());
    EXPECT_EQ(reader.result->error().reason, Reason::Timeout);
    EXPECT_EQ(reader.result->error().message, "Too large resource version: 2, current: 1");
}

TEST_F(ReadBarrierTest, OfAnEtcdThatIsFullReadsGoOnAndAreOfTheNewest) {
    open();
    for (const char* key : {"/a", "/b", "/c"}) ASSERT_TRUE(create(key, "1"));
    etcd.put("/other/a", ";1");
    etcd.exceed_space(true);
    EXPECT_TRUE(sim::run(loop, shared(*store).catch_up())) << "what is visible is all that there is";
    const std::size_t ranges = etcd.ranges;
    EXPECT_TRUE(sim::run(loop, shared(*store).catch_up()));
    EXPECT_EQ(etcd.ranges, ranges + 1) << "all keys are read once for a revision";
    EXPECT_TRUE(remove("/a"));

    struct {
        const char* name;
        std::function<void()> happens;
    } const rows[] = {
        {"a change", [this] { etcd.put("/registry/b", ";2"); }},
        {"a new key", [this] { etcd.put("/registry/d", ";1"); }},
        {"a deletion", [this] { etcd.remove("/registry/c"); }},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        etcd.hold_watches(true);
        row.happens();
        etcd.remove("/other/a");
        etcd.put("/other/a", ";1");
        Waiting reader(loop, shared(*store).catch_up());
        loop.advance(1s);
        EXPECT_FALSE(reader.done()) << "it has not arrived yet";
        etcd.hold_watches(false);
        loop.advance(500ms);
        EXPECT_TRUE(reader.done() && *reader.result);
    }
    EXPECT_EQ(here("/b") + here("/c") + here("/d"), "2(absent)1");
    etcd.exceed_space(false);
    EXPECT_TRUE(sim::run(loop, shared(*store).catch_up()));
}

TEST_F(ReadBarrierTest, WithoutEtcdItFailsAndMemoryStaysReadable) {
    open();
    ASSERT_TRUE(create("/a", "1"));
    for (std::size_t member = 0; member < 3; ++member) etcd.stop(member);
    Waiting reader(loop, shared(*store).catch_up());
    loop.advance(12s);
    ASSERT_TRUE(reader.done());
    EXPECT_EQ(reader.result->error().reason, Reason::ServiceUnavailable);
    EXPECT_TRUE(reader.result->error().message.starts_with("etcd is not available (m1: connection refused"))
        << reader.result->error().message;
    EXPECT_EQ(here("/a"), "1");
}

TEST_F(ReadBarrierTest, AClosedStoreLetsNobodyWait) {
    open();
    porthole::Event never;
    etcd.before_range = [&](const RangeRequest&) { return never.wait(); };
    Waiting reader(loop, shared(*store).catch_up());
    loop.run_ready();
    EXPECT_TRUE(sim::run(loop, store->close()));
    loop.run_ready();
    ASSERT_TRUE(reader.done());
    EXPECT_EQ(reader.result->error().reason, Reason::ServiceUnavailable);
    EXPECT_EQ(sim::run(loop, shared(*store).catch_up()).error().reason, Reason::ServiceUnavailable);
    store.reset();
    never.set();
    loop.run_ready();
}

TEST_F(ReadBarrierTest, AReaderWhoWasCancelledHoldsUpNobody) {
    open();
    {
        Waiting cancelled(loop, shared(*store).catch_up());
        loop.run_ready();
        cancelled.context.cancel();
        loop.run_ready();
    }
    EXPECT_TRUE(sim::run(loop, shared(*store).catch_up()));
}

}  // namespace
}  // namespace porthole::store::etcd
