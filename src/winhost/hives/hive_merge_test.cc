#include "winhost/hives/hive_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "winhost/hives/test_hive.h"

namespace porthole::winhost {
namespace {

using Layering = HiveKey::Layering;
using testing::HasSubstr;
using testing::Not;

constexpr const char* Own =
    "WINE REGISTRY Version 2\n"
    ";; All keys relative to \\\\Machine\n"
    "\n"
    "[Software\\\\Microsoft\\\\Windows NT\\\\CurrentVersion] 1\n"
    "#time=1\n"
    "\"CurrentBuild\"=\"20348\"\n"
    "\n"
    "[Software\\\\Wine] 1\n"
    "\"Version\"=\"win10\"\n"
    "\n"
    "[System\\\\CurrentControlSet\\\\Control\\\\Session Manager\\\\Environment] 1\n"
    "\"PATH\"=str(2):\"%SystemRoot%\\\\system32\"\n"
    "\"winsysdir\"=\"C:\\\\windows\\\\system32\"\n"
    "\n"
    "[System\\\\CurrentControlSet\\\\Services\\\\RpcSs] 1\n"
    "\"ImagePath\"=\"C:\\\\windows\\\\system32\\\\rpcss.exe\"\n"
    "\n";

constexpr const char* Environment = "System\\CurrentControlSet\\Control\\Session Manager\\Environment";

HiveValue text(std::u16string name, std::u16string_view data) { return {std::move(name), 1, utf16(data)}; }
HiveValue number(std::u16string name, char value) { return {std::move(name), 4, std::string({value, 0, 0, 0})}; }

/// A key below others, from the outermost name to the innermost.
HiveKey path(std::vector<std::u16string> names, HiveKey innermost) {
    innermost.name = names.back();
    for (std::size_t i = names.size() - 1; i > 0; --i) {
        HiveKey outer{.name = names[i - 1]};
        outer.keys.push_back(std::move(innermost));
        innermost = std::move(outer);
    }
    HiveKey root;
    root.keys.push_back(std::move(innermost));
    return root;
}
HiveKey environment(std::vector<HiveValue> values) {
    return path({u"ControlSet001", u"Control", u"Session Manager", u"Environment"}, {.values = std::move(values)});
}

class HiveMerging : public testing::Test {
protected:
    void add(HivePlace place, const HiveKey& hive) {
        // By way of the bytes, as hives come.
        const auto read = parse_hive(TestHive::bytes(hive));
        ASSERT_TRUE(read) << read.error().message;
        const auto added = merge_.add(place, *read);
        ASSERT_TRUE(added) << added.error().message;
    }
    void add_software(const HiveKey& hive) { add(HivePlace::Software, hive); }
    void add_system(const HiveKey& hive) { add(HivePlace::System, hive); }
    std::string value(const char* key, const char* name) const { return RegistryFile::parse(merge_.text())->value(key, name); }

    HiveMerge merge_{*RegistryFile::parse(Own)};
};

TEST_F(HiveMerging, WithoutHivesTheFileIsWines) { EXPECT_EQ(merge_.text(), Own); }

TEST_F(HiveMerging, WritesValuesOfEachTypeAsWineReadsThem) {
    add_software(path({u"Contoso", u"App [1]"}, {.values = {text(u"", u"a \"quoted\" C:\\path\\"),
                                                            {u"expand", 2, utf16(u"%TEMP%\\x")},
                                                            {u"list", 7, utf16(u"ab") + std::string(2, '\0')},
                                                            number(u"number", 17),
                                                            {u"large", 11, std::string("\1\0\0\0\0\0\0\2", 8)},
                                                            {u"bytes", 3, std::string("\0\xff", 2)},
                                                            {u"no end", 1, std::string("a\0", 2)},
                                                            {u"nothing", 0, ""},
                                                            text(u"\"Ä\\", u"naïve\n")}}));
    EXPECT_THAT(merge_.text(), HasSubstr("[Software\\\\Contoso\\\\App \\[1\\]] 1\n"
                                         "\"\\\"\\x00c4\\\\\"=\"na\\x00efve\\x000a\"\n"
                                         "\"bytes\"=hex:00,ff\n"
                                         "\"expand\"=str(2):\"%TEMP%\\\\x\"\n"
                                         "\"large\"=hex(b):01,00,00,00,00,00,00,02\n"
                                         "\"list\"=hex(7):61,00,62,00,00,00,00,00\n"
                                         "\"no end\"=hex(1):61,00\n"
                                         "\"nothing\"=hex(0):\n"
                                         "\"number\"=dword:00000011\n"
                                         "@=\"a \\\"quoted\\\" C:\\\\path\\\\\"\n"));
}

TEST_F(HiveMerging, ALaterLayerReplacesAnEarlierOne) {
    add_software(path({u"Contoso"}, {.values = {text(u"a", u"1"), text(u"b", u"1")}}));
    add_software(path({u"CONTOSO"}, {.values = {text(u"A", u"2")}, .keys = {{.name = u"below"}}}));
    EXPECT_EQ(value("Software\\Contoso", "a"), "\"2\"");
    EXPECT_EQ(value("Software\\Contoso", "b"), "\"1\"");
    EXPECT_THAT(merge_.text(), HasSubstr("[Software\\\\CONTOSO\\\\below] 1\n"));
}

TEST_F(HiveMerging, ALayerDeletesWhatLowerLayersHave) {
    struct {
        const char* what;
        HiveKey layer;
        bool value, sibling, below;
    } const rows[] = {
        {"a value", {.values = {{.name = u"VALUE", .is_tombstone = true}}}, false, true, true},
        {"the key", {.layering = Layering::Tombstone}, false, false, false},
        {"all values", {.layering = Layering::SupersedeValues}, false, false, true},
        {"everything", {.layering = Layering::SupersedeTree}, false, false, false},
        {"nothing", {}, true, true, true},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.what);
        add_software(path({u"Contoso"}, {.values = {text(u"value", u"1"), text(u"sibling", u"1")},
                                         .keys = {{.name = u"below", .values = {text(u"v", u"1")}}}}));
        add_software(path({u"Contoso2"}, {.values = {text(u"v", u"1")}}));
        add_software(path({u"contoso"}, row.layer));
        EXPECT_EQ(!value("Software\\Contoso", "value").empty(), row.value);
        EXPECT_EQ(!value("Software\\Contoso", "sibling").empty(), row.sibling);
        EXPECT_EQ(!value("Software\\Contoso\\below", "v").empty(), row.below);
        EXPECT_EQ(to_lower(merge_.text()).contains("[software\\\\contoso]"), row.layer.layering != Layering::Tombstone);
        EXPECT_EQ(value("Software\\Contoso2", "v"), "\"1\"");
        merge_ = HiveMerge(*RegistryFile::parse(Own));
    }
}

TEST_F(HiveMerging, WhatWineHasStays) {
    constexpr const char* Version = "Software\\Microsoft\\Windows NT\\CurrentVersion";
    const std::vector<std::u16string> names{u"Microsoft", u"Windows NT", u"CurrentVersion"};
    const HiveKey layers[] = {{.values = {text(u"CurrentBuild", u"1"), text(u"Own", u"2")}},
                              {.values = {{.name = u"CurrentBuild", .is_tombstone = true}}},
                              {.layering = Layering::SupersedeValues},
                              {.layering = Layering::SupersedeTree},
                              {.layering = Layering::Tombstone}};
    for (const HiveKey& layer : layers) {
        add_software(path(names, layer));
        EXPECT_EQ(value(Version, "CurrentBuild"), "\"20348\"");
        EXPECT_THAT(merge_.text(), HasSubstr("#time=1\n"));
    }
    add_software(path(names, layers[0]));
    EXPECT_EQ(value(Version, "Own"), "\"2\"") << "an image may add to it";
}

TEST_F(HiveMerging, VariablesOfTheMachineAreTheImages) {
    add_system(environment({{u"Path", 2, utf16(u"%SystemRoot%\\system32;C:\\tools")},
                            text(u"TOOLS", u"C:\\tools"),
                            text(u"NUMBER_OF_PROCESSORS", u"64"),
                            text(u"winsysdir", u"D:\\")}));
    EXPECT_EQ(value(Environment, "PATH"), "str(2):\"%SystemRoot%\\\\system32;C:\\\\tools\"");
    EXPECT_EQ(value(Environment, "TOOLS"), "\"C:\\\\tools\"");
    EXPECT_EQ(value(Environment, "NUMBER_OF_PROCESSORS"), "") << "the machine's on which the image was built";
    EXPECT_EQ(value(Environment, "winsysdir"), "\"C:\\\\windows\\\\system32\"");
    add_system(environment({{.name = u"path", .is_tombstone = true}, {.name = u"tools", .is_tombstone = true}}));
    EXPECT_EQ(value(Environment, "PATH"), "str(2):\"%SystemRoot%\\\\system32\"");
    EXPECT_EQ(value(Environment, "TOOLS"), "");
}

TEST_F(HiveMerging, OnlyTheCurrentControlSetIsTaken) {
    add_system(path({u"ControlSet002", u"Control", u"x"}, {.values = {text(u"a", u"1")}}));
    add_system(path({u"MountedDevices"}, {.values = {text(u"a", u"1")}}));
    EXPECT_EQ(merge_.text(), Own);
}

TEST_F(HiveMerging, GoesWhereWinesLinkLeads) {
    std::string linked = "WINE REGISTRY Version 2\n\n[System\\\\CurrentControlSet] 1\n#link\n\"SymbolicLinkValue\"=hex(6):";
    for (const char letter : std::string_view("\\Registry\\Machine\\System\\ControlSet001")) {
        char text[8];
        std::snprintf(text, sizeof text, "%02x,00,", static_cast<unsigned>(letter));
        linked += text;
    }
    linked.back() = '\n';
    merge_ = HiveMerge(*RegistryFile::parse(linked));
    add_system(environment({text(u"A", u"1")}));
    EXPECT_THAT(merge_.text(), HasSubstr("[System\\\\ControlSet001\\\\Control\\\\Session Manager\\\\Environment] 1\n\"A\"=\"1\"\n"));
}

TEST_F(HiveMerging, LeavesOutWhatWineMustNotGet) {
    const auto service = [](std::u16string name, std::vector<HiveValue> values) {
        return path({u"ControlSet001", u"Services", std::move(name)}, {.values = std::move(values)});
    };
    struct {
        const char* what;
        HivePlace place;
        HiveKey hive;
    } const rows[] = {
        {"Wine's settings", HivePlace::Software, path({u"WINE", u"DllOverrides"}, {.values = {text(u"a", u"native")}})},
        {"what starts at logon", HivePlace::Software,
         path({u"Microsoft", u"Windows", u"CurrentVersion", u"Run"}, {.values = {text(u"a", u"evil.exe")}})},
        {"also of 32-bit programs", HivePlace::Software,
         path({u"WOW6432Node", u"Microsoft", u"Windows", u"CurrentVersion", u"RunOnce"}, {.values = {text(u"a", u"evil.exe")}})},
        {"devices", HivePlace::System, path({u"ControlSet001", u"Enum", u"ROOT", u"x"}, {.values = {text(u"a", u"1")}})},
        {"a driver", HivePlace::System, service(u"vfpext", {number(u"Type", 1), text(u"ImagePath", u"drivers\\vfpext.sys")})},
        {"a service in svchost.exe", HivePlace::System,
         service(u"W3SVC", {number(u"Type", 32), text(u"ImagePath", u"%windir%\\System32\\SvcHost.exe -k iissvcs")})},
        {"a service of Wine's", HivePlace::System, service(u"RPCSS", {text(u"New", u"1"), text(u"ImagePath", u"x.exe")})},
        {"links", HivePlace::Software, path({u"Classes"}, {.is_link = true, .values = {text(u"SymbolicLinkValue", u"x")}})},
    };
    const auto has_value = [](const std::string& text, const std::string& name) { return text.contains("\n\"" + name + "\"="); };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.what);
        add(row.place, row.hive);
        for (const char* name : {"a", "Type", "New", "SymbolicLinkValue"}) EXPECT_FALSE(has_value(merge_.text(), name)) << name;
    }
    add_system(service(u"app", {number(u"Type", 16), text(u"ImagePath", u"C:\\app\\service.exe")}));
    EXPECT_EQ(value("System\\CurrentControlSet\\Services\\app", "ImagePath"), "\"C:\\\\app\\\\service.exe\"");
}

TEST_F(HiveMerging, AUsersHiveIsTheirOwn) {
    add(HivePlace::User, path({u"Environment"}, {.values = {text(u"MINE", u"1"), text(u"TEMP", u"D:\\")}}));
    EXPECT_EQ(value("Environment", "MINE"), "\"1\"");
    add(HivePlace::User, path({u"Software", u"Wine"}, {.values = {text(u"x", u"1")}}));
    EXPECT_EQ(value("Software\\Wine", "x"), "");
}

TEST_F(HiveMerging, AddsNoMoreThanItMay) {
    merge_.most_bytes = 1000;
    const auto refused = merge_.add(HivePlace::Software, path({u"Contoso"}, {.values = {text(u"a", std::u16string(1000, u'x'))}}));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("too large"));
    EXPECT_THAT(merge_.text(), Not(HasSubstr("xxx")));
}

}  // namespace
}  // namespace porthole::winhost
