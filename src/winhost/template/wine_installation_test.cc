#include "winhost/template/wine_installation.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WineRoot : public ::testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/porthole-wine-root-XXXXXX";
        wine.root = ::mkdtemp(name);
        for (const std::string_view program : {WineInstallation::Loader, WineInstallation::Server, WineInstallation::ProgramLoader})
            write(program, program_for(EM_X86_64));
        write("/usr/lib/x86_64-linux-gnu/wine/x86_64-unix/ntdll.so", program_for(EM_X86_64));
        write("/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/ntdll.dll", "MZ");
        write("/usr/share/wine/wine.inf", ";; .INF script for the basic Wine configuration\n;; Version: Wine 10.0\n;;\n");
        fs::permissions(wine.root, fs::perms(0755));
    }
    void TearDown() override { fs::remove_all(wine.root); }

    static std::string program_for(Elf64_Half machine) {
        Elf64_Ehdr header{};
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_machine = machine;
        return {reinterpret_cast<const char*>(&header), sizeof header};
    }
    void write(std::string_view path, std::string_view content) {
        fs::create_directories(fs::path(wine.at(path)).parent_path());
        std::ofstream(wine.at(path), std::ios::binary) << content;
    }

    WineInstallation wine;
};

TEST_F(WineRoot, SaysWhichWineItHas) {
    ASSERT_TRUE(wine.check()) << wine.check().error().message;
    EXPECT_EQ(wine.version(), "10.0");
    write("/usr/share/wine/wine.inf", ";; Version: Wine 10.1-rc2; and more");
    EXPECT_EQ(wine.version(), "10.1-rc2");
    for (const std::string& text : {std::string(";; Wine"), std::string(), "Version: Wine " + std::string(1000, '\n')}) {
        write("/usr/share/wine/wine.inf", text);
        EXPECT_EQ(wine.version(), "unknown");
    }
    write("/usr/share/wine/wine.inf", "Version: Wine " + std::string(1000, '1'));
    EXPECT_EQ(wine.version(), std::string(32, '1')) << "nodes show it";
}

TEST_F(WineRoot, NamesWhatIsMissingAndTheRemedy) {
    for (const std::string_view path : {WineInstallation::Loader, WineInstallation::ProgramLoader}) {
        const std::string name = wine.at(path);
        fs::rename(name, name + ".away");
        const auto checked = wine.check();
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().reason, Reason::NotFound);
        EXPECT_THAT(checked.error().message, AllOf(HasSubstr(std::string(path)), HasSubstr("packaging/wine_root.py")));
        fs::rename(name + ".away", name);
    }
    const auto missing = WineInstallation{wine.root + "/none"}.check();
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message,
              "there is no Wine root " + wine.root + "/none: make one with packaging/wine_root.py " + wine.root + "/none");
}

TEST_F(WineRoot, IsRefusedIfItIsForAnotherKindOfMachine) {
    for (const std::string& other :
         {program_for(EM_AARCH64), program_for(EM_X86_64).substr(0, 20), std::string("#!/bin/sh\n"), std::string()}) {
        write(WineInstallation::ProgramLoader, other);
        const auto checked = wine.check();
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().reason, Reason::Invalid);
        EXPECT_THAT(checked.error().message, HasSubstr("is not for this machine: /usr/lib64/ld-linux-x86-64.so.2"));
    }
}

TEST_F(WineRoot, IsRefusedIfOthersCanChangeIt) {
    fs::permissions(wine.root, fs::perms(0777));
    const auto checked = wine.check();
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().reason, Reason::Forbidden);
}

TEST_F(WineRoot, HasAnotherFingerprintWithOtherLibrariesOrDllsOf32Bits) {
    const std::string before = wine.fingerprint();
    EXPECT_EQ(wine.fingerprint(), before);
    write("/usr/lib/x86_64-linux-gnu/libunwind.so.8", "one");
    const std::string with_library = wine.fingerprint();
    EXPECT_NE(with_library, before);
    EXPECT_FALSE(wine.has_32_bit_dlls());
    write("/usr/lib/x86_64-linux-gnu/wine/i386-windows/ntdll.dll", "MZ");
    EXPECT_TRUE(wine.has_32_bit_dlls());
    EXPECT_NE(wine.fingerprint(), with_library);
    EXPECT_NE(WineInstallation{}.fingerprint(), with_library);
}

TEST_F(WineRoot, HasTheLibrariesNextToEachOther) {
    write("/usr/lib/x86_64-linux-gnu/libunwind.so.8.1.0", "one");
    write("/usr/lib/x86_64-linux-gnu/gconv/UTF-7.so", "not the loader's");
    write("/usr/lib/x86_64-linux-gnu/notes.txt", "none");
    fs::create_symlink("libunwind.so.8.1.0", wine.at("/usr/lib/x86_64-linux-gnu/libunwind.so.8"));
    EXPECT_THAT(wine.libraries_of_root(), ElementsAre("/usr/lib/x86_64-linux-gnu/libunwind.so.8",
                                                      "/usr/lib/x86_64-linux-gnu/libunwind.so.8.1.0", "/usr/lib64/ld-linux-x86-64.so.2"));
}

}  // namespace
}  // namespace porthole::winhost
