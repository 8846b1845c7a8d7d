#include "store/store_fixture.h"

namespace porthole::store {
namespace {

struct QuotaTest : StoreTest {
    QuotaTest() { options_.quota_bytes = 10'000; }
    /// Until one is refused; yields its error.
    Error fill() {
        for (int i = 0;; ++i) {
            const auto written = put("/fill/" + std::to_string(i), std::string(500, 'x'));
            if (!written) return written.error();
        }
    }
};

TEST_F(QuotaTest, CreatesAndUpdatesAreRefusedInTheWordsOfEtcd) {
    const Error refused = fill();
    EXPECT_EQ(refused.message, "etcdserver: mvcc: database space exceeded");
    EXPECT_EQ(http_code(refused.reason), 500);
    EXPECT_TRUE(store_->usage().exceeded);
    EXPECT_GT(store_->usage().live_bytes, 10'000u);
    EXPECT_LT(store_->usage().live_bytes, 11'000u);
    EXPECT_FALSE(put("/fill/0", "shorter"));
    EXPECT_FALSE(run(store_->grant_lease(10s)));
    EXPECT_EQ(value("/fill/0"), std::string(500, 'x'));
    EXPECT_TRUE(store_->watch({.prefix = "/", .after = store_->revision()}));
}

TEST_F(QuotaTest, DeletionsEndItByThemselves) {
    fill();
    ASSERT_TRUE(remove("/fill/0"));
    ASSERT_TRUE(remove("/fill/1"));
    ASSERT_TRUE(remove("/fill/2"));
    loop_.run_ready();
    EXPECT_FALSE(store_->usage().exceeded);
    EXPECT_TRUE(put("/new", "1"));
}

TEST_F(QuotaTest, TheHistoryIsGivenUpForIt) {
    Result<Committed> written = put("/a", "1");
    for (int i = 0; i < 100 && written; ++i) written = put("/a", std::string(300, 'x'));
    EXPECT_FALSE(written);
    loop_.run_ready();
    EXPECT_FALSE(store_->usage().exceeded);
    EXPECT_LT(store_->usage().history_bytes, 1000u);
    EXPECT_EQ(store_->compacted(), store_->revision());
    EXPECT_TRUE(put("/a", "2"));
}

TEST_F(QuotaTest, TheHistoryIsKeptWhereThatWouldNotBeEnough) {
    ASSERT_TRUE(put("/a", "1"));
    fill();
    loop_.run_ready();
    EXPECT_EQ(store_->compacted(), Revision());
}

TEST_F(QuotaTest, AWriteThatLeadsToADeletionMayGoALittleBeyond) {
    fill();
    const auto mark = [&] {
        Transaction transaction{.frees = true};
        transaction.operations.push_back(put_of("/fill/0", std::string(501, 'd')));
        return run(store_->commit(std::move(transaction)));
    };
    EXPECT_TRUE(mark());
    Result<Committed> marked = mark();
    for (int i = 0; i < 10 && marked; ++i) marked = mark();
    EXPECT_FALSE(marked) << "a tenth of the quota, and no more";
    EXPECT_TRUE(remove("/fill/0"));
}

TEST_F(QuotaTest, ARestartCountsTheSame) {
    fill();
    ASSERT_TRUE(remove("/fill/0"));
    const Store::Usage before = store_->usage();
    reopen();
    EXPECT_EQ(store_->usage().live_bytes, before.live_bytes);
    EXPECT_EQ(store_->usage().history_bytes, before.history_bytes);
    EXPECT_EQ(store_->usage().exceeded, before.live_bytes + before.history_bytes > 10'000);
    ASSERT_TRUE(run(store_->compact(store_->revision())));
    EXPECT_EQ(store_->usage().history_bytes, 0u);
    reopen();
    EXPECT_EQ(store_->usage().live_bytes, before.live_bytes);
}

}  // namespace
}  // namespace porthole::store
