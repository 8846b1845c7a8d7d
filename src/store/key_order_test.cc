#include "store/key_order.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace porthole::store {
namespace {

using Order = KeyOrder<int>;

std::vector<std::string> keys_from(const Order& order, std::string_view start, std::size_t limit = SIZE_MAX) {
    std::vector<std::string> keys;
    order.visit_from(start, [&](const Order::Entry& entry) {
        if (keys.size() == limit) return false;
        keys.push_back(entry.first);
        return true;
    });
    return keys;
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
    }
    while (!map.empty()) {
        order.erase(map.begin()->first);
        map.erase(map.begin());
    }
    EXPECT_TRUE(keys_from(order, "").empty());
}

}  // namespace
}  // namespace porthole::store
