#include "store/etcd/etcd_store_fixture.h"

namespace porthole::store::etcd {
namespace {

using EtcdFaultTest = EtcdStoreTest;

TEST_F(EtcdFaultTest, AWatchThatDoesNotDeliverIsBegunAnew) {
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

TEST_F(EtcdFaultTest, WithoutALeaderWritesAreRefusedAndReadsGoOn) {
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

TEST_F(EtcdFaultTest, AnEtcdThatComesBackIsFollowedFromWhereItWasLeft) {
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

TEST_F(EtcdFaultTest, AnEtcdThatSaysNothingIsLostWithinTwoSeconds) {
    open();
    loop.advance(10s);
    EXPECT_EQ(store->why_behind(), "");
    etcd.before_call = [this](std::size_t) { return loop.sleep(1h); };
    loop.advance(2s);
    EXPECT_EQ(store->why_behind().substr(0, 20), "etcd does not answer");
    etcd.before_call = {};
    loop.advance(2s);
    EXPECT_EQ(store->why_behind(), "");
}

TEST_F(EtcdFaultTest, AMemberThatSaysNothingIsLeft) {
    open();
    EXPECT_EQ(etcd.watches, 1u);
    etcd.before_call = [this](std::size_t member) { return loop.sleep(member == 0 ? Duration(1h) : Duration(0)); };
    etcd.silence_watches();
    loop.advance(2200ms);
    EXPECT_EQ(etcd.watches, 2u);
    EXPECT_EQ(store->why_behind(), "");
    put_there("/a", "1");
    EXPECT_EQ(here("/a"), "1");
    loop.advance(1min);
    EXPECT_EQ(etcd.watches, 2u) << "of a member that answers";
}

TEST_F(EtcdFaultTest, RequestsToAMemberThatSaysNothingGoToAnotherOneSoon) {
    open();
    etcd.before_call = [this](std::size_t member) { return loop.sleep(member == 0 ? Duration(1h) : Duration(0)); };
    etcd.silence_watches();
    Pending creating(loop, store->commit(writing("/a", "1", {Guard::absent("/a")})));
    loop.advance(2300ms);
    ASSERT_TRUE(creating.result);
    EXPECT_TRUE(*creating.result);
    EXPECT_EQ(here("/a"), "1");
}

TEST_F(EtcdFaultTest, AMemberWhoseWatchSpeaksIsNotLeft) {
    open();
    etcd.before_call = [this](std::size_t member) { return loop.sleep(member == 0 ? Duration(1h) : Duration(0)); };
    for (int i = 0; i < 20; ++i) {
        put_there("/a", std::to_string(i));
        loop.advance(200ms);
    }
    EXPECT_EQ(etcd.watches, 1u);
}

TEST_F(EtcdFaultTest, TheLossOfAMemberIsNotNoticed) {
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

TEST_F(EtcdFaultTest, AGuardedWriteThatWasNotCarriedOutIsRepeated) {
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

TEST_F(EtcdFaultTest, AnAttemptThatComesLateDoesNothing) {
    open();
    etcd.break_next_txn(EtcdModel::Break::Late);
    ASSERT_TRUE(create("/a", "1"));
    ASSERT_TRUE(remove("/a"));
    etcd.carry_out_late();
    EXPECT_EQ(there("/a"), "") << "what was deleted stays deleted";
    ASSERT_TRUE(put("/b", "1"));
    EXPECT_EQ(here("/a"), "(absent)");
}

TEST_F(EtcdFaultTest, AFenceThatAnotherServerHasRaisedCostsOneMoreAttempt) {
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

TEST_F(EtcdFaultTest, AnUnknownOutcomeIsNeverAcknowledged) {
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

TEST_F(EtcdFaultTest, AWriteWithoutAGuardIsNotRepeated) {
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

TEST_F(EtcdFaultTest, WhatStoodAgainstTheFirstAttemptIsToldAsAConflict) {
    put_there("/a", "1");
    open();
    etcd.break_next_txn(EtcdModel::Break::After);
    EXPECT_EQ(create("/a", "2").error().reason, Reason::AlreadyExists);
    etcd.break_next_txn(EtcdModel::Break::After);
    EXPECT_EQ(put("/a", "2", {Guard::unchanged("/a", Revision(1))}).error().reason, Reason::Conflict);
}

TEST_F(EtcdFaultTest, EtcdsQuotaHasTheWordsOfOurs) {
    open();
    ASSERT_TRUE(put("/a", "1"));
    etcd.exceed_space(true);
    const auto refused = put("/b", "1");
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message.starts_with("etcdserver: mvcc: database space exceeded: delete what is not needed, then etcdctl"))
        << refused.error().message;
    EXPECT_EQ(http_code(refused.error().reason), 500);
    EXPECT_TRUE(store->usage().exceeded);
    EXPECT_TRUE(remove("/a"));
    etcd.exceed_space(false);
    EXPECT_TRUE(put("/b", "1"));
    EXPECT_FALSE(store->usage().exceeded);
}

TEST_F(EtcdFaultTest, AnEtcdWhoseMembersDifferIsReadAndTakesWritesOnceTheAlarmIsOff) {
    open();
    ASSERT_TRUE(put("/a", "1"));
    etcd.put("/other/a", ";1");  // its newest revision is not of a key that is watched
    etcd.before_txn = []() -> Task<> { co_return net::error_of_grpc(net::GrpcStatus::DataLoss, "etcdserver: corrupt cluster"); };
    const std::size_t txns = etcd.txns;
    const MonotonicTime begin = loop.now();
    for (const auto& refused : {put("/b", "1"), remove("/a")}) {
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().message,
                  "etcdserver: corrupt cluster: its members differ, and it takes no writes: replace the members that "
                  "etcdctl alarm list names, then etcdctl alarm disarm");
        EXPECT_EQ(http_code(refused.error().reason), 500);
    }
    EXPECT_EQ(etcd.txns, txns + 2) << "no other member is asked: all refuse";
    EXPECT_LT(loop.now() - begin, 1s);
    EXPECT_TRUE(sim::run(loop, dynamic_cast<SharedStore&>(*store).catch_up())) << "the newest can be read";
    EXPECT_EQ(here("/a"), "1");
    etcd.before_txn = {};
    EXPECT_TRUE(put("/b", "1"));
    EXPECT_FALSE(store->usage().exceeded);
}

TEST_F(EtcdFaultTest, WhatWasCompactedMeanwhileIsLoadedAgain) {
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

TEST_F(EtcdFaultTest, AnEtcdThatWasRestoredFromABackupIsLoadedAgain) {
    open();
    for (const char* value : {"1", "2", "3"}) ASSERT_TRUE(put("/a", value));
    Watch followed = watch(store->revision());
    etcd.restore(2, true);
    loop.advance(1s);
    EXPECT_EQ(here("/a"), "1");
    EXPECT_EQ(store->revision(), Revision(2));
    EXPECT_EQ(next(followed), "Expired");
    EXPECT_EQ(put("/a", "4")->revision, Revision(3));
}

TEST_F(EtcdFaultTest, AnotherClusterIsLoadedAgainAlsoWhereItIsNewer) {
    open();
    for (const char* value : {"1", "2"}) ASSERT_TRUE(put("/a", value));
    Watch followed = watch(store->revision());
    for (std::size_t i = 0; i < 3; ++i) etcd.stop(i);
    etcd.restore(2, false);
    for (const char* key : {"/registry/b", "/registry/c", "/registry/d"}) etcd.put(key, ";1");
    for (std::size_t i = 0; i < 3; ++i) etcd.start(i);
    loop.advance(3s);
    EXPECT_EQ(here("/a"), "1") << "what it has, and not what the former one had";
    EXPECT_EQ(store->revision(), Revision(5));
    EXPECT_EQ(next(followed), "Expired");
}

TEST_F(EtcdFaultTest, AnEtcdThatIsNotThereIsNamed) {
    for (std::size_t i = 0; i < 3; ++i) etcd.stop(i);
    const auto opened = try_open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().reason, Reason::ServiceUnavailable);
    EXPECT_EQ(opened.error().message, "etcd is not available (m1: connection refused; m2: connection refused; m3: connection refused)");
}

}  // namespace
}  // namespace porthole::store::etcd
