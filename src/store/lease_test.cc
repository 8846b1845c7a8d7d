#include "store/lease_table.h"
#include "store/store_fixture.h"

namespace porthole::store {
namespace {

using LeaseTest = StoreTest;

TEST_F(LeaseTest, RecordsGoWhenTheirLeaseEnds) {
    const auto lease = run(store_->grant_lease(10s));
    ASSERT_TRUE(lease);
    ASSERT_TRUE(put("/a", "1", *lease));
    ASSERT_TRUE(put("/b", "1"));
    loop_.advance(9s);
    EXPECT_EQ(value("/a"), "1");
    loop_.advance(2s);
    EXPECT_EQ(value("/a"), "(absent)");
    EXPECT_EQ(value("/b"), "1");
    EXPECT_EQ(store_->count("/"), 1u);
    EXPECT_EQ(put("/c", "1", *lease).error().reason, Reason::NotFound);
}

TEST_F(LeaseTest, KeepingALeaseAliveStartsItAnew) {
    const LeaseId lease = *run(store_->grant_lease(10s));
    ASSERT_TRUE(put("/a", "1", lease));
    for (int i = 0; i < 5; ++i) {
        loop_.advance(9s);
        ASSERT_TRUE(run(store_->keep_alive(lease)));
    }
    EXPECT_EQ(value("/a"), "1");
    loop_.advance(11s);
    EXPECT_EQ(value("/a"), "(absent)");
    EXPECT_EQ(run(store_->keep_alive(lease)).error().reason, Reason::NotFound);
}

TEST_F(LeaseTest, ARecordWrittenAnewWithoutALeaseStays) {
    const LeaseId lease = *run(store_->grant_lease(10s));
    ASSERT_TRUE(put("/a", "1", lease));
    ASSERT_TRUE(put("/a", "2"));
    loop_.advance(20s);
    EXPECT_EQ(value("/a"), "2");
}

TEST_F(LeaseTest, ACrashBetweenALeaseAndItsRecordsKeepsNone) {
    const LeaseId lease = *run(store_->grant_lease(10s));
    close();
    // What one group of writes leaves in which a record with the lease came before the lease's end, when the power fails after it.
    Row with{.revision = Revision(2), .key = "/a", .value = "1", .revision_at = {}, .created = Revision(2), .lease = lease};
    Row end{.revision = Revision(3), .deleted = true, .key = lease_key(lease), .value = {}, .revision_at = {}, .created = {}, .lease = {}};
    const std::vector<Commit> group{{.guards = {}, .rows = {with}}, {.guards = {}, .rows = {end}}};
    ASSERT_TRUE(MemoryEngine(disk_).append(group));
    open();
    loop_.run_ready();
    EXPECT_EQ(value("/a"), "(absent)");
    EXPECT_NE(*run(store_->grant_lease(10s)), lease);
}

TEST_F(LeaseTest, RevokingTakesAllItsRecords) {
    const LeaseId lease = *run(store_->grant_lease(10s));
    for (int i = 0; i < 1500; ++i) ASSERT_TRUE(put("/" + std::to_string(i), "1", lease));
    ASSERT_TRUE(run(store_->revoke_lease(lease)));
    EXPECT_EQ(store_->count("/"), 0u);
    EXPECT_EQ(run(store_->revoke_lease(lease)).error().reason, Reason::NotFound);
}

TEST_F(LeaseTest, ARestartKeepsLeasesAliveOnce) {
    const LeaseId lease = *run(store_->grant_lease(10s));
    ASSERT_TRUE(put("/a", "1", lease));
    loop_.advance(9s);
    reopen();
    loop_.advance(9s);
    EXPECT_EQ(value("/a"), "1");
    loop_.advance(2s);
    EXPECT_EQ(value("/a"), "(absent)");
    EXPECT_NE(run(store_->grant_lease(10s)).value(), LeaseId());
}

TEST_F(LeaseTest, SharedLeasesLastLongEnoughForEveryone) {
    const LeaseId first = *run(store_->shared_lease(1h));
    loop_.advance(1min);
    EXPECT_EQ(*run(store_->shared_lease(1h)), first);
    ASSERT_TRUE(put("/a", "1", first));
    loop_.advance(3min);
    EXPECT_NE(*run(store_->shared_lease(1h)), first);
    loop_.advance(58min);
    EXPECT_EQ(value("/a"), "1");
    loop_.advance(10min);
    EXPECT_EQ(value("/a"), "(absent)");
}

TEST_F(LeaseTest, AFullDiskOnlyPutsExpiryOff) {
    const LeaseId lease = *run(store_->grant_lease(10s));
    ASSERT_TRUE(put("/a", "1", lease));
    disk_.fail_next(MemoryDisk::Fault::Full, 3);
    loop_.advance(11s);
    EXPECT_EQ(value("/a"), "1");
    loop_.advance(5s);
    EXPECT_EQ(value("/a"), "(absent)");
}

}  // namespace
}  // namespace porthole::store
