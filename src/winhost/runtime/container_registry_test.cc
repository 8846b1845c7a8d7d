#include "winhost/runtime/container_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "winhost/hives/test_hive.h"
#include "winhost/images/test_folder.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* Wines = "WINE REGISTRY Version 2\n\n[Software\\\\Wines] 1\n\"Own\"=\"1\"\n\n";

/// A hive with one value: ROOT\KEY, `name`.
std::string hive(std::u16string key, std::u16string name, std::u16string_view value) {
    HiveKey root;
    root.keys.push_back({.name = std::move(key), .values = {{std::move(name), 1, utf16(value)}}});
    return TestHive::bytes(root);
}

class ContainerRegistry : public testing::Test {
protected:
    ContainerRegistry() {
        for (const char* file : {"system.reg", "userdef.reg", "user.reg"}) folder_.write("template/wine/" + std::string(file), Wines);
        for (const char* layer : {"top", "low"}) fs::create_directories(folder_ / layer);
    }
    std::vector<std::string> merge(const std::string& user = "ContainerAdministrator") {
        const auto merged = merge_registry(
            {.layers = {folder_ / "top", folder_ / "low"}, .templates = {folder_ / "template"}, .user = user, .cache = folder_ / "cache"});
        EXPECT_TRUE(merged) << merged.error().message;
        if (!merged) return {"failed"};
        merged_ = merged->folder;
        return merged->left_out;
    }
    /// "" if the file is Wine's.
    std::string registry(const char* file) const { return TestFolder::read_file(merged_ + "/wine/" + file); }

    TestFolder folder_;
    std::string merged_;
};

TEST_F(ContainerRegistry, StaysWinesWithoutHives) {
    EXPECT_THAT(merge(), IsEmpty());
    EXPECT_EQ(merged_, "");
    EXPECT_FALSE(fs::exists(folder_ / "cache"));
}

TEST_F(ContainerRegistry, GetsTheHivesOfAllLayersInTheirOrder) {
    folder_.write("low/hives/Software_Delta", hive(u"App", u"a", u"low"));
    folder_.write("top/hives/Software_Delta", hive(u"App", u"a", u"top"));
    folder_.write("low/hives/DefaultUser_Delta", hive(u"Console", u"b", u"1"));
    EXPECT_THAT(merge(), IsEmpty());
    EXPECT_THAT(registry("system.reg"), HasSubstr("[Software\\\\App] 1\n\"a\"=\"top\"\n"));
    EXPECT_THAT(registry("system.reg"), HasSubstr("[Software\\\\Wines] 1\n\"Own\"=\"1\"\n"));
    EXPECT_THAT(registry("userdef.reg"), HasSubstr("[Console] 1\n\"b\"=\"1\"\n"));
    EXPECT_EQ(registry("user.reg"), "") << "Wine's, from the template";
}

TEST_F(ContainerRegistry, GetsTheProfileOfItsUser) {
    folder_.write("low/wine/drive_c/users/ContainerUser/NTUSER.DAT", hive(u"Environment", u"OLD", u"1"));
    folder_.write("top/wine/drive_c/users/ContainerUser/NTUSER.DAT", hive(u"Environment", u"MINE", u"1"));
    merge("ContainerAdministrator");
    EXPECT_EQ(merged_, "");
    merge("ContainerUser");
    EXPECT_THAT(registry("user.reg"), HasSubstr("[Environment] 1\n\"MINE\"=\"1\"\n"));
    EXPECT_THAT(registry("user.reg"), Not(HasSubstr("OLD"))) << "a profile's hive is whole";
}

TEST_F(ContainerRegistry, LeavesOutAHiveThatCannotBeRead) {
    folder_.write("low/hives/Software_Delta", hive(u"App", u"a", u"low"));
    folder_.write("top/hives/Software_Delta", "regf");
    EXPECT_THAT(merge(), ElementsAre(HasSubstr("top/hives/Software_Delta: registry hive: it does not begin as one")));
    EXPECT_THAT(registry("system.reg"), HasSubstr("\"a\"=\"low\""));
}

TEST_F(ContainerRegistry, FollowsNoLinkOfALayer) {
    folder_.write("outside/secret", hive(u"Environment", u"SECRET", u"1"));
    fs::create_directories(folder_ / "top/wine/drive_c/users/ContainerUser");
    fs::create_symlink(folder_ / "outside/secret", folder_ / "top/wine/drive_c/users/ContainerUser/NTUSER.DAT");
    folder_.write("low/hives/Software_Delta", hive(u"App", u"a", u"1"));
    merge("ContainerUser");
    EXPECT_THAT(registry("system.reg"), HasSubstr("App"));
    EXPECT_EQ(registry("user.reg"), "");
}

TEST_F(ContainerRegistry, IsMergedOnceForContainersWithTheSameLayers) {
    folder_.write("low/hives/Software_Delta", hive(u"App", u"a", u"first"));
    merge();
    folder_.write("low/hives/Software_Delta", hive(u"App", u"a", u"second"));
    merged_.clear();
    merge();
    EXPECT_THAT(registry("system.reg"), HasSubstr("\"first\"")) << "layers never change";
    merge("ContainerUser");
    EXPECT_THAT(registry("system.reg"), HasSubstr("\"second\"")) << "another user's registry is another one";
}

}  // namespace
}  // namespace porthole::winhost
