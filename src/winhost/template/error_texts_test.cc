#include "winhost/template/error_texts.h"

#include <gtest/gtest.h>

#include "winhost/template/pe_bytes.h"

namespace porthole::winhost {
namespace {

constexpr std::size_t Header = 0x80, Optional = Header + FileHeaderSize, Sections = Optional + 0xF0;

std::string message_of(std::string_view text) {
    std::string made(4, '\0');
    for (const char letter : text) made.append({letter, '\0'});
    made.resize(round_up(static_cast<std::uint32_t>(made.size()) + 2, 4));
    put(made, 0, static_cast<std::uint16_t>(made.size()));
    put(made, 2, std::uint16_t{1});
    return made;
}

/// A file with one section, .rsrc, at the address 0x2000; in it a table of the messages 4 to 6 and 7000.
std::string sample() {
    std::string table(4 + 2 * 12, '\0');
    put(table, 0, std::uint32_t{2});
    put(table, 4, std::uint32_t{4});
    put(table, 8, std::uint32_t{6});
    put(table, 12, static_cast<std::uint32_t>(table.size()));
    table += message_of("Too many open files.\n") + message_of("Access denied.\n") + message_of("Invalid handle.\n");
    put(table, 16, std::uint32_t{7000});
    put(table, 20, std::uint32_t{7000});
    put(table, 24, static_cast<std::uint32_t>(table.size()));
    table += message_of("Only Wine's.\n");

    std::string resources(0x60, '\0');
    const std::uint32_t ids[] = {11, 1, 0x409};
    for (std::size_t level = 0; level < 3; ++level) {
        const std::size_t folder = level * 24;
        put(resources, folder + 14, std::uint16_t{1});
        put(resources, folder + 16, ids[level]);
        put(resources, folder + 20, static_cast<std::uint32_t>(level < 2 ? 0x80000000 + folder + 24 : 72));
    }
    put(resources, 72, static_cast<std::uint32_t>(0x2000 + resources.size()));
    put(resources, 76, static_cast<std::uint32_t>(table.size()));

    std::string image(0x1000, '\0');
    image.replace(0, 2, "MZ");
    put(image, HeaderOffsetAt, static_cast<std::uint32_t>(Header));
    image.replace(Header, 2, "PE");
    put(image, Header + 6, std::uint16_t{1});
    put(image, Header + 20, std::uint16_t{0xF0});
    put(image, Optional + 32, std::uint32_t{0x1000});
    put(image, Optional + 36, std::uint32_t{0x1000});
    put(image, Optional + 56, std::uint32_t{0x3000});
    put(image, Optional + 60, std::uint32_t{0x1000});
    put(image, Optional + 112 + 16, std::uint32_t{0x2000});
    image.replace(Sections, 5, ".rsrc");
    put(image, Sections + 8, std::uint32_t{0x1000});
    put(image, Sections + 12, std::uint32_t{0x2000});
    put(image, Sections + 16, std::uint32_t{0x1000});
    put(image, Sections + 20, std::uint32_t{0x1000});
    image += resources + table;
    image.resize(0x2000);
    return image;
}

/// As Windows' loader would find it, given where the file's last section is in the file and in memory.
std::string text_of(const std::string& image, std::uint32_t code) {
    const std::size_t last = Sections + (get<std::uint16_t>(image, Header + 6) - 1) * SectionHeaderSize;
    const auto address = get<std::uint32_t>(image, 0x1000 + 72);
    const std::size_t table = get<std::uint32_t>(image, last + 20) + address - get<std::uint32_t>(image, last + 12);
    for (std::uint32_t block = 0; block < get<std::uint32_t>(image, table); ++block) {
        const std::size_t at = table + 4 + block * 12;
        std::size_t place = table + get<std::uint32_t>(image, at + 8);
        for (auto each = get<std::uint32_t>(image, at); each <= get<std::uint32_t>(image, at + 4); ++each) {
            const auto length = get<std::uint16_t>(image, place);
            std::string text;
            for (std::size_t i = 4; i < length && image[place + i] != 0; i += 2) text += image[place + i];
            if (each == code) return text;
            place += length;
        }
    }
    return "";
}

TEST(ErrorTexts, AreThoseOfWindowsInASectionOfTheirOwn) {
    std::string image = sample();
    ASSERT_EQ(text_of(image, 5), "Access denied.\n");
    ASSERT_TRUE(use_windows_error_texts(image));
    EXPECT_EQ(text_of(image, 4), "The system cannot open the file.\n");
    EXPECT_EQ(text_of(image, 5), "Access is denied.\n");
    EXPECT_EQ(text_of(image, 6), "The handle is invalid.\n");
    EXPECT_EQ(text_of(image, 7000), "Only Wine's.\n");
    EXPECT_EQ(image.size(), 0x3000u);
    EXPECT_EQ(get<std::uint16_t>(image, Header + 6), 2);
    EXPECT_EQ(get<std::uint32_t>(image, Optional + 56), 0x4000u);
    EXPECT_EQ(get<std::uint32_t>(image, 0x1000 + 72), 0x3000u) << "behind all that was in memory";
}

TEST(ErrorTexts, LeaveAFileThatIsNotMadeAsExpected) {
    std::string no_room = sample();
    put(no_room, Optional + 60, static_cast<std::uint32_t>(Sections + SectionHeaderSize));
    std::string other_language = sample();
    put(other_language, 0x1000 + 48 + 16, std::uint32_t{0x407});
    std::string cut_table = sample();
    put(cut_table, 0x1000 + 76, std::uint32_t{60});
    std::string far_away = sample();
    put(far_away, 0x1000 + 72, std::uint32_t{0x9000});
    for (std::string image : {no_room, other_language, cut_table, far_away, std::string("MZ"), std::string()}) {
        const std::string before = image;
        EXPECT_FALSE(use_windows_error_texts(image));
        EXPECT_EQ(image, before);
    }
}

}  // namespace
}  // namespace porthole::winhost
