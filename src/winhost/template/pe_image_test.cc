#include "winhost/template/pe_image.h"

#include <gtest/gtest.h>

#include <cstring>

namespace porthole::winhost {
namespace {

/// A file with the sections .text, .debug_info and .rsrc, one page each.
std::string sample() {
    std::string image(0x4000, '\0');
    const auto put = [&](std::size_t at, auto value) { std::memcpy(image.data() + at, &value, sizeof value); };
    image.replace(0, 2, "MZ");
    image.replace(0x40, 16, "Wine builtin DLL");
    put(0x3C, std::uint32_t{0x80});
    image.replace(0x80, 2, "PE");
    put(0x86, std::uint16_t{3});
    put(0x8C, std::uint32_t{0x4000});  // symbols
    put(0x94, std::uint16_t{0xF0});    // size of the optional header
    put(0x98 + 32, std::uint32_t{0x1000});
    put(0x98 + 36, std::uint32_t{0x1000});
    put(0x98 + 56, std::uint32_t{0x4000});
    put(0x98 + 60, std::uint32_t{0x1000});
    const char* names[] = {".text", "/4", ".rsrc"};
    for (std::uint32_t i = 0; i < 3; ++i) {
        const std::size_t at = 0x188 + 40 * i;
        std::memcpy(image.data() + at, names[i], std::strlen(names[i]));
        put(at + 8, std::uint32_t{0x1000});
        put(at + 12, 0x1000 * (i + 1));
        put(at + 16, std::uint32_t{0x1000});
        put(at + 20, 0x1000 * (i + 1));
        image[0x1000 * (i + 1)] = static_cast<char>('a' + i);
    }
    return image;
}

template <class T>
T at(const std::string& image, std::size_t offset) {
    T value;
    std::memcpy(&value, image.data() + offset, sizeof value);
    return value;
}

TEST(PeImage, LosesDebugSectionsAndKeepsAddressesAndAlignment) {
    const auto stripped = strip_debug_sections(sample());
    ASSERT_TRUE(stripped);
    EXPECT_EQ(stripped->size(), 0x3000u);
    EXPECT_EQ(at<std::uint16_t>(*stripped, 0x86), 2);
    EXPECT_EQ(at<std::uint32_t>(*stripped, 0x8C), 0u);
    const std::size_t second = 0x188 + 40;
    EXPECT_STREQ(stripped->c_str() + second, ".rsrc");
    EXPECT_EQ(at<std::uint32_t>(*stripped, second + 12), 0x3000u) << "its address in memory stays";
    EXPECT_EQ(at<std::uint32_t>(*stripped, second + 20), 0x2000u) << "in the file it moves up";
    EXPECT_EQ((*stripped)[0x2000], 'c');
    EXPECT_EQ(stripped->substr(0x40, 16), "Wine builtin DLL");
}

TEST(PeImage, LeavesOtherFilesAlone) {
    EXPECT_EQ(*strip_debug_sections("plain text"), "plain text");
    std::string beyond = "MZ" + std::string(64, '\xFF');
    EXPECT_EQ(*strip_debug_sections(beyond), beyond) << "its header would lie behind its end";
    std::string cut = sample();
    cut.resize(0x1800);
    EXPECT_EQ(strip_debug_sections(cut).error().reason, Reason::Invalid);
}

/// The sample with other 16 or 32 bits at a place.
template <class T>
std::string sample_with(std::size_t place, T value) {
    std::string image = sample();
    std::memcpy(image.data() + place, &value, sizeof value);
    return image;
}

TEST(PeImage, IsRefusedWhereWhatIsLeftOfItWouldNotFitIntoTheFile) {
    std::string short_header =
        sample_with(0x94, std::uint16_t{0});  // the table of sections begins with the optional header, and ends the file
    for (const std::size_t at : {0x98, 0x98 + 40}) std::memset(short_header.data() + at, 0, 40);
    short_header.replace(0x98, 2, "/4");
    const std::uint16_t one = 1;
    const std::uint32_t headers = 0x98 + 60;
    std::memcpy(short_header.data() + 0x86, &one, sizeof one);
    std::memcpy(short_header.data() + 0x98 + 60, &headers, sizeof headers);
    const struct {
        const char* name;
        std::string image;
    } rows[] = {
        {"an alignment that wraps", sample_with(0x98 + 36, std::uint32_t{0xFFFFFFFF})},
        {"an alignment of gigabytes", sample_with(0x98 + 36, std::uint32_t{0x70000000})},
        {"sections of the same bytes", sample_with(0x188 + 16, std::uint32_t{0x3000})},
        {"an optional header without the sizes", short_header},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto stripped = strip_debug_sections(row.image);
        ASSERT_FALSE(stripped);
        EXPECT_EQ(stripped.error().reason, Reason::Invalid);
    }
}

TEST(PeImage, CorrectsTheDefaultHandlerOnlyWhereItIsTheKnownOne) {
    const std::string code("\x48\x83\xEC\x38\xF6\x05\xC5\x8F\x07\x00\x01\x75\x08\x31\xC9\xFF\x15\xC3\x72\x0C\x00\x89", 22);
    std::string image = "head" + code;
    EXPECT_TRUE(correct_default_control_handler(image));
    EXPECT_EQ(image.substr(4, 15), std::string("\x48\x83\xEC\x38\xB9\x3A\x01\x00\xC0\xFF\x15\xC9\x72\x0C\x00", 15))
        << "the call still goes to the same place";
    EXPECT_EQ(image.size(), 4 + code.size());
    std::string twice = code + code;
    EXPECT_FALSE(correct_default_control_handler(twice));
    EXPECT_EQ(twice, code + code);
    for (const std::size_t size : {6u, 12u, 20u}) {
        std::string cut = code.substr(0, size);
        EXPECT_FALSE(correct_default_control_handler(cut)) << size;
    }
}

TEST(PeImage, CorrectsTheDefaultHandlerOfWine10) {
    const std::string code(
        "\xF6\x05\x62\x30\x01\x00\x01\x75\x18\x83\xFB\x01\x76\x08\x31\xC9\xFF\x15\x83\x33\x05\x00\xB9\x3A\x01\x00\xC0\xFF\x15\x78", 30);
    std::string image = "head" + code;
    EXPECT_TRUE(correct_default_control_handler(image));
    std::string expected = "head" + code;
    expected[4 + 12] = '\xEB';
    EXPECT_EQ(image, expected) << "all events end it alike";
    std::string twice = code + code;
    EXPECT_FALSE(correct_default_control_handler(twice));
    EXPECT_EQ(twice, code + code);
    for (std::size_t size = 0; size < code.size() - 1; ++size) {
        std::string cut = code.substr(0, size);
        EXPECT_FALSE(correct_default_control_handler(cut)) << size;
    }
}

TEST(PeImage, ClearsLessOfANewThreadsStackOnlyWhereTheCodeIsTheKnownOne) {
    const std::string code(
        "\x48\x81\xE1\x00\xF0\xFF\xFF\x48\x8D\xB9\x00\x00\xF1\xFF\x48\x89\xFC\x48\x29\xF9\x31\xC0\x48\xC1\xE9\x03\xF3\x48\xAB", 29);
    std::string image = "head" + code + "tail";
    EXPECT_TRUE(limit_stack_clearing(image));
    EXPECT_EQ(at<std::int32_t>(image, 4 + 10), -0x10000);
    EXPECT_EQ(image.substr(0, 14) + image.substr(18), "head" + code.substr(0, 10) + code.substr(14) + "tail") << "nothing else";
    std::string other = code;
    other[10] = 0x10;
    const std::string before = other;
    EXPECT_FALSE(limit_stack_clearing(other));
    EXPECT_EQ(other, before);
}

TEST(PeImage, HidesTheAllocatorThatCannotReservePlaceholders) {
    using namespace std::string_literals;
    std::string image = "x\0VirtualAlloc\0VirtualAlloc2\0VirtualAlloc2FromApp\0y"s;
    EXPECT_TRUE(hide_placeholders(image));
    EXPECT_EQ(image, "x\0VirtualAlloc\0VirtualAlloc0\0VirtualAlloc2FromApp\0y"s);
    EXPECT_FALSE(hide_placeholders(image)) << "it is gone";
    std::string other = "VirtualAlloc2";
    EXPECT_FALSE(hide_placeholders(other));
    EXPECT_EQ(other, "VirtualAlloc2");
}

/// Code that makes the key of the time zone if a call has not failed, and after it the key's name.
std::string code_of_time_zone() {
    using namespace std::string_literals;
    const std::string call = "\xE8\xCC\xA0\xFF\xFF\x83\xF8\xFF\x0F\x85\x04\x00\x00\x00"s + "else"s;
    const std::string branch =
        "\x48\x8D\x44\x24\x68\x45\x31\xC9\x45\x31\xC0\x48\xC7\x44\x24\x40\0\0\0\0\x48\x89\x44\x24\x38\x48\x8D\x15\x04\0\0\0"s + "more"s;
    constexpr std::u16string_view Name = u"System\\CurrentControlSet\\Control\\TimeZoneInformation";
    return call + branch + std::string(reinterpret_cast<const char*>(Name.data()), Name.size() * sizeof(char16_t));
}

TEST(PeImage, LeavesOutTheTimeZoneOnlyWhereItGoesToTheRegistry) {
    const std::string code = code_of_time_zone();
    std::string image = "head" + code + "tail";
    EXPECT_TRUE(leave_out_time_zone(image));
    EXPECT_EQ(image, "head" + ("\xB8\xFF\xFF\xFF\xFF" + code.substr(5)) + "tail") << "the call is answered with a failure";
    EXPECT_FALSE(leave_out_time_zone(image)) << "it is gone";
    std::string other = code;
    other[code.find('T')] = 'X';
    const std::string before = other;
    EXPECT_FALSE(leave_out_time_zone(other)) << "another key";
    EXPECT_EQ(other, before);
    for (std::size_t size = 0; size < code.size(); ++size) {
        std::string cut = code.substr(0, size);
        EXPECT_FALSE(leave_out_time_zone(cut)) << size;
    }
}

}  // namespace
}  // namespace porthole::winhost
