#include "winhost/images/layers/layer_unpacker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "winhost/images/layers/layer_names.h"
#include "winhost/images/test_folder.h"
#include "winhost/images/test_tar.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;

/// A template with Wine's names, and layers one upon another; paths in checks are below C:\ of the newest layer.
class LayerUnpacker : public testing::Test {
protected:
    LayerUnpacker() {
        folder_.write("template/wine/drive_c/windows/system32/kernel32.dll", "Wine builtin DLL");
        folder_.write("template/wine/drive_c/users/Public/x", "");
    }
    Result<LayerOutcome> add(const TestTar& tar) {
        const std::string name = "layer" + std::to_string(count_++);
        fs::create_directories(folder_ / name);
        const std::string text = tar.text();
        const auto source = make_text_source(text);
        const LayerJob job{.folder = folder_ / name,
                           .drive_path = "wine/drive_c",
                           .lowers = lowers_,
                           .template_lowers = {folder_ / "template"},
                           .is_whole_image = is_whole_image_,
                           .most_names = most_names_};
        auto outcome = unpack_layer(*source, job);
        lowers_.insert(lowers_.begin(), job.folder);
        return outcome;
    }
    std::string path(const std::string& below_drive) const { return lowers_.front() + "/wine/drive_c/" + below_drive; }
    std::string content(const std::string& below_drive) const { return TestFolder::read_file(path(below_drive)); }
    bool exists(const std::string& below_drive) const { return fs::symlink_status(path(below_drive)).type() != fs::file_type::not_found; }
    bool is_hidden(const std::string& below_drive) const {
        struct stat status{};
        return ::lstat(path(below_drive).c_str(), &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(0, 0);
    }
    bool is_opaque(const std::string& below_drive) const {
        char value = 0;
        return ::lgetxattr(path(below_drive).c_str(), "trusted.overlay.opaque", &value, 1) == 1 && value == 'y';
    }
    /// Hiding makes device files.
    static bool may_hide() { return ::geteuid() == 0; }

    TestFolder folder_;
    std::vector<std::string> lowers_;
    std::size_t most_names_ = 1000;
    bool is_whole_image_ = false;
    int count_ = 0;
};

TEST_F(LayerUnpacker, LaysFilesOutInTheSpellingOfWhatLiesBelow) {
    ASSERT_TRUE(
        add(TestTar().folder("Files").folder("Files/WINDOWS").file("Files/WINDOWS/System32/App.dll", "1").file("Files/App/A.exe", "2")));
    EXPECT_EQ(content("windows/system32/App.dll"), "1");
    EXPECT_EQ(content("App/A.exe"), "2");
    ASSERT_TRUE(add(TestTar().file("Files/APP/a.EXE", "3").file("Files/app/new", "4").file("Files/aPP/NEW", "5")));
    EXPECT_EQ(content("App/A.exe"), "3");
    EXPECT_EQ(content("App/new"), "5");
    EXPECT_FALSE(exists("APP"));
    EXPECT_FALSE(exists("App/NEW"));
}

TEST_F(LayerUnpacker, PassesOverStreamsOfFiles) {
    ASSERT_TRUE(add(TestTar().file("Files/a", "1").file("Files/a:Zone.Identifier", "x")));
    EXPECT_EQ(content("a"), "1");
    EXPECT_FALSE(exists("a:Zone.Identifier"));
}

TEST_F(LayerUnpacker, KeepsTheHivesThatAreMergedNextToTheDrive) {
    ASSERT_TRUE(add(TestTar()
                        .folder("Hives")
                        .file("Hives/SOFTWARE_Delta", "s")
                        .file("Hives/System_Delta", "old")
                        .file("Hives/system_delta", "new")
                        .file("Hives/Sam_Delta", "accounts")
                        .file("Hives/sub/Software_Delta", "other")
                        .symbolic_link("Hives/DefaultUser_Delta", "C:\\x")
                        .file("Files/Hives/Software_Delta", "a file")));
    const auto kept = [&](const char* name) { return folder_.read("layer0/hives/" + std::string(name)); };
    EXPECT_EQ(kept("Software_Delta"), "s");
    EXPECT_EQ(kept("System_Delta"), "new");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "layer0/hives"), {}), 2);
    EXPECT_EQ(content("Hives/Software_Delta"), "a file");
}

TEST_F(LayerUnpacker, RecognizesWindowsItselfInTheLowestLayer) {
    EXPECT_TRUE(add(TestTar().file("Files/Windows/System32/ntoskrnl.exe", "MZ"))->is_base);
    for (const char* name : {"UtilityVM/Files/x", "Hives/Software_Base"}) {
        EXPECT_FALSE(add(TestTar().file(name, ""))->is_base) << "not the lowest";
        lowers_.clear();
        EXPECT_TRUE(add(TestTar().file("Files/Program Files/x", "").file(name, ""))->is_base) << name;
    }
}

TEST_F(LayerUnpacker, TakesAllButWindowsFromAnImageThatIsOneLayer) {
    is_whole_image_ = true;
    const auto outcome = add(TestTar()
                                 .file("Files/Program Files/app/app.exe", "app")
                                 .file("Files/Windows/System32/aclui.dll", "Microsoft's")
                                 .file("Files/Windows/System32/ntdll.dll", "Microsoft's")
                                 .file("Files/Windows/System32/xolehlp.dll", "Microsoft's")
                                 .hard_link("Files/Program Files/own.dll", "Files/Windows/WinSxS/own.dll")
                                 .file("Files/Users/x", "x"));
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_FALSE(outcome->is_base);
    EXPECT_EQ(content("Program Files/app/app.exe"), "app");
    EXPECT_EQ(content("users/x"), "x");
    EXPECT_FALSE(exists("windows"));
    EXPECT_EQ(outcome->left_out, 1u);
}

TEST_F(LayerUnpacker, NeverReplacesOrRemovesWhatTheTemplateHasBelowWindows) {
    const auto outcome = add(TestTar()
                                 .file("Files/Windows/System32/KERNEL32.dll", "Microsoft's")
                                 .file("Files/Windows/System32/.wh.kernel32.dll", "")
                                 .file("Files/Windows/.wh..wh..opq", "")
                                 .file("Files/.wh.Windows", "")
                                 .file("Files/Windows/System32/own.dll", "own"));
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(outcome->left_out, 4u);
    EXPECT_FALSE(exists("windows/system32/kernel32.dll"));
    EXPECT_FALSE(exists("windows/system32/KERNEL32.dll"));
    EXPECT_EQ(content("windows/system32/own.dll"), "own");
}

TEST_F(LayerUnpacker, HidesNamesOfLowerLayers) {
    if (!may_hide()) GTEST_SKIP() << "device files need root";
    ASSERT_TRUE(add(TestTar().file("Files/App/old.txt", "1").file("Files/data/x", "1")));
    ASSERT_TRUE(add(TestTar().file("Files/app/.wh.OLD.txt", "").file("Files/Data/.wh..wh..opq", "").file("Files/app/.wh..wh.plnk", "")));
    EXPECT_TRUE(is_hidden("App/old.txt"));
    EXPECT_TRUE(is_opaque("data"));
    EXPECT_FALSE(exists("App/.wh..wh.plnk"));
    ASSERT_TRUE(add(TestTar().file("Files/app/OLD.txt", "again")));
    EXPECT_EQ(content("App/old.txt"), "again");
}

TEST_F(LayerUnpacker, MakesAFolderThatWasHiddenAnewWithoutItsOldContent) {
    if (!may_hide()) GTEST_SKIP() << "device files need root";
    ASSERT_TRUE(add(TestTar().file("Files/data/old", "1")));
    ASSERT_TRUE(add(TestTar().file("Files/.wh.data", "").file("Files/data/new", "2")));
    EXPECT_TRUE(is_opaque("data"));
    EXPECT_EQ(content("data/new"), "2");
}

TEST_F(LayerUnpacker, AFileOfTheSameLayerIsNotHidden) {
    ASSERT_TRUE(add(TestTar().file("Files/a", "1").file("Files/.wh.a", "")));
    EXPECT_EQ(content("a"), "1");
}

TEST_F(LayerUnpacker, KeepsLinksOnTheDrive) {
    ASSERT_TRUE(add(TestTar()
                        .file("Files/App/real.txt", "1")
                        .symbolic_link("Files/App/sub/absolute", "C:\\app\\REAL.txt")
                        .symbolic_link("Files/App/relative", "..\\app\\real.txt")
                        .symbolic_link("Files/unix", "/App/real.txt")
                        .hard_link("Files/App/hard", "Files/APP/real.TXT")));
    EXPECT_EQ(fs::read_symlink(path("App/sub/absolute")), "../../App/real.txt");
    EXPECT_EQ(content("App/sub/absolute"), "1");
    EXPECT_EQ(content("App/relative"), "1");
    EXPECT_EQ(content("unix"), "1");
    EXPECT_EQ(content("App/hard"), "1");
}

TEST_F(LayerUnpacker, LeavesLinksToOtherVolumesOut) {
    const auto outcome = add(TestTar()
                                 .symbolic_link("Files/d", "D:\\x")
                                 .symbolic_link("Files/v", "\\\\?\\Volume{1}\\")
                                 .symbolic_link("Files/s", "\\\\server\\share"));
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(outcome->left_out, 3u);
}

TEST_F(LayerUnpacker, RefusesToWriteAnywhereElse) {
    folder_.write("outside/file", "safe");
    const TestTar rows[] = {
        TestTar().file("../outside/file", "evil"),
        TestTar().file("Files/../../../outside/file", "evil"),
        TestTar().file("/etc/evil", "evil"),
        TestTar().file("Files/..\\..\\evil", "evil"),
        TestTar().symbolic_link("Files/out", "..\\..\\..\\outside"),
        TestTar().symbolic_link("Files/in", "App").file("Files/in/evil", "evil"),
        TestTar().hard_link("Files/h", "../../outside/file"),
        TestTar().hard_link("Files/h", "Files/nothing"),
        TestTar().entry('3', "Files/device", "", ""),
        TestTar().file("bin/sh", "a Linux layer"),
        TestTar().file("Files/a\tb", ""),
        TestTar().folder("Files/f").file("Files/f", ""),
        TestTar().file("Files/" + std::string(300, 'x'), ""),
        TestTar().file("Files/.wh...", ""),
    };
    for (const TestTar& row : rows) {
        lowers_.clear();
        const auto outcome = add(row);
        ASSERT_FALSE(outcome.has_value()) << row.text().substr(0, 100);
        EXPECT_EQ(outcome.error().reason, Reason::Invalid) << outcome.error().message;
        EXPECT_EQ(folder_.read("outside/file"), "safe");
    }
}

TEST_F(LayerUnpacker, DoesNotFollowLinksOfLowerLayers) {
    ASSERT_TRUE(add(TestTar().file("Files/App/x", "1").symbolic_link("Files/link", "App")));
    ASSERT_TRUE(add(TestTar().file("Files/LINK/y", "2")));
    EXPECT_TRUE(fs::is_directory(fs::symlink_status(path("link"))));
    EXPECT_EQ(content("link/y"), "2");
}

TEST_F(LayerUnpacker, TakesNamesOfAnyLengthTarAllows) {
    const std::string deep = "Files/" + std::string(90, 'a') + "/" + std::string(90, 'b') + "/" + std::string(200, 'c');
    ASSERT_TRUE(add(TestTar().file(deep, "1")));
    EXPECT_EQ(content(deep.substr(6)), "1");
}

TEST_F(LayerUnpacker, HoldsNoMoreNamesThanItMay) {
    TestTar tar;
    for (int i = 0; i < 200; ++i) tar.file("Files/a/" + std::to_string(i), "");
    most_names_ = 100;
    const auto refused = add(tar);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("one too many"));
    most_names_ = 300;
    EXPECT_TRUE(add(tar));
}

TEST_F(LayerUnpacker, HoldsNoMoreRecordsOfAnEntryThanItMay) {
    TestTar few, many;
    for (int i = 0; i < 2; ++i) few.pax("a" + std::to_string(i), std::string(400'000, 'x'));
    for (int i = 0; i < 3; ++i) many.pax("a" + std::to_string(i), std::string(400'000, 'x'));
    EXPECT_TRUE(add(few.file("Files/a", "")));
    const auto refused = add(many.file("Files/a", ""));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("too many names or records"));
}

TEST_F(LayerUnpacker, ReportsABrokenArchive) {
    const std::string good = TestTar().file("Files/a", std::string(5000, 'x')).text();
    for (const std::string& text : {good.substr(0, 3000), good.substr(0, 300), std::string(512, 'x'), "F" + good}) {
        const auto source = make_text_source(text);
        fs::create_directories(folder_ / "broken");
        const LayerJob job{.folder = folder_ / "broken", .drive_path = ""};
        EXPECT_EQ(unpack_layer(*source, job).error().reason, Reason::Invalid);
    }
}

TEST(FoldCase, TellsNamesApartAsWindowsDoes) {
    EXPECT_EQ(fold_case("Program Files"), fold_case("PROGRAM fILES"));
    EXPECT_EQ(fold_case("Ärger"), fold_case("äRGER"));
    EXPECT_EQ(fold_case("жук"), fold_case("ЖУК"));
    EXPECT_NE(fold_case("a"), fold_case("ä"));
    EXPECT_EQ(fold_case("\xff"), "\xff");
}

}  // namespace
}  // namespace porthole::winhost
