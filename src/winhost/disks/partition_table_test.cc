#include "winhost/disks/partition_table.h"

#include <gtest/gtest.h>

namespace porthole::winhost {
namespace {

constexpr std::uint64_t Bytes = 16 << 20;
const std::string Id = "01234567-89ab-4cde-8f01-23456789abcd", DiskId = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";

struct PartitionTableTest : testing::Test {
    Result<std::optional<PartitionTable>> parse(std::uint64_t bytes = Bytes) const { return parse_partition_table(start, end, bytes); }

    void write(const PartitionTable& table) {
        start = partition_table_start(table, Bytes);
        end = partition_table_end(table, Bytes);
    }

    PartitionTable whole{.disk_id = DiskId, .partition = whole_disk(Id, {}, Bytes)};
    std::string start = partition_table_start(whole, Bytes), end = partition_table_end(whole, Bytes);
};

TEST_F(PartitionTableTest, HasOnePartitionOfTheWholeDisk) {
    EXPECT_EQ(start.size(), DiskStart);
    EXPECT_EQ(end.size(), TableEnd);
    const auto table = parse();
    ASSERT_TRUE(table && *table && (*table)->partition);
    EXPECT_EQ((*table)->disk_id, DiskId);
    EXPECT_EQ((*table)->partition->id, Id);
    EXPECT_EQ((*table)->partition->start, 1U << 20);
    EXPECT_EQ((*table)->partition->start + (*table)->partition->bytes, Bytes - TableEnd);
    EXPECT_TRUE(parse(2 * Bytes).value()) << "of a disk that has grown";
}

TEST_F(PartitionTableTest, TheSecondCopyCountsIfTheFirstIsDamaged) {
    start[512 + 56] ^= 1;
    EXPECT_EQ(parse().value()->partition->id, Id);
    end[0] ^= 1;
    EXPECT_FALSE(parse().value()) << "neither is one";
    EXPECT_FALSE(parse_partition_table("", "", Bytes).value());
}

TEST_F(PartitionTableTest, APartitionOutsideTheDiskIsNone) {
    EXPECT_EQ(parse(Bytes / 2).error().reason, Reason::Invalid) << "cut off";
    write({.disk_id = DiskId, .partition = Partition{.id = Id, .bytes = 4096}});
    EXPECT_FALSE(parse()) << "on the table itself";
}

// As Windows partitions a disk: the reserved partition is first, from the first sector that is free.
TEST_F(PartitionTableTest, AReservedPartitionIsKeptAsItIs) {
    const Partition reserved{.id = "99999999-8888-4777-8666-555555555555",
                             .start = DiskStart,
                             .bytes = (4 << 20) - DiskStart,
                             .attributes = std::uint64_t{1} << 63,
                             .name = std::string("M\0S\0R\0", 6)};
    PartitionTable table{.disk_id = DiskId, .partition = whole_disk(Id, {reserved}, Bytes), .reserved = {reserved}};
    EXPECT_EQ(table.partition->start, 4U << 20) << "it follows the reserved one";
    EXPECT_EQ(end_of_room(table, Bytes), Bytes - TableEnd);
    write(table);
    const auto parsed = parse();
    ASSERT_TRUE(parsed && *parsed);
    ASSERT_EQ((*parsed)->reserved.size(), 1U);
    EXPECT_TRUE((*parsed)->reserved[0].name.starts_with(reserved.name));
    EXPECT_EQ((*parsed)->reserved[0].attributes, reserved.attributes);
    EXPECT_EQ((*parsed)->reserved[0].start, reserved.start);
    EXPECT_EQ((*parsed)->reserved[0].bytes, reserved.bytes);
    const PartitionTable before = **parsed;
    write(before);
    EXPECT_EQ(**parse(), before) << "written once more";
    table.partition->start = reserved.start + reserved.bytes - 512;
    write(table);
    EXPECT_EQ(parse().error().message, "the partitions of a disk overlap");
}

TEST_F(PartitionTableTest, AReservedPartitionBehindLimitsTheRoom) {
    const Partition behind{.id = DiskId, .start = 8 << 20, .bytes = 1 << 20};
    const Partition data{.id = Id, .start = 1 << 20, .bytes = 1 << 20};
    const PartitionTable table{.disk_id = DiskId, .partition = data, .reserved = {behind}};
    EXPECT_EQ(end_of_room(table, Bytes), behind.start);
}

}  // namespace
}  // namespace porthole::winhost
