#include "winhost/disks/attached_disks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "winhost/images/test_folder.h"

namespace porthole::winhost {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t Mebibyte = 1 << 20;

struct AttachedDisksTest : testing::Test {
    void put(const std::string& name, std::uint64_t bytes = 8 * Mebibyte) const {
        std::ofstream(folder / name) << "";
        fs::resize_file(folder / name, bytes);
    }
    std::vector<std::string> names() {
        std::vector<std::string> result;
        const auto found = disks.list();
        for (const AttachedDisk& disk : found.value()) result.push_back(std::to_string(disk.number) + " " + disk.name);
        return result;
    }

    TestFolder folder;
    std::unique_ptr<FileSystem> files = make_file_system();
    SeededRandom random{1};
    AttachedDisks disks{*files, random, folder / "disks"};
};

// EMU-10
TEST_F(AttachedDisksTest, AnImageThatIsPutOrLinkedThereIsADisk) {
    EXPECT_TRUE(names().empty());
    put("disks/b");
    EXPECT_EQ(names(), std::vector<std::string>{"1 b"});
    put("image");
    fs::create_symlink("../image", folder / "disks/a");
    EXPECT_EQ(names(), (std::vector<std::string>{"1 b", "2 a"})) << "a number stays";
    EXPECT_EQ(disks.find(2).value().image, fs::canonical(folder / "image"));
    fs::remove(folder / "disks/b");
    EXPECT_EQ(names(), std::vector<std::string>{"2 a"});
    EXPECT_EQ(disks.find(1).error().message, "this host has no disk 1");
    put("disks/c");
    EXPECT_EQ(names(), (std::vector<std::string>{"1 c", "2 a"}));
}

/// Devices of the machine, which are files here.
struct Devices final : DiskSource {
    std::vector<AttachedDisk> list() override { return disks; }
    Task<> rescan() override { co_return {}; }
    std::vector<AttachedDisk> disks;
};

TEST_F(AttachedDisksTest, DevicesFollowTheImagesAndHaveTablesToo) {
    Devices devices;
    AttachedDisks all(*files, random, folder / "disks", &devices);
    put("sdb");
    devices.disks = {{.name = "iqn.a,1", .image = folder / "sdb", .bytes = 8 * Mebibyte, .serial_number = "s"},
                     {.name = "iqn.a,2", .image = folder / "sdb", .bytes = 8 * Mebibyte, .problem = "in use"}};
    ASSERT_TRUE(all.list());
    put("disks/image");
    ASSERT_EQ(all.list().value().size(), 3U);
    EXPECT_EQ(all.find(1).value().name, "iqn.a,1") << "a number stays";
    EXPECT_EQ(all.find(3).value().name, "image");
    ASSERT_TRUE(all.partition(all.find(1).value()));
    EXPECT_TRUE(all.find(1).value().table->partition);
    EXPECT_EQ(all.find(1).value().serial_number, "s");
    EXPECT_FALSE(all.find(2).value().table) << "one with a problem is not read";
    EXPECT_EQ(all.partition(all.find(2).value()).error().message, "disk iqn.a,2: in use");
    devices.disks.clear();
    EXPECT_EQ(all.list().value().size(), 1U);
}

TEST_F(AttachedDisksTest, WhatIsNoDiskIsIgnored) {
    fs::create_directories(folder / "disks/folder");
    for (const std::string name : {".new", "-rf *", "a\nb", "x?offset=1"}) put("disks/" + name);
    put("disks/" + std::string(64, 'x'));
    put("disks/small", Mebibyte);
    fs::create_symlink("nothing", folder / "disks/dangling");
    fs::create_symlink("/dev/zero", folder / "disks/zero");
    EXPECT_TRUE(names().empty());
}

TEST_F(AttachedDisksTest, OnePartitionIsMadeAndGrowsWithItsDisk) {
    fs::create_directories(folder / "disks");
    put("disks/d");
    ASSERT_TRUE(disks.partition(disks.find(1).value()));
    const Partition before = *disks.find(1)->table->partition;
    EXPECT_EQ(before.bytes, 8 * Mebibyte - Mebibyte - TableEnd);
    ASSERT_TRUE(disks.partition(disks.find(1).value()));
    EXPECT_EQ(disks.find(1)->table->partition->id, before.id) << "it has one already";
    fs::resize_file(folder / "disks/d", 20 * Mebibyte);
    EXPECT_EQ(disks.grow_partition(disks.find(1).value(), 10 * Mebibyte)->bytes, 10 * Mebibyte);
    EXPECT_EQ(disks.grow_partition(disks.find(1).value(), Mebibyte)->bytes, 10 * Mebibyte) << "it never shrinks";
    EXPECT_EQ(disks.grow_partition(disks.find(1).value(), 0)->bytes, 20 * Mebibyte - Mebibyte - TableEnd);
    const Partition after = *disks.find(1)->table->partition;
    EXPECT_EQ(after.id, before.id);
    EXPECT_EQ(after.bytes, 20 * Mebibyte - Mebibyte - TableEnd);
    EXPECT_EQ(disks.find_partition(before.id)->name, "d");
}

// STO-24: drivers have the proxy enlarge disks that Windows itself has partitioned.
TEST_F(AttachedDisksTest, TheReservedPartitionOfWindowsStaysWhenTheOtherIsMadeAndGrows) {
    fs::create_directories(folder / "disks");
    put("disks/d", 32 * Mebibyte);
    const PartitionTable first{.disk_id = random.uuid(),
                               .reserved = {{.id = random.uuid(), .start = DiskStart, .bytes = 16 * Mebibyte - DiskStart}}};
    {
        std::fstream image(folder / "disks/d");
        image << partition_table_start(first, 32 * Mebibyte);
    }
    ASSERT_TRUE(disks.partition(disks.find(1).value()));
    const PartitionTable made = *disks.find(1)->table;
    EXPECT_EQ(made.partition->start, 16 * Mebibyte);
    EXPECT_EQ(made.disk_id, first.disk_id);
    ASSERT_EQ(made.reserved.size(), 1U);
    EXPECT_EQ(made.reserved[0].id, first.reserved[0].id);
    fs::resize_file(folder / "disks/d", 64 * Mebibyte);
    EXPECT_EQ(disks.grow_partition(disks.find(1).value(), 0)->bytes, 48 * Mebibyte - TableEnd);
    const PartitionTable grown = *disks.find(1)->table;
    EXPECT_EQ(grown.reserved, made.reserved);
    EXPECT_EQ(grown.partition->start, made.partition->start) << "what is in it stays where it is";
    EXPECT_EQ(grown.partition->id, made.partition->id);
}

TEST_F(AttachedDisksTest, ADiskThatIsReservedAltogetherIsNotPartitioned) {
    fs::create_directories(folder / "disks");
    put("disks/d");
    const PartitionTable full{.disk_id = random.uuid(), .reserved = {{.id = random.uuid(), .start = DiskStart, .bytes = 7 * Mebibyte}}};
    {
        std::fstream image(folder / "disks/d");
        image << partition_table_start(full, 8 * Mebibyte);
    }
    EXPECT_EQ(disks.partition(disks.find(1).value()).error().message, "disk d has no room after its reserved partition");
}

TEST_F(AttachedDisksTest, ADiskThatSomebodyElseUsesStaysAsItIs) {
    fs::create_directories(folder / "disks");
    put("disks/d");
    {
        std::fstream image(folder / "disks/d");
        image.seekp(70'000);
        image << "_BHRfS_M";
    }
    const std::string before = folder.read("disks/d");
    EXPECT_EQ(disks.partition(disks.find(1).value()).error().message, "disk d has no partition table, but is not empty; it stays as it is");
    EXPECT_EQ(folder.read("disks/d"), before);
}

TEST_F(AttachedDisksTest, CopiesOfADiskAreNotMixedUp) {
    fs::create_directories(folder / "disks");
    put("disks/d");
    ASSERT_TRUE(disks.partition(disks.find(1).value()));
    fs::copy_file(folder / "disks/d", folder / "disks/e");
    EXPECT_EQ(disks.find_partition(disks.find(1)->table->partition->id).error().reason, Reason::Conflict);
}

}  // namespace
}  // namespace porthole::winhost
