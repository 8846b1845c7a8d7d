#include "store/key_order.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace porthole::store {
namespace {

using Order = KeyOrder<int>;

std::vector<std::string> keys_from(const Order& order, std::string_view start, std::size_t limit = SIZE_MAX, std::string_view prefix = "") {
    std::vector<std::string> keys;
    order.visit_prefix(prefix, start, SIZE_MAX, [&](const Order::Entry& entry) {
        if (keys.size() == limit) return false;
        keys.push_back(entry.first);
        return true;
    });
    return keys;
}

/// The keys with the prefix, `most` at a time.
std::vector<std::string> keys_in_pieces(const Order& order, std::string_view prefix, std::size_t most) {
    std::vector<std::string> keys;
    std::string start(prefix);
    for (const Order::Entry* next = nullptr;; start = next->first) {
        const std::size_t before = keys.size();
        next = order.visit_prefix(prefix, start, most, [&](const Order::Entry& entry) {
            keys.push_back(entry.first);
            return true;
        });
        EXPECT_LE(keys.size() - before, most);
        if (!next) return keys;
        EXPECT_EQ(keys.size() - before, most) << "it would go on";
    }
}

TEST(KeyOrder, KeysThatBeginAlikeAreTheirOrder) {
    const std::map<std::string, int> map{{"/pods/a/web-1", 1}, {"/pods/a/web-2", 2}, {"/pods/b/db", 3}, {"/pods", 4}, {"/services/a", 5}};
    Order order;
    for (const auto& entry : map) order.insert(entry);
    EXPECT_EQ(keys_from(order, ""), (std::vector<std::string>{"/pods", "/pods/a/web-1", "/pods/a/web-2", "/pods/b/db", "/services/a"}));
    EXPECT_EQ(keys_from(order, "/pods/a/web-10", 1), std::vector<std::string>{"/pods/a/web-2"});
    EXPECT_EQ(keys_from(order, "/pods/c"), std::vector<std::string>{"/services/a"});
    EXPECT_TRUE(keys_from(order, "/t").empty());
}

TEST(KeyOrder, KeysThatDifferOnlyByZerosKeepTheirOrder) {
    const std::map<std::string, int> map{{"a", 0}, {std::string("a\0", 2), 1}, {std::string("a\0\0\0\0\0\0\0\0\0b", 11), 2}, {"", 3}};
    Order order;
    for (const auto& entry : map) order.insert(entry);
    std::vector<std::string> expected;
    for (const auto& [key, value] : map) expected.push_back(key);
    EXPECT_EQ(keys_from(order, ""), expected);
}

/// Few letters, so that many keys share beginnings of every length.
std::string random_key(std::mt19937& random) {
    std::string key = "/registry/";
    for (std::size_t size = random() % 12; size > 0; --size) key += "/ab\xff"[random() % 4];
    return key.substr(random() % 40 == 0 ? key.size() - random() % (key.size() + 1) : 0);
}

TEST(KeyOrder, ShowsTheSameAsATreeAfterAnyInsertionsAndErasures) {
    std::mt19937 random(7);
    std::map<std::string, int> map;
    Order order;
    for (int step = 0; step < 60'000; ++step) {
        const bool growing = step / 10'000 % 2 == 0;
        const std::string key = random_key(random);
        const auto found = map.find(key);
        if (found == map.end() && (growing || random() % 4 == 0)) {
            order.insert(*map.emplace(key, step).first);
        } else if (found != map.end() && (!growing || random() % 4 == 0)) {
            order.erase(key);
            map.erase(found);
        }
        if (step % 50 != 0) continue;
        const std::string start = random_key(random);
        std::vector<std::string> expected;
        for (auto i = map.lower_bound(start); i != map.end() && expected.size() < 300; ++i) expected.push_back(i->first);
        ASSERT_EQ(keys_from(order, start, 300), expected) << "step " << step << " from " << start;
        if (step % 1000 != 0) continue;
        const std::string prefix = start.substr(0, random() % (start.size() + 1));
        expected.clear();
        for (auto i = map.lower_bound(prefix); i != map.end() && i->first.starts_with(prefix); ++i) expected.push_back(i->first);
        ASSERT_EQ(keys_in_pieces(order, prefix, 1 + random() % 400), expected) << "step " << step << " with " << prefix;
    }
    while (!map.empty()) {
        order.erase(map.begin()->first);
        map.erase(map.begin());
    }
    EXPECT_TRUE(keys_from(order, "").empty());
}

}  // namespace
}  // namespace porthole::store
