#include <windows.h>

#include <aclapi.h>
#include <gtest/gtest.h>
#include <sddl.h>

#include "base/wide_windows.h"
#include "runtime/files/file_owners_windows.h"
#include "runtime/files/file_system.h"
#include "runtime/files/file_system_windows.h"
#include "runtime/files/wine_links_windows.h"

namespace porthole {
namespace {

struct WindowsFileSystemTest : testing::Test {
    void SetUp() override { ASSERT_TRUE(files->create_directories(folder, 0755)); }
    void TearDown() override { EXPECT_TRUE(files->remove_all(folder)); }
    std::unique_ptr<FileSystem> files = make_file_system();
    const std::string folder = "C:/windows/temp/porthole file system test/ä";
};

TEST_F(WindowsFileSystemTest, WritesReadsListsAndRemoves) {
    const std::string path = join_path(folder, "größe.txt");
    ASSERT_TRUE(files->write(path, "first, and long", 0644));
    ASSERT_TRUE(files->write(path, "second", 0600));
    EXPECT_EQ(files->read(path).value(), "second");
    EXPECT_EQ(files->read_at(path, 3, 2).value(), "on");
    EXPECT_EQ(files->list(folder).value(), std::vector<std::string>{"größe.txt"});
    EXPECT_EQ(files->status(path)->size, 6u);
    EXPECT_EQ(files->status(path)->type, FileType::Regular);
    ASSERT_TRUE(files->remove(path));
    EXPECT_EQ(files->read(path).error().reason, Reason::NotFound);
}

TEST_F(WindowsFileSystemTest, ReadsWhatContainersWroteOnlyFromRegularFiles) {
    const std::string message = join_path(folder, "message"), below = join_path(folder, "below");
    ASSERT_TRUE(files->write(message, "all is well", 0644));
    ASSERT_TRUE(files->create_directories(below, 0755));
    EXPECT_EQ(files->read_untrusted(message, 4, 100).value(), "is well");
    EXPECT_EQ(files->read_untrusted(below, 0, 100).error().reason, Reason::Forbidden);
    EXPECT_EQ(files->read_untrusted(join_path(folder, "nothing"), 0, 100).error().reason, Reason::NotFound);

    const std::string linux_folder = wine_links::linux_path(windows_files::native_path(folder));
    if (linux_folder.empty()) return;  // on Windows itself
    constexpr long long Symlink = 88, Mknod = 133, Fifo = 0010600;
    const std::string target = linux_folder + "/message", link = linux_folder + "/link", pipe = linux_folder + "/pipe";
    ASSERT_EQ(wine_links::linux_call(Symlink, wine_links::word(target.c_str()), wine_links::word(link.c_str()), 0, 0), 0);
    ASSERT_EQ(wine_links::linux_call(Mknod, wine_links::word(pipe.c_str()), Fifo, 0, 0), 0);
    EXPECT_EQ(files->read_untrusted(join_path(folder, "link"), 0, 100).error().reason, Reason::Forbidden);
    EXPECT_EQ(files->read_untrusted(join_path(folder, "pipe"), 0, 100).error().reason, Reason::Forbidden);
}

TEST_F(WindowsFileSystemTest, RenamesOverWhatIsThere) {
    const std::string from = join_path(folder, "new"), to = join_path(folder, "old");
    ASSERT_TRUE(files->write(from, "new", 0644));
    ASSERT_TRUE(files->write(to, "old", 0644));
    ASSERT_TRUE(files->rename(from, to));
    EXPECT_EQ(files->read(to).value(), "new");
    EXPECT_FALSE(files->exists(from));
}

TEST_F(WindowsFileSystemTest, MakesFoldersBelowEachOtherAndRemovesTheTree) {
    const std::string deep = folder + "/a\\b/c";
    ASSERT_TRUE(files->create_directories(deep, 0700));
    ASSERT_TRUE(files->create_directories(deep, 0700));
    ASSERT_TRUE(files->write(deep + "/file", "x", 0444));
    EXPECT_FALSE(files->remove(folder + "/a"));
    ASSERT_TRUE(files->remove_all(folder + "/a"));
    EXPECT_FALSE(files->exists(folder + "/a"));
    EXPECT_TRUE(files->create_directories("C:/", 0755));
}

TEST_F(WindowsFileSystemTest, TakesPathsBeyondTheOldLimit) {
    const std::string deep = folder + "/" + std::string(100, 'x') + "/" + std::string(100, 'y') + "/" + std::string(100, 'z');
    ASSERT_TRUE(files->create_directories(deep, 0755));
    ASSERT_TRUE(files->write(deep + "/file", "x", 0644));
    EXPECT_EQ(files->read(deep + "/file").value(), "x");
}

TEST_F(WindowsFileSystemTest, KnowsTheRoomOnTheDisk) {
    const auto usage = files->usage(folder);
    ASSERT_TRUE(usage);
    EXPECT_GT(usage->capacity, usage->available);
}

/// What the access list of a file lets `sid` do.
ACCESS_MASK rights_of(const std::string& path, const wchar_t* sid) {
    PACL list = nullptr;
    PSECURITY_DESCRIPTOR descriptor = nullptr;
    const std::wstring native = to_wide(path);
    GetNamedSecurityInfoW(native.c_str(), SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, nullptr, nullptr, &list, nullptr, &descriptor);
    PSID wanted = nullptr;
    ConvertStringSidToSidW(sid, &wanted);
    ACCESS_MASK rights = 0;
    for (DWORD i = 0; list && i < list->AceCount; ++i) {
        ACCESS_ALLOWED_ACE* entry = nullptr;
        if (GetAce(list, i, reinterpret_cast<void**>(&entry)) && entry->Header.AceType == ACCESS_ALLOWED_ACE_TYPE &&
            EqualSid(&entry->SidStart, wanted))
            rights |= entry->Mask;
    }
    LocalFree(wanted);
    LocalFree(descriptor);
    return rights;
}

constexpr const wchar_t* Everyone = L"S-1-1-0";

// SEC-01
TEST_F(WindowsFileSystemTest, SEC01_WhatIsRestrictedToAdministratorsIsClosedToOthers) {
    const std::string secret = folder + "/secret";
    ASSERT_TRUE(files->create_directories(secret, 0755));
    ASSERT_NE(rights_of(secret, Everyone) & FILE_READ_DATA, 0u) << "as folders are that nobody closes";
    ASSERT_TRUE(files->restrict_to_administrators(secret));
    EXPECT_EQ(rights_of(secret, Everyone), 0u);
    ASSERT_TRUE(files->write(secret + "/password", "sesame", 0644));
    EXPECT_EQ(files->read(secret + "/password").value(), "sesame");
}

// SEC-01: Everyone is the one account of which Wine keeps the rights
TEST_F(WindowsFileSystemTest, SEC01_WhatIsInAFolderThatIsRestrictedIsClosedAsWellButToItsReaders) {
    const std::string closed = folder + "/closed", shown = folder + "/shown";
    for (const std::string& secret : {closed, shown}) {
        ASSERT_TRUE(files->create_directories(secret + "/below", 0755));
        ASSERT_TRUE(files->write(secret + "/below/password", "sesame", 0666));
        ASSERT_NE(rights_of(secret + "/below/password", Everyone) & FILE_READ_DATA, 0u);
    }
    ASSERT_TRUE(files->restrict_to_administrators(closed));
    ASSERT_TRUE(files->restrict_to_administrators(shown, {"S-1-1-0"}));
    for (const char* path : {"", "/below", "/below/password"}) {
        EXPECT_EQ(rights_of(closed + path, Everyone), 0u) << path;
        EXPECT_NE(rights_of(shown + path, Everyone) & FILE_READ_DATA, 0u) << path;
        EXPECT_EQ(rights_of(shown + path, Everyone) & FILE_WRITE_DATA, 0u) << path;
    }
    EXPECT_EQ(files->read(closed + "/below/password").value(), "sesame");
}

// SEC-17
TEST_F(WindowsFileSystemTest, SEC17_AFileOfItsOwnerIsClosedToOthers) {
    ASSERT_TRUE(files->write(folder + "/open", "x", 0644));
    ASSERT_TRUE(files->write(folder + "/key", "x", 0600));
    EXPECT_NE(rights_of(folder + "/open", Everyone) & FILE_READ_DATA, 0u);
    EXPECT_EQ(rights_of(folder + "/key", Everyone), 0u);
}

// SEC-17
TEST_F(WindowsFileSystemTest, SEC17_WhoHasAFileOfBeforeOpenDoesNotSeeWhatReplacesIt) {
    const std::string key = folder + "/key";
    ASSERT_TRUE(files->write(key + ".new", "left behind", 0644));
    const std::wstring left_behind = to_wide(key + ".new");
    const HANDLE open = CreateFileW(left_behind.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                    OPEN_EXISTING, 0, nullptr);
    ASSERT_NE(open, INVALID_HANDLE_VALUE);
    (void)files->replace(key, "secret", 0600);  // which may fail as long as the other is open
    char text[64];
    DWORD size = 0;
    EXPECT_TRUE(ReadFile(open, text, sizeof text, &size, nullptr));
    EXPECT_EQ(std::string(text, size), "left behind");
    CloseHandle(open);
    ASSERT_TRUE(files->replace(key, "secret", 0600));
    EXPECT_EQ(files->read(key).value(), "secret");
    EXPECT_EQ(rights_of(key, Everyone), 0u);
    EXPECT_FALSE(files->exists(key + ".new"));
}

// SEC-01
TEST_F(WindowsFileSystemTest, SEC01_AnAccountThatIsLetInMayReadAndNoMore) {
    const std::string secret = folder + "/secret";
    ASSERT_TRUE(files->create_directories(secret, 0755));
    ASSERT_TRUE(files->restrict_to_administrators(secret));
    ASSERT_TRUE(files->write(secret + "/password", "sesame", 0600));
    ASSERT_TRUE(files->allow_reading(secret, "S-1-5-93-2-2"));
    EXPECT_EQ(rights_of(secret, Everyone), 0u);
    ASSERT_TRUE(files->allow_reading(secret, "S-1-1-0"));
    for (const std::string& path : {secret, secret + "/password"}) {
        EXPECT_NE(rights_of(path, Everyone) & FILE_READ_DATA, 0u) << path;
        EXPECT_EQ(rights_of(path, Everyone) & FILE_WRITE_DATA, 0u) << path;
    }
    EXPECT_TRUE(files->allow_reading(secret, "NT AUTHORITY\\NETWORK SERVICE"));
    EXPECT_EQ(files->allow_reading(secret, "nobody-of-this-machine").error().reason, Reason::NotFound);
    EXPECT_FALSE(files->allow_reading(secret, "S-1-nonsense"));
}

// SEC-17
TEST_F(WindowsFileSystemTest, SEC17_WhatIsOfNobodyElseIsFoundToBeSo) {
    ASSERT_TRUE(files->create_directories(folder + "/a/b", 0755));
    ASSERT_TRUE(files->write(folder + "/a/b/c.dll", "x", 0644));
    EXPECT_EQ(find_of_others(*files, folder).value(), "");
    EXPECT_EQ(find_of_others(*files, folder + "/absent").value(), "");
}

TEST(WindowsPaths, TakeBothSeparatorsAndDrives) {
    EXPECT_EQ(parent_path("C:\\a\\b"), "C:\\a");
    EXPECT_EQ(parent_path("C:/a/"), "C:/");
    EXPECT_EQ(parent_path("C:\\"), "C:\\");
    EXPECT_EQ(base_name("C:\\a\\b.txt"), "b.txt");
    EXPECT_EQ(join_path("C:\\", "\\a"), "C:\\a");
    EXPECT_EQ(join_path("C:\\a", "b"), "C:\\a/b");
}

}  // namespace
}  // namespace porthole
