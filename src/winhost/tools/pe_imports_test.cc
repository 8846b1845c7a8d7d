#include "winhost/tools/pe_imports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace porthole::winhost {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

void put(std::string& image, std::size_t at, std::uint64_t number, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) image[at + i] = static_cast<char>(number >> (8 * i));
}

/// A program of 64 bits that imports a.dll and B.DLL; its only section, in the file at 0x200, is loaded at 0x1000.
std::string program() {
    constexpr std::size_t Header = 0x80, Optional = Header + 24, Section = Optional + 240, Table = 0x200, Names = 0x280;
    std::string image(0x300, '\0');
    image.replace(0, 2, "MZ");
    put(image, 0x3C, Header, 4);
    image.replace(Header, 2, "PE");
    put(image, Header + 6, 1, 2);     // sections
    put(image, Header + 20, 240, 2);  // size of the optional header
    put(image, Optional, 0x20B, 2);
    put(image, Optional + 108, 16, 4);  // directories
    put(image, Optional + 120, 0x1000, 4);
    put(image, Section + 12, 0x1000, 4);
    put(image, Section + 16, 0x100, 4);
    put(image, Section + 20, Table, 4);
    put(image, Table + 12, 0x1080, 4);
    put(image, Table + 20 + 12, 0x1088, 4);
    image.replace(Names, 5, "a.dll");
    image.replace(Names + 8, 5, "B.DLL");
    return image;
}

TEST(PeImports, AreTheDllsThatAProgramNeeds) { EXPECT_THAT(PeImage(program()).imports(), ElementsAre("a.dll", "B.DLL")); }

TEST(PeImports, EndWhereAnAddressLeadsOutOfTheImage) {
    std::string second = program();
    put(second, 0x200 + 20 + 12, 0xFFFFFFF0, 4);
    EXPECT_THAT(PeImage(second).imports(), ElementsAre("a.dll"));
    std::string table = program();
    put(table, 0x80 + 24 + 120, 0x10FF, 4);
    EXPECT_THAT(PeImage(table).imports(), IsEmpty());
    std::string section = program();
    put(section, 0x80 + 24 + 240 + 20, 0xFFFFFFFF, 4);
    EXPECT_THAT(PeImage(section).imports(), IsEmpty());
    std::string header = program();
    put(header, 0x3C, 0xFFFFFFFF, 4);
    EXPECT_THAT(PeImage(header).imports(), IsEmpty());
}

/// Also a DLL: exports "A" at 0x1234 and "CtrlRoutine" at 0x5678, whose numbers are the other way round.
std::string dll() {
    std::string image = program();
    constexpr std::size_t Table = 0x2A0;  // 0x10A0 when loaded
    put(image, 0x80 + 24 + 112, 0x10A0, 4);
    put(image, Table + 24, 2, 4);
    put(image, Table + 28, 0x10C8, 4);  // functions
    put(image, Table + 32, 0x10D0, 4);  // names
    put(image, Table + 36, 0x10D8, 4);  // numbers
    put(image, 0x2C8, 0x5678, 4);
    put(image, 0x2CC, 0x1234, 4);
    put(image, 0x2D0, 0x10E0, 4);
    put(image, 0x2D4, 0x10E4, 4);
    put(image, 0x2D8, 1, 2);
    put(image, 0x2DA, 0, 2);
    image.replace(0x2E0, 1, "A");
    image.replace(0x2E4, 11, "CtrlRoutine");
    return image;
}

TEST(PeExports, AreFoundByName) {
    const std::string image = dll();
    EXPECT_EQ(PeImage(image).export_address("CtrlRoutine"), 0x5678u);
    EXPECT_EQ(PeImage(image).export_address("A"), 0x1234u);
    EXPECT_EQ(PeImage(image).export_address("Ctrl"), std::nullopt);
    const std::string other = program();
    EXPECT_EQ(PeImage(other).export_address("A"), std::nullopt) << "it exports nothing";
}

TEST(PeExports, AreNeverReadBeyondTheEnd) {
    const std::string whole = dll();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::string part(whole.data(), size);
        const auto found = PeImage(part).export_address("CtrlRoutine");
        EXPECT_TRUE(!found || found == 0x5678u) << size;
    }
    for (const std::size_t at : {0x2A0 + 24, 0x2A0 + 28, 0x2A0 + 32, 0x2A0 + 36, 0x2D4, 0x2DA}) {
        std::string wrong = dll();
        put(wrong, at, 0xFFFFFFF0, at == 0x2DA ? 2 : 4);
        const auto found = PeImage(wrong).export_address("CtrlRoutine");
        EXPECT_TRUE(!found || at == 0x2A0 + 24) << at;
    }
}

TEST(PeImports, AreNotSearchedForInMoreSectionsThanWineLoads) {
    std::string many = program();
    many.resize(0x4000);
    put(many, 0x80 + 6, 96, 2);
    EXPECT_THAT(PeImage(many).imports(), ElementsAre("a.dll", "B.DLL"));
    put(many, 0x80 + 6, 97, 2);
    EXPECT_THAT(PeImage(many).imports(), IsEmpty());
}

TEST(PeImports, AreNeverReadBeyondTheEnd) {
    const std::string whole = program();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::string part(whole.data(), size);  // of its own, so that a sanitizer sees every byte beyond it
        EXPECT_LE(PeImage(part).imports().size(), 2u) << size;
    }
}

}  // namespace
}  // namespace porthole::winhost
