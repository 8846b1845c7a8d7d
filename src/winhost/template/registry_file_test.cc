#include "winhost/template/registry_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "winhost/template/registry_edits.h"

namespace porthole::winhost {
namespace {

constexpr const char* Sample =
    "WINE REGISTRY Version 2\n"
    ";; All keys relative to \\\\Machine\n"
    "\n"
    "#arch=win64\n"
    "\n"
    "[Software\\\\Microsoft\\\\Windows NT\\\\CurrentVersion] 1795263225\n"
    "#time=1dd79b1c1cbdfba\n"
    "\"CurrentBuild\"=\"7601\"\n"
    "\"DigitalProductId\"=hex:00,00,\\\n"
    "  00,00\n"
    "\"CurrentVersion\"=\"6.1\"\n"
    "\n"
    "[System\\\\CurrentControlSet\\\\Services\\\\BITS] 1795263225\n"
    "#time=1\n"
    "\"Start\"=dword:00000003\n"
    "\n"
    "[System\\\\CurrentControlSet\\\\Enum\\\\ROOT\\\\WINE\\\\WINEBUS] 1795263225\n"
    "\"Service\"=\"winebus\"\n"
    "\n"
    "[System\\\\CurrentControlSet\\\\Enum\\\\ROOT\\\\WINEPOOL] 1795263225\n"
    "\"Service\"=\"pool\"\n"
    "\n";

TEST(RegistryFile, WritesBackWhatItRead) { EXPECT_EQ(RegistryFile::parse(Sample)->text(), Sample); }

TEST(RegistryFile, RefusesForeignText) { EXPECT_EQ(RegistryFile::parse("REGEDIT4\n").error().reason, Reason::Invalid); }

TEST(RegistryFile, OnlyValuesGoOnInTheNextLine) {
    auto file = RegistryFile::parse("WINE REGISTRY Version 2\n;; of the machine\\\n[A] \\\n\"x\"=\"1\"\n");
    ASSERT_TRUE(file);
    EXPECT_EQ(file->value("A", "x"), "\"1\"");
    EXPECT_EQ(RegistryFile::parse("WINE REGISTRY Version 2\n[A]\n\"x\"=hex:00,\\\n").error().reason, Reason::Invalid);
}

TEST(RegistryFile, ReplacesAddsAndRemovesValuesWhateverTheirCase) {
    auto file = RegistryFile::parse(Sample);
    ASSERT_TRUE(file);
    file->set("software\\microsoft\\windows nt\\currentversion", "currentbuild", RegistryFile::quoted("20348"));
    file->set("New\\Key", "", RegistryFile::quoted("a\\b \"c\""));
    file->remove_value("System\\CurrentControlSet\\Services\\BITS", "start");
    EXPECT_EQ(file->value("Software\\Microsoft\\Windows NT\\CurrentVersion", "CurrentBuild"), "\"20348\"");
    EXPECT_EQ(file->value("System\\CurrentControlSet\\Services\\BITS", "Start"), "");
    const std::string text = file->text();
    EXPECT_NE(text.find("[New\\\\Key] 1\n@=\"a\\\\b \\\"c\\\"\"\n"), text.npos);
    EXPECT_NE(text.find("hex:00,00,\\\n  00,00\n"), text.npos) << "values over several lines stay whole";
}

/// As Wine 10 writes it. The second link leads back to itself.
constexpr const char* Linked =
    "WINE REGISTRY Version 2\n"
    "\n"
    "[System\\\\ControlSet001\\\\Services\\\\BITS] 1795371951\n"
    "\"Start\"=dword:00000003\n"
    "\n"
    "[System\\\\CurrentControlSet] 1795371951\n"
    "#time=1dd7aaee72e9c54\n"
    "#link\n"
    "\"SymbolicLinkValue\"=hex(6):5c,00,52,00,65,00,67,00,69,00,73,00,74,00,72,00,79,\\\n"
    "  00,5c,00,4d,00,61,00,63,00,68,00,69,00,6e,00,65,00,5c,00,53,00,79,00,73,00,\\\n"
    "  74,00,65,00,6d,00,5c,00,43,00,6f,00,6e,00,74,00,72,00,6f,00,6c,00,53,00,65,\\\n"
    "  00,74,00,30,00,30,00,31,00\n"
    "\n"
    "[X] 1\n"
    "#link\n"
    "\"SymbolicLinkValue\"=hex(6):5c,00,52,00,65,00,67,00,69,00,73,00,74,00,72,00,79,\\\n"
    "  00,5c,00,4d,00,61,00,63,00,68,00,69,00,6e,00,65,00,5c,00,58,00\n"
    "\n";

TEST(RegistryFile, FollowsLinks) {
    auto file = RegistryFile::parse(Linked);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->text(), Linked);
    EXPECT_EQ(file->value("System\\CurrentControlSet\\Services\\BITS", "Start"), "dword:00000003");
    file->set("System\\CurrentControlSet\\Services\\New", "Start", RegistryFile::number(4));
    EXPECT_EQ(file->value("System\\ControlSet001\\Services\\New", "Start"), "dword:00000004");
    file->remove_tree("System\\CurrentControlSet\\Services");
    EXPECT_EQ(file->value("System\\ControlSet001\\Services\\BITS", "Start"), "");
    EXPECT_EQ(file->value("X\\Y", "Z"), "");
}

// EMU-05
TEST(RegistryFile, ForgetsALinkThatIsRemoved) {
    const std::string target =
        "5c,00,52,00,65,00,67,00,69,00,73,00,74,00,72,00,79,00,5c,00,4d,00,61,00,63,00,68,00,69,00,6e,00,65,00,5c,00,42,00";
    auto file = RegistryFile::parse("WINE REGISTRY Version 2\n\n[A] 1\n#link\n\"SymbolicLinkValue\"=hex(6):" + target +
                                    "\n\n[B\\\\C] 1\n\"n\"=\"v\"\n");
    ASSERT_TRUE(file);
    EXPECT_EQ(file->value("A\\C", "n"), "\"v\"");
    file->remove_tree("A");
    EXPECT_EQ(file->value("A\\C", "n"), "");
    EXPECT_EQ(file->value("B\\C", "n"), "\"v\"");
}

TEST(RegistryEdits, SayTheVersionOfTheProfile) {
    auto file = RegistryFile::parse(Sample);
    ASSERT_TRUE(file);
    EXPECT_FALSE(says_profile(*file, *find_host_profile("2022")));
    apply_profile(*file, *find_host_profile("2022"));
    EXPECT_TRUE(says_profile(*file, *find_host_profile("2022")));
    EXPECT_FALSE(says_profile(*file, *find_host_profile("2025"))) << "an upgrade is seen";
    const auto value = [&](const char* name) { return file->value("Software\\Microsoft\\Windows NT\\CurrentVersion", name); };
    EXPECT_EQ(value("CurrentBuildNumber"), "\"20348\"");
    EXPECT_EQ(value("CurrentMajorVersionNumber"), "dword:0000000a");
    EXPECT_EQ(value("CurrentVersion"), "\"10.0\"");
    EXPECT_EQ(value("ProductName"), "\"Windows Server 2022 Datacenter\"");
}

TEST(RegistryEdits, LeaveOnlyTheServicesThatNetworkingNeeds) {
    auto file = RegistryFile::parse(Sample);
    ASSERT_TRUE(file);
    trim_system(*file);
    EXPECT_EQ(file->value("System\\CurrentControlSet\\Services\\BITS", "Start"), "dword:00000004");
    EXPECT_EQ(file->value("System\\CurrentControlSet\\Services\\MountMgr", "Start"), "");
    EXPECT_EQ(file->value("Software\\Microsoft\\Windows NT\\CurrentVersion\\AeDebug", "Auto"), "\"0\"");
    EXPECT_EQ(file->value("System\\CurrentControlSet\\Enum\\ROOT\\WINE\\WINEBUS", "Service"), "") << "its driver would be started";
    EXPECT_EQ(file->value("System\\CurrentControlSet\\Enum\\ROOT\\WINEPOOL", "Service"), "\"pool\"");
}

TEST(HostProfiles, NameTheKnownOnesWhenAskedForAnother) {
    EXPECT_EQ(find_host_profile("2019")->version(), "10.0.17763.6659");
    EXPECT_EQ(find_host_profile("2012").error().message,
              "unknown host profile \"2012\"; valid are 2016, 1709, 1803, 2019, 1809, 1903, 2004, 20H2, 19551, 2022, 2025");
}

// EMU-04
TEST(HostProfiles, EMU04_EachBuildIsAHostOfItsOwn) {
    for (const std::uint32_t build : {14393, 16299, 17134, 17763, 18362, 19041, 19042, 19551, 20348, 26100}) {
        const auto found = std::ranges::find(host_profiles(), build, &HostProfile::build);
        ASSERT_NE(found, host_profiles().end()) << build;
        auto system = RegistryFile::parse(Sample);
        apply_profile(*system, *found);
        for (const HostProfile& other : host_profiles()) EXPECT_EQ(says_profile(*system, other), other.name == found->name) << other.name;
        EXPECT_TRUE(found->version().starts_with("10.0." + std::to_string(build)));
    }
    EXPECT_EQ(find_host_profile("19551")->version(), "10.0.19551") << "nothing is made up";
    EXPECT_EQ(profiles_of_nodes(), (std::vector<std::string>{"2019", "1809", "1903", "2004", "20H2", "19551", "2022", "2025"}));
}

}  // namespace
}  // namespace porthole::winhost
