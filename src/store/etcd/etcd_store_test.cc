#include "store/etcd/etcd_store.h"

#include "store/etcd/etcd_store_fixture.h"

namespace porthole::store::etcd {
namespace {

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
    EXPECT_EQ(*written->events.at(0)->record->value.bytes(), "1");
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
    EXPECT_EQ(*other->get("/a")->value.bytes(), "1");
    EXPECT_EQ(other->get("/a")->modified, store->get("/a")->modified);
    const auto second = sim::run(loop, other->commit(writing("/a", "2", {Guard::absent("/a")})));
    EXPECT_EQ(second.error().reason, Reason::AlreadyExists);
    close(other);
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

}  // namespace
}  // namespace porthole::store::etcd
