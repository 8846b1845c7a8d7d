// Values at rest take little memory, and are read as they were written.
#include <fmt/format.h>

#include "store/store_fixture.h"

namespace porthole::store {
namespace {

struct PackingTest : StoreTest {
    void whole(std::size_t bytes) {
        options_.whole_bytes = bytes;
        reopen();
    }
};

std::string pod(int number, std::string_view phase = "Running") {
    std::string text = fmt::format("{{name: web-{}, phase: {}, ", number, phase);
    for (int i = 0; i < 50; ++i) text += fmt::format("field{}: value{}, ", i, i);
    return text + "}";
}
std::string key(int number) { return "/pods/a/web-" + std::to_string(number); }

TEST_F(PackingTest, ValuesOfASmallStoreStayWhole) {
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(put(key(i), pod(i)));
    ASSERT_TRUE(run(store_->compact(store_->revision())));
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(store_->get(key(i))->value.is_packed()) << i;
    reopen();
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(store_->get(key(i))->value.is_packed()) << i;
}

TEST_F(PackingTest, SimilarValuesArePackedOnceTheHistoryHasForgottenTheirEvents) {
    whole(pod(0).size() * 5);  // all of them, without their keys
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(put(key(i), pod(i)));
    loop_.advance(4min);
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(store_->get(key(i))->value.is_packed()) << i;
    loop_.advance(2min);
    EXPECT_FALSE(store_->get(key(0))->value.is_packed());  // what the others differ from
    for (int i = 1; i < 5; ++i) {
        const RecordPtr record = store_->get(key(i));
        EXPECT_TRUE(record->value.is_packed()) << i;
        EXPECT_LT(record->value.own_size(), 60u);
        EXPECT_EQ(record->value.size(), pod(i).size());
        EXPECT_TRUE(record->value.starts_with("{name: web-"));
        EXPECT_FALSE(record->value.starts_with("{name: db-"));
        EXPECT_EQ(record->modified, Revision(static_cast<std::uint64_t>(i) + 1));
    }
    for (int i = 0; i < 5; ++i) EXPECT_EQ(value(key(i)), pod(i));
}

TEST_F(PackingTest, OfALongHistoryOnlyTheNewestValuesAreWhole) {
    whole(8u << 20);
    const std::string text(30'000, 'x');
    const auto written = [&](int number) { return text + std::to_string(number); };
    for (int i = 1; i <= 300; ++i) ASSERT_TRUE(put(key(i % 3), written(i)));
    auto watch = store_->watch({.prefix = "/pods/", .after = Revision(1)});
    ASSERT_TRUE(watch);
    const auto events = run(watch->next(1000));
    ASSERT_TRUE(events);
    ASSERT_GT(events->size(), 50u);
    EXPECT_TRUE(events->front()->record->value.is_packed());
    for (std::uint64_t i = 1; i <= 300; ++i) {
        const auto record = store_->get_at(key(static_cast<int>(i % 3)), Revision(i));
        ASSERT_TRUE(record) << i;
        EXPECT_EQ((*record)->value.is_packed(), i > 1 && i <= 300 - 279) << i;  // 279 of them are 8 MiB; the first is the base
        EXPECT_EQ(*(*record)->value.bytes(), written(static_cast<int>(i)));
    }
}

TEST_F(PackingTest, PackedValuesAreStillThereAfterTheirBaseIsGone) {
    whole(0);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(put(key(i), pod(i)));
    ASSERT_TRUE(run(store_->compact(store_->revision())));
    ASSERT_TRUE(remove(key(0)));
    ASSERT_TRUE(run(store_->compact(store_->revision())));
    EXPECT_EQ(value(key(0)), "(absent)");
    EXPECT_EQ(value(key(2)), pod(2));
    ASSERT_TRUE(store_->get(key(2))->value.is_packed());
}

TEST_F(PackingTest, PodsThatRunArePackedAsDifferencesFromOneThatRuns) {
    whole(0);
    const std::string spec(4000, 'x'), status(2000, 's');
    ASSERT_TRUE(put(key(0), pod(0) + spec));
    for (int i = 1; i < 4; ++i) ASSERT_TRUE(put(key(i), pod(i) + spec + status));
    ASSERT_TRUE(run(store_->compact(store_->revision())));
    for (int i = 2; i < 4; ++i) EXPECT_LT(store_->get(key(i))->value.own_size(), 60u) << i;
}

TEST_F(PackingTest, WatchersSeeWholeValuesOfWhatWasPacked) {
    whole(0);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(put(key(i), pod(i)));
    ASSERT_TRUE(run(store_->compact(store_->revision())));
    ASSERT_TRUE(store_->get(key(1))->value.is_packed());
    auto watch = store_->watch({.prefix = "/pods/", .after = store_->revision()});
    ASSERT_TRUE(watch);
    ASSERT_TRUE(put(key(1), pod(1, "Failed")));
    const auto updated = run(watch->next());
    ASSERT_TRUE(updated);
    EXPECT_EQ(*updated->front()->previous->value.bytes(), pod(1));
    EXPECT_EQ(*updated->front()->record->value.bytes(), pod(1, "Failed"));

    ASSERT_TRUE(run(store_->compact(store_->revision())));
    ASSERT_TRUE(store_->get(key(1))->value.is_packed());
    ASSERT_TRUE(remove(key(1)));
    const auto removed = run(watch->next());
    ASSERT_TRUE(removed);
    EXPECT_EQ(*removed->front()->record->value.bytes(), pod(1, "Failed"));
}

TEST_F(PackingTest, AStoreThatIsOpenedPacksWhatItLoads) {
    whole(0);
    for (const int i : {0, 0, 1, 2}) ASSERT_TRUE(put(key(i), pod(i)));
    ASSERT_TRUE(run(store_->compact(store_->revision())));
    const Store::Usage before = store_->usage();
    reopen();
    EXPECT_TRUE(store_->get(key(2))->value.is_packed());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(value(key(i)), pod(i));
    EXPECT_EQ(store_->usage().live_bytes, before.live_bytes);  // bytes of values, packed or not
}

TEST_F(PackingTest, WhatHasLittleInCommonOrIsSmallOrVeryLargeIsNotPacked) {
    whole(0);
    ASSERT_TRUE(put("/a/x-1", std::string(1000, 'x')));
    ASSERT_TRUE(put("/a/x-2", std::string(1000, 'y')));
    ASSERT_TRUE(put("/a/x-3", std::string(1000, 'y')));  // the second has become the base
    for (const char* const key : {"/a/small-1", "/a/small-2"}) ASSERT_TRUE(put(key, std::string(100, 'x')));
    for (const char* const key : {"/a/large-1", "/a/large-2"}) ASSERT_TRUE(put(key, std::string(100'000, 'x')));
    ASSERT_TRUE(run(store_->compact(store_->revision())));
    std::string packed;
    for (const RecordPtr& record : store_->range({.prefix = "/"})->records) packed += record->value.is_packed() ? record->key + " " : "";
    EXPECT_EQ(packed, "/a/x-3 ");
}

}  // namespace
}  // namespace porthole::store
