#include "open_iscsi/iscsi_sessions.h"

#include <gtest/gtest.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::open_iscsi {
namespace {

struct IscsiSessions : testing::Test {
    void put(const std::string& path, const std::string& text) {
        ASSERT_TRUE(files.create_directories(parent_path(path), 0755));
        ASSERT_TRUE(files.write(path, text + "\n", 0644));
    }
    void put_session(const std::string& id, const std::string& interface) {
        const std::string session = "/sys/class/iscsi_session/session" + id;
        put(session + "/ifacename", interface);
        put(session + "/targetname", "iqn.2026-11.example:disk");
        put(session + "/state", "LOGGED_IN");
        put("/sys/class/iscsi_connection/connection" + id + ":0/persistent_address", "10.0.0.9");
        put("/sys/class/iscsi_connection/connection" + id + ":0/persistent_port", "3260");
    }
    sim::SimLoop loop;
    sim::MemoryFileSystem files{loop};
};

TEST_F(IscsiSessions, AreThoseOfOneInterfaceWithTheirUnits) {
    EXPECT_TRUE(sessions_of("mine", files).empty()) << "the kernel has no iSCSI";
    put_session("2", "default");
    put_session("10", "mine");
    put_session("9", "mine");
    const std::string target = "/sys/class/iscsi_session/session9/device/target3:0:0";
    ASSERT_TRUE(files.create_directories(target + "/3:0:0:10/block/sdc", 0755));
    ASSERT_TRUE(files.create_directories(target + "/3:0:0:2/block/sdb", 0755));
    ASSERT_TRUE(files.create_directories(target + "/3:0:0:0/scsi_generic/sg0", 0755)) << "a controller, not a disk";
    ASSERT_TRUE(files.create_directories(target + "/power", 0755));
    const auto found = sessions_of("mine", files);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].id, 9U);
    EXPECT_EQ(found[0].target, "iqn.2026-11.example:disk");
    EXPECT_EQ(found[0].address + " " + found[0].port, "10.0.0.9 3260");
    EXPECT_TRUE(found[0].is_logged_in());
    ASSERT_EQ(found[0].units.size(), 2U);
    EXPECT_EQ(found[0].units[0].number, 2U);
    EXPECT_EQ(found[0].units[0].device, "sdb");
    EXPECT_EQ(found[0].units[0].folder, target + "/3:0:0:2/block/sdb");
    EXPECT_EQ(found[0].units[1].device, "sdc");
    EXPECT_TRUE(found[1].units.empty());
}

}  // namespace
}  // namespace porthole::open_iscsi
