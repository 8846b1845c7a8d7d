#include "store/difference.h"

#include <gtest/gtest.h>

#include "runtime/random.h"

namespace porthole::store {
namespace {

std::string random_text(Random& random, std::size_t size) {
    std::string text;
    while (text.size() < size) text += random.pick(1, "abc \"{}:");
    return text;
}

/// As an object of the same template differs: parts replaced, left out, added and moved.
std::string changed(std::string text, Random& random) {
    for (std::uint64_t i = random.below(6); i > 0 && !text.empty(); --i) {
        const std::size_t at = random.below(text.size());
        const std::size_t size = random.below(std::min<std::size_t>(text.size() - at, 100) + 1);
        const std::string part = text.substr(at, size);
        switch (random.below(4)) {
            case 0:
                text.replace(at, size, random_text(random, size));
                break;
            case 1:
                text.erase(at, size);
                break;
            case 2:
                text.insert(at, random_text(random, random.below(300)));
                break;
            default:
                text.erase(at, size).insert(random.below(text.size() + 1), part);
        }
    }
    return text;
}

TEST(Difference, GivesTheValueBack) {
    SeededRandom random(1);
    for (int round = 0; round < 600; ++round) {
        const std::string base = random_text(random, random.below(round % 10 == 0 ? 40'000 : 600));
        const std::string value = random.below(5) == 0 ? random_text(random, random.below(600)) : changed(base, random);
        const std::string difference = difference_from(base, value);
        ASSERT_EQ(restored(base, difference, value.size()), value) << round;
        const std::size_t head = random.below(value.size() + 1);
        ASSERT_EQ(restored(base, difference, head), value.substr(0, head)) << round;
    }
}

TEST(Difference, IsAsLongAsWhatIsNew) {
    SeededRandom random(2);
    const std::string base = random_text(random, 6000);
    EXPECT_LT(difference_from(base, base).size(), 12u);
    std::string value = base;
    for (std::size_t at = 100; at < value.size(); at += 1000) value.replace(at, 30, std::string(20, '-'));
    EXPECT_LT(difference_from(base, value).size(), 6u * 20 + 80);
    EXPECT_LT(difference_from(base, "-----" + base.substr(3000) + base.substr(0, 3000)).size(), 30u);
    EXPECT_EQ(difference_from("", base).size(), base.size() + 6);
}

TEST(Difference, WorkedExample) {
    const std::string base = "pod a of this template, Pending", value = "pod b of this template, Pending";
    const std::string difference("\x05\0\x1a\0\x05\0pod b", 11);
    EXPECT_EQ(difference_from(base, value), difference);
    EXPECT_EQ(restored(base, difference, value.size()), value);
}

}  // namespace
}  // namespace porthole::store
