#include "open_iscsi/target_list.h"

#include <gtest/gtest.h>

namespace porthole::open_iscsi {
namespace {

TEST(TargetList, NamesTargetsAndTheirPortals) {
    EXPECT_EQ(
        parse_target_list("10.0.0.9:3260,1 iqn.2026-11.example:disk\n[fd00::9]:3261,65535 naa.52004567BA64678D\n"),
        (std::vector<ListedTarget>{{"iqn.2026-11.example:disk", "10.0.0.9", 3260, 1}, {"naa.52004567BA64678D", "fd00::9", 3261, 65535}}));
}

TEST(TargetList, LeavesOutWhatIsNoPlainName) {
    for (const std::string line :
         {"", "iscsiadm: No portals found", "10.0.0.9:3260,1", "10.0.0.9:3260,1 ", "10.0.0.9:3260,1 disk",
          "10.0.0.9:3260,1 iqn.a/../../etc", "10.0.0.9:3260,1 iqn.a b", "10.0.0.9:3260,1 --login", "10.0.0.9:3260,1 iqn.a\t",
          "10.0.0.9:3260,-1 iqn.a", "10.0.0.9:99999,1 iqn.a", ":3260,1 iqn.a", "10.0.0.9,1:3260 iqn.a", "10.0.0.9:3260,1 iqn.\xc3\xa4"})
        EXPECT_TRUE(parse_target_list(line + "\n").empty()) << line;
    EXPECT_TRUE(parse_target_list("10.0.0.9:3260,1 iqn." + std::string(LongestTargetName, 'a')).empty());
}

TEST(TargetList, EndsAtItsBound) {
    std::string text;
    for (std::size_t i = 0; i < MostListedTargets + 5; ++i) text += "10.0.0.9:3260,1 iqn." + std::to_string(i) + "\n";
    EXPECT_EQ(parse_target_list(text).size(), MostListedTargets);
}

}  // namespace
}  // namespace porthole::open_iscsi
