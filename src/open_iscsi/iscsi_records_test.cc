#include "open_iscsi/iscsi_records.h"

#include <gtest/gtest.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::open_iscsi {
namespace {

TEST(IscsiRecords, AreThoseOfTheirPortal) {
    sim::SimLoop loop;
    sim::MemoryFileSystem files(loop);
    IscsiRecords records(files);
    const std::string empty = "# BEGIN RECORD 2.1.8\n# END RECORD\n", set = "# BEGIN RECORD 2.1.8\nk = v\n# END RECORD\n";
    ASSERT_TRUE(files.create_directories("/etc/iscsi/nodes/iqn/10.0.0.9,32600,1", 0700));
    const std::string six = "/etc/iscsi/nodes/iqn/fd00::9,3260", longer = "/etc/iscsi/nodes/iqn/10.0.0.9,32600,1/default";
    for (const std::string& path : {six, longer}) ASSERT_TRUE(files.write(path, empty, 0600));
    EXPECT_TRUE(records.set_node("[fd00::9]:3260", "iqn", "default", {{"k", "v"}}));
    EXPECT_EQ(files.read(six).value(), set) << "without a portal group";
    EXPECT_TRUE(is_not_found(records.set_node("10.0.0.9:3260", "iqn", "default", {{"k", "v"}})));
    EXPECT_TRUE(is_not_found(records.set_node("10.0.0.9:32600", "iqn", "other", {{"k", "v"}})));
    EXPECT_TRUE(is_not_found(records.set_discovery("10.0.0.9:3260", {{"k", "v"}})));
    EXPECT_EQ(files.read(longer).value(), empty);
}

TEST(IscsiRecords, ValuesTakeThePlaceOfFormerOnesAndEmptyOnesRemoveThem) {
    sim::SimLoop loop;
    sim::MemoryFileSystem files(loop);
    IscsiRecords records(files, "/machine");
    const std::string folder = "/machine/var/lib/iscsi/nodes/iqn/10.0.0.9,3260,1";
    ASSERT_TRUE(files.create_directories(folder, 0700));
    ASSERT_TRUE(files.write(folder + "/mine", "# BEGIN RECORD 2.1.8\na = 1\nb = 2\nbc = 3\n# END RECORD\n", 0600));
    EXPECT_TRUE(records.set_node("10.0.0.9:3260", "iqn", "mine", {{"a", "x"}, {"b", ""}}));
    EXPECT_EQ(files.read(folder + "/mine").value(), "# BEGIN RECORD 2.1.8\nbc = 3\na = x\n# END RECORD\n");
    EXPECT_EQ(records.set_node("10.0.0.9:3260", "iqn", "mine", {{"a", "x\nnode.startup = automatic"}}).error().reason, Reason::BadRequest);
}

TEST(IscsiRecords, ThoseOfAnInterfaceAreFoundAtAllPortals) {
    sim::SimLoop loop;
    sim::MemoryFileSystem files(loop);
    IscsiRecords records(files);
    for (const std::string place : {"/etc/iscsi/nodes/iqn.b/fd00::9,3260,2", "/var/lib/iscsi/nodes/iqn.a/10.0.0.9,3260,1"}) {
        ASSERT_TRUE(files.create_directories(place, 0700));
        for (const std::string interface : {"/mine", "/default"}) ASSERT_TRUE(files.write(place + interface, "", 0600));
    }
    std::string found;
    for (const auto& node : records.nodes_of("mine")) found += node.target + " " + node.portal + "\n";
    EXPECT_EQ(found, "iqn.b [fd00::9]:3260,2\niqn.a 10.0.0.9:3260,1\n");
    EXPECT_TRUE(records.nodes_of("other").empty());
    EXPECT_FALSE(records.has_interface("mine"));
    ASSERT_TRUE(files.create_directories("/etc/iscsi/ifaces", 0700));
    ASSERT_TRUE(files.write("/etc/iscsi/ifaces/mine", "", 0600));
    EXPECT_TRUE(records.has_interface("mine"));
}

}  // namespace
}  // namespace porthole::open_iscsi
