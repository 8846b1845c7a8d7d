#include "winhost/template/pe_exports.h"

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <vector>

namespace porthole::winhost {
namespace {

template <class T>
T at(const std::string& image, std::size_t offset) {
    T value{};
    std::memcpy(&value, image.data() + offset, sizeof value);
    return value;
}

constexpr std::size_t Header = 0x80, Optional = Header + 24, FirstSection = Optional + 0xF0, Directory = Optional + 112;
constexpr std::uint32_t Table = 0x1000;  // of exports: the same in the file and in memory

/// A DLL with the exports Alpha (a function), Beta (forwarded) and, by ordinal only, a function at 0x1777. The first ordinal is 5.
std::string sample() {
    std::string image(0x2000, '\0');
    const auto put = [&](std::size_t place, auto value) { std::memcpy(image.data() + place, &value, sizeof value); };
    const auto text = [&](std::size_t place, std::string_view content) { image.replace(place, content.size(), content); };
    image.replace(0, 2, "MZ");
    put(0x3C, std::uint32_t{Header});
    text(Header, "PE");
    put(Header + 6, std::uint16_t{1});
    put(Header + 20, std::uint16_t{0xF0});
    put(Optional, std::uint16_t{0x20B});
    for (const std::size_t field : {32u, 36u, 60u}) put(Optional + field, std::uint32_t{0x1000});  // alignments, size of the headers
    put(Optional + 56, std::uint32_t{0x2000});
    put(Optional + 108, std::uint32_t{16});
    put(Directory, Table);
    put(Directory + 4, std::uint32_t{0x100});
    for (const std::size_t field : {8u, 12u, 16u, 20u}) put(FirstSection + field, std::uint32_t{0x1000});
    std::size_t place = Table + 12;
    for (const std::uint32_t field : {0x1080u, 5u, 3u, 2u, 0x1028u, 0x1034u, 0x103Cu, 0x1500u, 0x1090u, 0x1777u, 0x1060u, 0x1068u}) {
        put(place, field);
        place += 4;
    }
    put(0x103C, std::uint16_t{0});
    put(0x103E, std::uint16_t{1});
    text(0x1060, "Alpha");
    text(0x1068, "Beta");
    text(0x1080, "sample.dll");
    text(0x1090, "other.Beta");
    return image;
}

/// What a loader finds: the address of a function, or where it is forwarded to.
std::string find(const std::string& image, std::string_view name) {
    const std::size_t count = at<std::uint16_t>(image, Header + 6);
    const auto offset = [&](std::uint32_t address) -> std::size_t {
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t section = FirstSection + 40 * i;
            const auto begin = at<std::uint32_t>(image, section + 12);
            if (address >= begin && address - begin < at<std::uint32_t>(image, section + 16))
                return at<std::uint32_t>(image, section + 20) + (address - begin);
        }
        return 0;
    };
    const auto table = at<std::uint32_t>(image, Directory), size = at<std::uint32_t>(image, Directory + 4);
    const std::size_t directory = offset(table);
    const auto field = [&](std::size_t place) { return at<std::uint32_t>(image, directory + place); };
    std::string last;
    for (std::uint32_t i = 0; i < field(24); ++i) {
        const std::string found = image.c_str() + offset(at<std::uint32_t>(image, offset(field(32)) + 4 * i));
        EXPECT_LT(last, found) << "loaders search in order";
        last = found;
        if (found != name) continue;
        const auto number = at<std::uint16_t>(image, offset(field(36)) + 2 * i);
        const auto function = at<std::uint32_t>(image, offset(field(28)) + 4 * number);
        if (function >= table && function - table < size)
            return std::to_string(field(16) + number) + " " + (image.c_str() + offset(function));
        return std::to_string(field(16) + number) + " at " + std::to_string(function);
    }
    return "none";
}

Result<std::string> forward(std::string image, std::initializer_list<std::string_view> names) {
    return forward_exports(std::move(image), std::vector(names), "more");
}

TEST(PeExports, ForwardsNewNamesAndThoseThatAreThere) {
    const auto image = forward(sample(), {"Alpha", "Beta", "Between", "AAA"});
    ASSERT_TRUE(image);
    EXPECT_EQ(find(*image, "Alpha"), "8 more.Alpha");
    EXPECT_EQ(find(*image, "Beta"), "9 more.Beta");
    EXPECT_EQ(find(*image, "Between"), "10 more.Between");
    EXPECT_EQ(find(*image, "AAA"), "11 more.AAA");
    EXPECT_EQ(find(*image, "Gamma"), "none");
}

TEST(PeExports, KeepsWhatItHadUnderAnotherName) {
    const auto image = forward(sample(), {"Alpha", "Beta", "New"});
    ASSERT_TRUE(image);
    EXPECT_EQ(find(*image, "wine_Alpha"), "5 at " + std::to_string(0x1500));
    EXPECT_EQ(find(*image, "wine_Beta"), "6 other.Beta");
    EXPECT_EQ(find(*image, "wine_New"), "none");
}

TEST(PeExports, LeavesOtherExportsAndTheRestOfTheFile) {
    const std::string before = sample();
    const auto image = forward(before, {"New"});
    ASSERT_TRUE(image);
    EXPECT_EQ(find(*image, "Alpha"), "5 at " + std::to_string(0x1500));
    EXPECT_EQ(find(*image, "Beta"), "6 other.Beta");
    EXPECT_EQ(at<std::uint32_t>(*image, 0x2000 + 40 + 8), 0x1777u) << "by ordinal";
    EXPECT_EQ(image->substr(Table, 0x1000), before.substr(Table));
    EXPECT_EQ(image->size(), 0x3000u);
    EXPECT_EQ(at<std::uint16_t>(*image, Header + 6), 2);
    EXPECT_EQ(at<std::uint32_t>(*image, Optional + 56), 0x3000u) << "its size in memory";
    EXPECT_EQ(image->substr(FirstSection + 40, 8), ".forward");
}

TEST(PeExports, RefusesWhatHasNoExportsOrNoRoom) {
    std::string narrow = sample(), bare = sample(), full = sample(), beyond = sample();
    narrow[Optional + 1] = 1;
    bare.replace(Directory, 8, 8, '\0');
    full.replace(Optional + 60, 2, std::string("\x98\x01", 2));  // the headers end where the section's would begin
    beyond.replace(Table + 37, 1, "\x7F");
    for (const std::string& image : {narrow, bare, full, beyond, std::string("plain text"), "MZ" + std::string(64, '\xFF')}) {
        const auto refused = forward(image, {"New"});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().reason, Reason::Invalid);
    }
    std::string cut = sample();
    cut.resize(0x1010);
    EXPECT_FALSE(forward(cut, {"New"}));
}

}  // namespace
}  // namespace porthole::winhost
