// What an etcd, and many who write to it, can make a server hold: bounds of docs/design/limits.md.
#include <algorithm>

#include "store/etcd/etcd_store_fixture.h"

namespace porthole::store::etcd {
namespace {

using EtcdLimitsTest = EtcdStoreTest;

TEST_F(EtcdLimitsTest, SoManyWritesAreInProgressAndOthersWaitForATime) {
    open();
    std::size_t arrived = 0;
    etcd.before_txn = [&] {
        ++arrived;
        return loop.sleep(1h);
    };
    std::vector<std::unique_ptr<Pending>> writes;
    const auto ended = [&](Reason reason) {
        return std::ranges::count_if(writes, [&](const auto& one) { return one->result && one->result->error().reason == reason; });
    };
    for (int i = 0; i < 300; ++i) writes.push_back(std::make_unique<Pending>(loop, store->commit(writing("/" + std::to_string(i), "x"))));
    EXPECT_EQ(arrived, 256u);
    loop.advance(4900ms);
    EXPECT_EQ(ended(Reason::ServiceUnavailable), 0);
    loop.advance(200ms);
    EXPECT_EQ(ended(Reason::ServiceUnavailable), 44) << "they have not been sent";
    EXPECT_EQ(arrived, 256u);
    loop.advance(2800ms);
    EXPECT_EQ(ended(Reason::Timeout), 0);
    loop.advance(200ms);
    EXPECT_EQ(ended(Reason::Timeout), 256) << "they may have been carried out";
    etcd.before_txn = {};
    EXPECT_TRUE(put("/later", "y"));
}

TEST_F(EtcdLimitsTest, AnAnswerThatIsTooLongFailsTheCall) {
    put_there("/a", std::string(64 << 20, 'x'));
    const auto refused = try_open();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, Reason::RequestEntityTooLarge);
    etcd.remove("/registry/a");
    open();
    EXPECT_TRUE(put("/a", "1"));
}

// The next watch would begin with the same revision again.
TEST_F(EtcdLimitsTest, AfterARevisionThatIsTooLargeEverythingIsLoaded) {
    options.largest_revision = 1 << 20;
    open();
    Watch all = watch(store->revision());
    etcd.fragment_at(1);
    std::map<std::string, std::string> values;
    for (int i = 0; i < 20; ++i) values["/registry/" + std::to_string(i)] = ";" + std::string(100'000, 'x');
    etcd.put_all(values);
    loop.advance(1s);
    EXPECT_EQ(store->count("/"), 20u);
    EXPECT_EQ(next(all), "Expired");
    EXPECT_EQ(store->why_behind(), "");
    Watch again = watch(store->revision());
    put_there("/b", "1");
    EXPECT_EQ(next(again), "+/b=1@3 ");
    EXPECT_TRUE(put("/c", "1"));
}

}  // namespace
}  // namespace porthole::store::etcd
