#include <list>

#include "base/result.h"
#include "runtime/scope.h"
#include "store/etcd/client.h"
#include "store/etcd/etcd_store_fixture.h"
#include "store/etcd/fence.h"

namespace porthole::store::etcd {
namespace {

/// What becomes of writes and loads when connections, members and the state itself are lost.
using EtcdLossTest = EtcdStoreTest;

/// Carries so many bytes to etcd, and breaks.
class ShortLived final : public net::ByteStream {
public:
    ShortLived(std::unique_ptr<net::ByteStream> stream, std::size_t bytes) : stream_(std::move(stream)), left_(bytes) {}
    Task<std::size_t> read(std::span<char> buffer) override { return stream_->read(buffer); }
    Task<> write(std::string_view bytes) override {
        if (bytes.size() > left_) stream_->close();
        left_ -= std::min(left_, bytes.size());
        return stream_->write(bytes);
    }
    Task<> end_writing() override { return stream_->end_writing(); }
    void close() override { stream_->close(); }

private:
    std::unique_ptr<net::ByteStream> stream_;
    std::size_t left_;
};

TEST_F(EtcdLossTest, WhatWasCreatedAndThenDeletedIsNotCreatedAgain) {
    open();
    etcd.break_next_txn(EtcdModel::Break::After, [&] { etcd.remove("/registry/a"); });
    const auto created = create("/a", "1");
    EXPECT_EQ(there("/a"), "") << "the object of another one's deletion";
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().reason, Reason::Timeout);
    EXPECT_EQ(created.error().message,
              "etcd has not answered at first, and whether the request was carried out is unknown (key \"/a\" was changed at revision 2)");
}

TEST_F(EtcdLossTest, WhatWasDeletedAndThenCreatedIsNotDeletedAgain) {
    put_there("/a", "1");
    open();
    etcd.break_next_txn(EtcdModel::Break::After, [&] { etcd.put("/registry/a", ";2"); });
    Transaction removal{.guards = {Guard::present("/a")}};
    removal.operations.push_back(Delete{"/a"});
    EXPECT_EQ(commit(removal).error().reason, Reason::Timeout);
    EXPECT_EQ(there("/a"), ";2");
}

TEST_F(EtcdLossTest, ACreationIsNotRepeatedWhereItIsNotKnownWhatHasHappened) {
    open();
    ASSERT_TRUE(put("/b", "1"));
    etcd.break_next_txn(EtcdModel::Break::After, [&] {
        etcd.remove("/registry/a");
        etcd.compact(etcd.revision());
    });
    EXPECT_EQ(create("/a", "1").error().reason, Reason::Timeout);
    EXPECT_EQ(there("/a"), "");
}

TEST_F(EtcdLossTest, ARestoredEtcdIsKnownEvenWhenItHasPassedWhatWasSeen) {
    open();
    for (const char* value : {"1", "2", "3"}) ASSERT_TRUE(put("/a", value));
    Watch followed = watch(store->revision());
    etcd.restore(2, true);
    for (int i = 0; i < 5; ++i) etcd.put("/registry/b", ";1");
    loop.advance(1s);
    EXPECT_EQ(here("/a"), "1");
    EXPECT_EQ(next(followed), "Expired");
    // And without a change since the load.
    etcd.restore(2, true);
    for (int i = 0; i < 7; ++i) etcd.put("/registry/c", ";1");
    loop.advance(1s);
    EXPECT_EQ(here("/b"), "(absent)");
}

TEST_F(EtcdLossTest, AnEtcdThatStayedTheSameIsNotLoadedAgain) {
    open();
    ASSERT_TRUE(put("/a", "1"));
    Watch followed = watch(store->revision());
    etcd.cut();
    loop.advance(1s);
    ASSERT_TRUE(remove("/a"));
    etcd.cut();
    loop.advance(1s);
    ASSERT_TRUE(put("/b", "1"));
    EXPECT_EQ(next(followed), "-/a=1@3 +/b=1@4 ");
}

TEST_F(EtcdLossTest, WhatWasSentWhenTheStoreClosesIsNotSaidToBeUndone) {
    open();
    etcd.before_txn = [this] { return loop.sleep(1h); };
    Pending writing_a(loop, store->commit(writing("/a", "1")));
    EXPECT_TRUE(sim::run(loop, store->close()));
    ASSERT_TRUE(writing_a.result);
    EXPECT_EQ(writing_a.result->error().reason, Reason::Timeout);
    store.reset();
}

TEST_F(EtcdLossTest, ALoadThatFailsInBetweenIsBegunAnew) {
    std::map<std::string, std::string> many;
    for (int i = 0; i < 600; ++i) many["/registry/" + std::to_string(i)] = ";1";
    etcd.put_all(many);
    open();
    ASSERT_TRUE(put("/a", "1"));
    etcd.restore(2);
    for (int i = 0; i < 3; ++i) etcd.put("/registry/b", ";1");
    etcd.before_range = [](const RangeRequest& request) -> Task<> {
        if (request.revision != 0) co_return net::error_of_grpc(net::GrpcStatus::Unavailable, "etcdserver: no leader");
        co_return {};
    };
    loop.advance(8s);
    EXPECT_NE(store->why_behind(), "");
    etcd.before_range = {};
    loop.advance(10s);
    EXPECT_EQ(store->why_behind(), "");
    EXPECT_EQ(here("/a"), "(absent)") << "it was in the etcd of before";
    EXPECT_EQ(here("/b"), "1");
}

TEST_F(EtcdLossTest, PagesMayTakeLong) {
    put_there("/a", "1");
    etcd.before_range = [this](const RangeRequest&) { return loop.sleep(10s); };
    open();
    EXPECT_EQ(here("/a"), "1");
}

TEST_F(EtcdLossTest, PagesThatTakeTooLongBecomeSmaller) {
    put_there("/a", "1");
    etcd.before_range = [this](const RangeRequest& request) { return loop.sleep(request.limit > 100 ? 1h : 1s); };
    open();
    EXPECT_EQ(here("/a"), "1");
}

TEST_F(EtcdLossTest, AWriteWaitsForEarlierOnesOnlySoLong) {
    open();
    etcd.before_txn = [this] { return loop.sleep(1h); };
    std::list<Pending> earlier;
    for (int i = 0; i < 256; ++i) earlier.emplace_back(loop, store->commit(writing("/" + std::to_string(i), "1")));
    Pending late(loop, store->commit(writing("/late", "1")));
    loop.advance(6s);
    ASSERT_TRUE(late.result);
    EXPECT_EQ(late.result->error().reason, Reason::ServiceUnavailable);
    etcd.before_txn = {};
    loop.advance(10s);
    EXPECT_EQ(there("/late"), "");
}

TEST_F(EtcdLossTest, WhatWasNotSentGoesWithItsCaller) {
    open();
    etcd.before_txn = [this] { return loop.sleep(3s); };
    std::list<Pending> earlier;
    for (int i = 0; i < 256; ++i) earlier.emplace_back(loop, store->commit(writing("/" + std::to_string(i), "1")));
    {
        Pending late(loop, store->commit(writing("/late", "1")));
        late.context.cancel();
        loop.run_ready();
    }
    loop.advance(10s);
    EXPECT_EQ(there("/0"), ";1");
    EXPECT_EQ(there("/late"), "");
}

TEST_F(EtcdLossTest, ClosesWhileTheWatchIsBegunAnew) {
    for (int step = 0;; ++step) {
        open();
        const std::size_t watches = etcd.watches;
        etcd.cut();
        int left = step;
        ASSERT_TRUE(loop.run_until([&] { return left-- == 0; }, 1s));
        const bool begun = etcd.watches > watches;
        TaskContext context(loop);
        bool closed = false;
        start_task(store->close(), context, [&](const Result<void>&) { closed = true; });
        loop.advance(10s);
        ASSERT_TRUE(closed) << "after step " << step;
        store.reset();
        if (begun) break;
    }
}

TEST_F(EtcdLossTest, WithoutAConnectionNothingIsUnknown) {
    open();
    etcd.stall_dials(true);
    etcd.cut();
    std::list<Pending> writes;
    for (int i = 0; i < 20; ++i) {
        const std::string key = "/" + std::to_string(i);
        writes.emplace_back(loop, store->commit(i % 2 ? writing(key, "1") : writing(key, "1", {Guard::absent(key)})));
    }
    loop.advance(10s);
    for (const Pending& write : writes) {
        ASSERT_TRUE(write.result) << "they wait for the same connection";
        EXPECT_EQ(write.result->error().reason, Reason::ServiceUnavailable) << write.result->error().message;
    }
    etcd.stall_dials(false);
    loop.advance(10s);
    EXPECT_EQ(etcd.txns, 0u);
}

TEST_F(EtcdLossTest, ConnectionsThatBreakSoonAreMadeAgainAfterAPauseThatGrows) {
    std::size_t dials = 0, limit = 3000;
    static constexpr auto dial = [](net::GrpcDial far, std::size_t limit) -> Task<std::unique_ptr<net::ByteStream>> {
        CO_TRY(auto stream, co_await far());
        co_return std::make_unique<ShortLived>(std::move(stream), limit);
    };
    Member member = etcd.members().front();
    member.dial = [&dials, &limit, far = member.dial] { return ++dials, dial(far, limit); };
    Client client(loop, {std::move(member)});
    Scope scope(loop);
    static constexpr auto ask = [](EventLoop& loop, Client& client, std::size_t& answers) -> Task<> {
        for (;;) {
            answers += (co_await client.range({.key = "/registry/" + std::string(500, 'a')})).has_value();
            CO_TRY_VOID(co_await loop.sleep(20ms));
        }
    };
    std::size_t answers = 0;
    for (int i = 0; i < 4; ++i) scope.spawn(ask(loop, client, answers));
    loop.advance(60s);
    EXPECT_LE(dials, 40u) << "one in two seconds, after the first";
    EXPECT_GE(dials, 20u);
    EXPECT_GT(answers, 0u);

    limit = 1 << 30;
    loop.advance(4s);
    etcd.cut();
    dials = answers = 0;
    loop.advance(50ms);
    EXPECT_EQ(dials, 1u) << "one that was good is made again at once";
    loop.advance(10s);
    EXPECT_EQ(dials, 1u);
    EXPECT_GT(answers, 1'000u);
    EXPECT_TRUE(sim::run(loop, scope.close()));
    EXPECT_TRUE(sim::run(loop, client.close()));
}

TEST_F(EtcdLossTest, ARefusalIsNotToldBeforeReadersSeeWhy) {
    open();
    etcd.hold_watches(true);
    put_there("/a", "theirs");
    Pending creating(loop, store->commit(writing("/a", "ours", {Guard::absent("/a")})));
    loop.advance(6s);
    EXPECT_FALSE(creating.result);
    EXPECT_GE(etcd.watches, 2u);
    loop.advance(10s);
    ASSERT_TRUE(creating.result);
    EXPECT_EQ(creating.result->error().reason, Reason::ServiceUnavailable);
    etcd.hold_watches(false);
}

TEST_F(EtcdLossTest, AWatchThatIsSilentWhileEtcdGoesOnIsBegunAnew) {
    open();
    Watch all = watch(store->revision());
    etcd.silence_watches();
    put_there("/a", "1");
    EXPECT_EQ(here("/a"), "(absent)");
    loop.advance(15s);
    EXPECT_EQ(here("/a"), "1");
    EXPECT_EQ(next(all), "+/a=1@2 ");
    const std::size_t watches = etcd.watches;
    loop.advance(10min);
    EXPECT_EQ(etcd.watches, watches) << "nothing has happened";
}

TEST_F(EtcdLossTest, TheFenceIsKnownFromTheNewestAnswer) {
    Client client(loop, etcd.members());
    Fence fence(client, "/registry/fence");
    ASSERT_TRUE(sim::run(loop, fence.raise(0)));
    EXPECT_EQ(fence.revision(), 2);
    fence.learn(0, 1);
    EXPECT_EQ(fence.revision(), 2) << "an older answer that comes late";
    ASSERT_TRUE(sim::run(loop, fence.raise(0)));
    EXPECT_EQ(fence.revision(), 2) << "raised after that one was sent";
    ASSERT_TRUE(sim::run(loop, fence.raise(2)));
    EXPECT_EQ(fence.revision(), 3);
    fence.learn(9, 10);
    EXPECT_EQ(fence.revision(), 9);
    EXPECT_TRUE(sim::run(loop, client.close()));
}

TEST_F(EtcdLossTest, AMemberThatCannotServeIsPassedOver) {
    open();
    bool first = true;
    etcd.before_txn = [&]() -> Task<> {
        if (std::exchange(first, false))
            co_return net::error_of_grpc(net::GrpcStatus::Unavailable, "etcdserver: rpc not supported for learner");
        co_return {};
    };
    const auto written = put("/a", "1");
    EXPECT_TRUE(written) << written.error().message;
    etcd.before_txn = {};
}

}  // namespace
}  // namespace porthole::store::etcd
