#include "store/etcd/etcd_store.h"

#include <gtest/gtest.h>

#include <list>

#include "base/result.h"
#include "runtime/sim/sim_loop.h"
#include "store/etcd/etcd_model_fixture.h"
#include "store/etcd/fence.h"
#include "store/etcd/plain_form_fixture.h"

namespace porthole::store::etcd {
namespace {

using namespace std::chrono_literals;

struct EtcdStoreTest : testing::Test {
    sim::SimLoop loop;
    sim::SimWorkerPool pool{loop};
    EtcdModel etcd{loop, 3, 1};
    EtcdStoreOptions options{.compact_every = {}};
    std::unique_ptr<Store> store;

    ~EtcdStoreTest() override {
        close(store);
        EXPECT_TRUE(sim::run(loop, etcd.close()));
        loop.run_ready();
    }
    Result<std::unique_ptr<Store>> try_open() {
        Store::Seams seams{loop, pool, Logger(make_null_sink(), "store")};
        return sim::run(loop, open_etcd_store(std::move(seams), etcd.members(), std::make_shared<PlainForm>(), {}, options));
    }
    void open() {
        auto opened = try_open();
        ASSERT_TRUE(opened) << opened.error().message;
        store = std::move(*opened);
        loop.run_ready();
    }
    void close(std::unique_ptr<Store>& which) {
        if (!which) return;
        EXPECT_TRUE(sim::run(loop, which->close()));
        loop.run_ready();
        which.reset();
    }

    /// Another writer's.
    void put_there(const std::string& key, const std::string& value) {
        etcd.put("/registry" + key, ";" + value);
        loop.run_ready();
    }
    std::string there(const std::string& key) { return etcd.value("/registry" + key); }
    std::string here(const std::string& key) {
        const RecordPtr record = store->get(key);
        return record ? *record->value : "(absent)";
    }
    static Transaction writing(std::string key, std::string value, std::vector<Guard> guards = {}) {
        Transaction transaction{.guards = std::move(guards)};
        transaction.operations.push_back(Put{.key = std::move(key), .value = std::move(value)});
        return transaction;
    }
    Result<Committed> commit(Transaction transaction) { return sim::run(loop, store->commit(std::move(transaction))); }
    Result<Committed> put(std::string key, std::string value, std::vector<Guard> guards = {}) {
        return commit(writing(std::move(key), std::move(value), std::move(guards)));
    }
    Result<Committed> create(std::string key, std::string value) { return put(key, std::move(value), {Guard::absent(key)}); }
    Result<Committed> remove(std::string key) {
        Transaction transaction;
        transaction.operations.push_back(Delete{std::move(key)});
        return commit(std::move(transaction));
    }
    /// A commit that goes on while the test does something else.
    struct Pending {
        Pending(sim::SimLoop& loop, Task<Committed> task) : context(loop) {
            start_task(std::move(task), context, [this](Result<Committed> value) { result.emplace(std::move(value)); });
            loop.run_ready();
        }
        TaskContext context;
        std::optional<Result<Committed>> result;
    };

    Watch watch(Revision after) {
        auto watch = store->watch({.prefix = "/", .after = after, .topic = ""});
        CHECK(watch.has_value());
        return std::move(*watch);
    }
    std::string next(Watch& watch) {
        const auto events = sim::run(loop, watch.next(), 1ms);
        if (!events) return to_string(events.error().reason);
        std::string text;
        for (const EventPtr& event : *events)
            text += (event->type == Event::Type::Delete ? "-" : "+") + event->record->key + "=" + *event->record->value + "@" +
                    to_string(event->revision) + " ";
        return text;
    }
};

TEST_F(EtcdStoreTest, ShowsWhatIsThereAndWhatOthersWrite) {
    put_there("/a", "1");
    open();
    EXPECT_EQ(here("/a"), "1");
    EXPECT_EQ(store->revision(), Revision(2));
    EXPECT_EQ(store->compacted(), Revision(2));
    Watch all = watch(store->revision());
    put_there("/b", "1");
    put_there("/a", "2");
    etcd.remove("/registry/b");
    loop.run_ready();
    EXPECT_EQ(next(all), "+/b=1@3 +/a=2@4 -/b=1@5 ");
    EXPECT_EQ(store->get("/a")->created, Revision(2));
}

TEST_F(EtcdStoreTest, OtherPrefixesAreNotItsBusiness) {
    etcd.put("/registry2/a", ";1");
    etcd.put("/registr", ";1");
    open();
    EXPECT_EQ(store->count("/"), 0u);
    etcd.put("/registry0", ";1");
    etcd.put("/other/a", ";1");
    loop.run_ready();
    EXPECT_EQ(store->count("/"), 0u);
    EXPECT_EQ(put("/a", "1")->revision, Revision(6));
}

TEST_F(EtcdStoreTest, LoadsPageByPageAtOneRevision) {
    for (int i = 0; i < 1200; ++i) etcd.put("/registry/" + std::to_string(i), ";1");
    open();
    EXPECT_EQ(store->count("/"), 1200u);
    EXPECT_EQ(store->revision(), Revision(1201));
    EXPECT_EQ(etcd.ranges, 5u) << "three pages, what is the newest revision, and whether it has the last change";
}

TEST_F(EtcdStoreTest, PagesThatAreTooLargeBecomeSmaller) {
    for (int i = 0; i < 100; ++i) etcd.put("/registry/" + std::to_string(i), ";1");
    etcd.limit_pages(3);
    open();
    EXPECT_EQ(store->count("/"), 100u);
}

TEST_F(EtcdStoreTest, AnAcknowledgedWriteIsVisibleAndHasEtcdsRevision) {
    open();
    etcd.put("/other", ";1");
    const auto written = put("/a", "1");
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(written->revision, Revision(3));
    EXPECT_EQ(here("/a"), "1");
    EXPECT_EQ(there("/a"), ";1");
    EXPECT_EQ(*written->events.at(0)->record->value, "1");
}

TEST_F(EtcdStoreTest, AcknowledgesOnlyWhatReadersSee) {
    open();
    etcd.hold_watches(true);
    Pending writing_a(loop, store->commit(writing("/a", "1")));
    loop.advance(1s);
    EXPECT_EQ(there("/a"), ";1");
    EXPECT_FALSE(writing_a.result);
    etcd.hold_watches(false);
    loop.run_ready();
    ASSERT_TRUE(writing_a.result && *writing_a.result);
    EXPECT_EQ(here("/a"), "1");
}

TEST_F(EtcdStoreTest, GuardsHoldInEtcdAndNotInWhatWasSeenOfIt) {
    open();
    etcd.hold_watches(true);
    put_there("/a", "theirs");
    Pending creating(loop, store->commit(writing("/a", "ours", {Guard::absent("/a")})));
    loop.advance(1s);
    EXPECT_EQ(there("/a"), ";theirs");
    EXPECT_FALSE(creating.result) << "what refused it is not visible yet";
    etcd.hold_watches(false);
    loop.run_ready();
    ASSERT_TRUE(creating.result);
    EXPECT_EQ(creating.result->error().reason, Reason::AlreadyExists);
    EXPECT_EQ(here("/a"), "theirs");
}

TEST_F(EtcdStoreTest, AWatchThatDoesNotDeliverIsBegunAnew) {
    open();
    EXPECT_EQ(etcd.watches, 1u);
    etcd.hold_watches(true);
    Pending writing_a(loop, store->commit(writing("/a", "1")));
    loop.advance(6s);
    EXPECT_EQ(etcd.watches, 2u);
    loop.advance(10s);
    ASSERT_TRUE(writing_a.result);
    EXPECT_EQ(writing_a.result->error().reason, Reason::Timeout);
    EXPECT_EQ(writing_a.result->error().message,
              "the request was carried out as revision 2, which etcd has not sent yet: it will be visible later");
    etcd.hold_watches(false);
    loop.run_ready();
    EXPECT_EQ(here("/a"), "1");
}

TEST_F(EtcdStoreTest, WithoutALeaderWritesAreRefusedAndReadsGoOn) {
    put_there("/a", "1");
    open();
    Watch all = watch(store->revision());
    for (std::size_t i = 0; i < 3; ++i) etcd.lose_leader(i);
    const auto refused = create("/b", "1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, Reason::ServiceUnavailable);
    EXPECT_EQ(refused.error().message,
              "etcd is not available (m1: etcdserver: no leader; m2: etcdserver: no leader; m3: etcdserver: no leader)");
    EXPECT_EQ(here("/a"), "1");
    for (std::size_t i = 0; i < 3; ++i) etcd.lose_leader(i, false);
    EXPECT_TRUE(create("/b", "2"));
    EXPECT_EQ(next(all), "+/b=2@3 ");
}

TEST_F(EtcdStoreTest, AnEtcdThatComesBackIsFollowedFromWhereItWasLeft) {
    open();
    Watch all = watch(store->revision());
    EXPECT_EQ(store->why_behind(), "");
    for (std::size_t i = 0; i < 3; ++i) etcd.stop(i);
    loop.advance(10s);
    EXPECT_NE(store->why_behind(), "");
    EXPECT_EQ(put("/a", "1").error().message,
              "etcd is not available (m1: connection refused; m2: connection refused; m3: connection refused)");
    etcd.put("/registry/b", ";1");
    for (std::size_t i = 0; i < 3; ++i) etcd.start(i);
    loop.advance(3s);
    EXPECT_EQ(next(all), "+/b=1@2 ");
    EXPECT_EQ(store->why_behind(), "");
    EXPECT_TRUE(put("/a", "1"));
}

TEST_F(EtcdStoreTest, TheLossOfAMemberIsNotNoticed) {
    open();
    Watch all = watch(store->revision());
    etcd.stop(0);
    const MonotonicTime before = loop.now();
    EXPECT_TRUE(create("/a", "1"));
    EXPECT_LT(loop.now() - before, 1s);
    EXPECT_EQ(next(all), "+/a=1@2 ");
    put_there("/b", "1");
    EXPECT_EQ(next(all), "+/b=1@3 ");
}

TEST_F(EtcdStoreTest, AGuardedWriteThatWasNotCarriedOutIsRepeated) {
    open();
    const auto cut_off = [&] { etcd.break_next_txn(EtcdModel::Break::Before); };
    cut_off();
    const auto created = create("/a", "1");
    ASSERT_TRUE(created) << created.error().message;
    EXPECT_EQ(created->revision, Revision(3)) << "after the fence";
    cut_off();
    const auto updated = put("/a", "2", {Guard::unchanged("/a", Revision(3))});
    ASSERT_TRUE(updated) << updated.error().message;
    EXPECT_EQ(updated->revision, Revision(5));
    cut_off();
    Transaction removal{.guards = {Guard::unchanged("/a", Revision(5))}};
    removal.operations.push_back(Delete{"/a"});
    EXPECT_TRUE(commit(removal));
    EXPECT_EQ(etcd.txns, 9u) << "each of the three twice, and the fence";
}

TEST_F(EtcdStoreTest, AnAttemptThatComesLateDoesNothing) {
    open();
    etcd.break_next_txn(EtcdModel::Break::Late);
    ASSERT_TRUE(create("/a", "1"));
    ASSERT_TRUE(remove("/a"));
    etcd.carry_out_late();
    EXPECT_EQ(there("/a"), "") << "what was deleted stays deleted";
    ASSERT_TRUE(put("/b", "1"));
    EXPECT_EQ(here("/a"), "(absent)");
}

TEST_F(EtcdStoreTest, WhatWasCreatedAndThenDeletedIsNotCreatedAgain) {
    open();
    etcd.break_next_txn(EtcdModel::Break::After, [&] { etcd.remove("/registry/a"); });
    const auto created = create("/a", "1");
    EXPECT_EQ(there("/a"), "") << "the object of another one's deletion";
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().reason, Reason::Timeout);
    EXPECT_EQ(created.error().message,
              "etcd has not answered at first, and whether the request was carried out is unknown (key \"/a\" was changed at revision 2)");
}

TEST_F(EtcdStoreTest, WhatWasDeletedAndThenCreatedIsNotDeletedAgain) {
    put_there("/a", "1");
    open();
    etcd.break_next_txn(EtcdModel::Break::After, [&] { etcd.put("/registry/a", ";2"); });
    Transaction removal{.guards = {Guard::present("/a")}};
    removal.operations.push_back(Delete{"/a"});
    EXPECT_EQ(commit(removal).error().reason, Reason::Timeout);
    EXPECT_EQ(there("/a"), ";2");
}

TEST_F(EtcdStoreTest, ACreationIsNotRepeatedWhereItIsNotKnownWhatHasHappened) {
    open();
    ASSERT_TRUE(put("/b", "1"));
    etcd.break_next_txn(EtcdModel::Break::After, [&] {
        etcd.remove("/registry/a");
        etcd.compact(etcd.revision());
    });
    EXPECT_EQ(create("/a", "1").error().reason, Reason::Timeout);
    EXPECT_EQ(there("/a"), "");
}

TEST_F(EtcdStoreTest, AFenceThatAnotherServerHasRaisedCostsOneMoreAttempt) {
    open();
    auto other = std::move(store);
    open();
    etcd.break_next_txn(EtcdModel::Break::Before);
    ASSERT_TRUE(create("/a", "1"));
    const std::size_t asked = etcd.txns;
    const auto written = sim::run(loop, other->commit(writing("/b", "1")));
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(etcd.txns, asked + 2);
    EXPECT_EQ(sim::run(loop, other->commit(writing("/a", "2", {Guard::absent("/a")}))).error().reason, Reason::AlreadyExists);
    EXPECT_EQ(etcd.txns, asked + 3);
    close(other);
}

TEST_F(EtcdStoreTest, AnUnknownOutcomeIsNeverAcknowledged) {
    open();
    ASSERT_TRUE(put("/a", "1"));
    etcd.break_next_txn(EtcdModel::Break::After);
    const auto updated = put("/a", "2", {Guard::unchanged("/a", Revision(2))});
    ASSERT_FALSE(updated);
    EXPECT_EQ(updated.error().reason, Reason::Timeout);
    EXPECT_EQ(updated.error().message,
              "etcd has not answered at first, and whether the request was carried out is unknown (key \"/a\" was changed at revision 3, "
              "after revision 2)");
    EXPECT_EQ(there("/a"), ";2");
    loop.advance(1s);
    EXPECT_EQ(here("/a"), "2") << "readers see what came of it";
    etcd.break_next_txn(EtcdModel::Break::After);
    EXPECT_EQ(create("/b", "1").error().reason, Reason::Timeout);
    EXPECT_EQ(there("/b"), ";1");
}

TEST_F(EtcdStoreTest, AWriteWithoutAGuardIsNotRepeated) {
    open();
    for (const auto when : {EtcdModel::Break::Before, EtcdModel::Break::After}) {
        etcd.break_next_txn(when);
        const auto written = put("/a", "1");
        ASSERT_FALSE(written);
        EXPECT_EQ(written.error().reason, Reason::Timeout);
    }
    EXPECT_EQ(etcd.txns, 2u);
    EXPECT_EQ(etcd.revision(), 2);
}

TEST_F(EtcdStoreTest, WhatStoodAgainstTheFirstAttemptIsToldAsAConflict) {
    put_there("/a", "1");
    open();
    etcd.break_next_txn(EtcdModel::Break::After);
    EXPECT_EQ(create("/a", "2").error().reason, Reason::AlreadyExists);
    etcd.break_next_txn(EtcdModel::Break::After);
    EXPECT_EQ(put("/a", "2", {Guard::unchanged("/a", Revision(1))}).error().reason, Reason::Conflict);
}

TEST_F(EtcdStoreTest, EtcdsQuotaHasTheWordsOfOurs) {
    open();
    ASSERT_TRUE(put("/a", "1"));
    etcd.exceed_space(true);
    const auto refused = put("/b", "1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "etcdserver: mvcc: database space exceeded");
    EXPECT_EQ(http_code(refused.error().reason), 500);
    EXPECT_TRUE(store->usage().exceeded);
    EXPECT_TRUE(remove("/a"));
    etcd.exceed_space(false);
    EXPECT_TRUE(put("/b", "1"));
    EXPECT_FALSE(store->usage().exceeded);
}

TEST_F(EtcdStoreTest, WhatWasCompactedMeanwhileIsLoadedAgain) {
    put_there("/a", "1");
    open();
    Watch followed = watch(store->revision());
    EXPECT_EQ(next(followed), "Timeout");
    for (std::size_t i = 0; i < 3; ++i) etcd.stop(i);
    loop.advance(1s);
    etcd.put("/registry/b", ";1");
    etcd.remove("/registry/a");
    etcd.put("/registry/c", ";1");
    etcd.compact(etcd.revision());
    for (std::size_t i = 0; i < 3; ++i) etcd.start(i);
    loop.advance(5s);
    EXPECT_EQ(next(followed), "Expired");
    EXPECT_EQ(here("/a"), "(absent)");
    EXPECT_EQ(here("/b"), "1");
    EXPECT_EQ(store->compacted(), Revision(5));
    EXPECT_EQ(store->watch({.prefix = "/", .after = Revision(4), .topic = ""}).error().reason, Reason::Expired);
    Watch fresh = watch(store->revision());
    EXPECT_TRUE(put("/d", "1"));
    EXPECT_EQ(next(fresh), "+/d=1@6 ");
}

TEST_F(EtcdStoreTest, AnEtcdThatWasRestoredFromABackupIsLoadedAgain) {
    open();
    for (const char* value : {"1", "2", "3"}) ASSERT_TRUE(put("/a", value));
    Watch followed = watch(store->revision());
    etcd.restore(2);
    loop.advance(1s);
    EXPECT_EQ(here("/a"), "1");
    EXPECT_EQ(store->revision(), Revision(2));
    EXPECT_EQ(next(followed), "Expired");
    EXPECT_EQ(put("/a", "4")->revision, Revision(3));
}

TEST_F(EtcdStoreTest, ARestoredEtcdIsKnownEvenWhenItHasPassedWhatWasSeen) {
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

TEST_F(EtcdStoreTest, AnEtcdThatStayedTheSameIsNotLoadedAgain) {
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

TEST_F(EtcdStoreTest, ARevisionIsShownWhole) {
    open();
    Watch all = watch(store->revision());
    etcd.fragment_at(2);
    etcd.put_all({{"/registry/a", ";1"}, {"/registry/b", ";1"}, {"/registry/c", ";1"}});
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(store->count("/") == 0 || store->count("/") == 3);
        loop.advance(1us);
    }
    EXPECT_EQ(next(all), "+/a=1@2 +/b=1@2 +/c=1@2 ");
}

TEST_F(EtcdStoreTest, ProgressIsARevisionThatIsReached) {
    open();
    Watch all = watch(store->revision());
    etcd.put("/other", ";1");
    loop.run_ready();
    EXPECT_EQ(store->revision(), Revision(1));
    etcd.send_progress();
    loop.run_ready();
    EXPECT_EQ(store->revision(), Revision(2));
    EXPECT_EQ(all.revision(), Revision(2));
}

TEST_F(EtcdStoreTest, RecordsGoWithEtcdsLease) {
    open();
    const auto lease = sim::run(loop, store->grant_lease(10s));
    ASSERT_TRUE(lease);
    Transaction transaction = writing("/a", "1");
    std::get<Put>(transaction.operations[0]).lease = *lease;
    ASSERT_TRUE(commit(transaction));
    EXPECT_EQ(store->get("/a")->lease, *lease);
    loop.advance(9s);
    ASSERT_TRUE(sim::run(loop, store->keep_alive(*lease)));
    loop.advance(9s);
    EXPECT_EQ(here("/a"), "1");
    loop.advance(2s);
    EXPECT_EQ(here("/a"), "(absent)");
    EXPECT_EQ(commit(transaction).error().reason, Reason::NotFound);
    EXPECT_EQ(sim::run(loop, store->keep_alive(*lease)).error().reason, Reason::NotFound);
    EXPECT_EQ(*sim::run(loop, store->shared_lease(1h)), *sim::run(loop, store->shared_lease(1h)));
}

TEST_F(EtcdStoreTest, ServersTakeTurnsToCompact) {
    options.compact_every = 5min;
    open();
    auto other = std::move(store);
    open();
    for (int minute = 0; minute < 21; ++minute) {
        ASSERT_TRUE(put("/a", std::to_string(minute)));
        loop.advance(1min);
    }
    EXPECT_GE(etcd.compactions, 2u);
    EXPECT_LE(etcd.compactions, 4u) << "once in five minutes, and not once for each server";
    EXPECT_GT(etcd.compacted(), 1);
    EXPECT_LT(etcd.compacted(), etcd.revision() - 4) << "the last minutes are kept";
    close(other);
}

TEST_F(EtcdStoreTest, TwoServersSeeEachOther) {
    open();
    auto other = std::move(store);
    open();
    EXPECT_TRUE(create("/a", "1"));
    loop.run_ready();
    EXPECT_EQ(*other->get("/a")->value, "1");
    EXPECT_EQ(other->get("/a")->modified, store->get("/a")->modified);
    const auto second = sim::run(loop, other->commit(writing("/a", "2", {Guard::absent("/a")})));
    EXPECT_EQ(second.error().reason, Reason::AlreadyExists);
    close(other);
}

TEST_F(EtcdStoreTest, AnEtcdThatIsNotThereIsNamed) {
    for (std::size_t i = 0; i < 3; ++i) etcd.stop(i);
    const auto opened = try_open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().reason, Reason::ServiceUnavailable);
    EXPECT_EQ(opened.error().message, "etcd is not available (m1: connection refused; m2: connection refused; m3: connection refused)");
}

TEST_F(EtcdStoreTest, ACancelledCallerDoesNotStopItsWrite) {
    open();
    {
        Pending abandoned(loop, store->commit(writing("/a", "1")));
        abandoned.context.cancel();
        loop.run_ready();
    }
    EXPECT_EQ(here("/a"), "1");
}

TEST_F(EtcdStoreTest, AClosedStoreRefuses) {
    open();
    etcd.hold_watches(true);
    Pending writing_a(loop, store->commit(writing("/a", "1")));
    EXPECT_TRUE(sim::run(loop, store->close()));
    ASSERT_TRUE(writing_a.result);
    EXPECT_EQ(writing_a.result->error().reason, Reason::Timeout);
    EXPECT_EQ(writing_a.result->error().message, "the request was carried out as revision 2, and the store is closing");
    EXPECT_EQ(put("/b", "1").error().reason, Reason::ServiceUnavailable);
    store.reset();
}

TEST_F(EtcdStoreTest, WhatWasSentWhenTheStoreClosesIsNotSaidToBeUndone) {
    open();
    etcd.before_txn = [this] { return loop.sleep(1h); };
    Pending writing_a(loop, store->commit(writing("/a", "1")));
    EXPECT_TRUE(sim::run(loop, store->close()));
    ASSERT_TRUE(writing_a.result);
    EXPECT_EQ(writing_a.result->error().reason, Reason::Timeout);
    store.reset();
}

TEST_F(EtcdStoreTest, ALoadThatFailsInBetweenIsBegunAnew) {
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

TEST_F(EtcdStoreTest, PagesMayTakeLong) {
    put_there("/a", "1");
    etcd.before_range = [this](const RangeRequest&) { return loop.sleep(10s); };
    open();
    EXPECT_EQ(here("/a"), "1");
}

TEST_F(EtcdStoreTest, PagesThatTakeTooLongBecomeSmaller) {
    put_there("/a", "1");
    etcd.before_range = [this](const RangeRequest& request) { return loop.sleep(request.limit > 100 ? 1h : 1s); };
    open();
    EXPECT_EQ(here("/a"), "1");
}

TEST_F(EtcdStoreTest, AWriteWaitsForEarlierOnesOnlySoLong) {
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

TEST_F(EtcdStoreTest, WhatWasNotSentGoesWithItsCaller) {
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

TEST_F(EtcdStoreTest, ClosesWhileTheWatchIsBegunAnew) {
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

TEST_F(EtcdStoreTest, WithoutAConnectionNothingIsUnknown) {
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

TEST_F(EtcdStoreTest, ARefusalIsNotToldBeforeReadersSeeWhy) {
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

TEST_F(EtcdStoreTest, AWatchThatIsSilentWhileEtcdGoesOnIsBegunAnew) {
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

TEST_F(EtcdStoreTest, TheFenceIsKnownFromTheNewestAnswer) {
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

TEST_F(EtcdStoreTest, AMemberThatCannotServeIsPassedOver) {
    open();
    using net::GrpcStatus;
    for (const auto& [status, message] : {std::pair(GrpcStatus::Unavailable, "etcdserver: rpc not supported for learner"),
                                          std::pair(GrpcStatus::DataLoss, "etcdserver: corrupt cluster")}) {
        bool first = true;
        etcd.before_txn = [&]() -> Task<> {
            if (std::exchange(first, false)) co_return net::error_of_grpc(status, message);
            co_return {};
        };
        const auto written = put("/a", "1");
        EXPECT_TRUE(written) << written.error().message;
    }
    etcd.before_txn = {};
}

}  // namespace
}  // namespace porthole::store::etcd
