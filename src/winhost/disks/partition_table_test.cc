#include "winhost/disks/partition_table.h"

#include <gtest/gtest.h>

namespace porthole::winhost {
namespace {

constexpr std::uint64_t Bytes = 16 << 20;
const std::string Id = "01234567-89ab-4cde-8f01-23456789abcd", DiskId = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";

struct PartitionTableTest : testing::Test {
    Result<std::optional<PartitionTable>> parse(std::uint64_t bytes = Bytes) const { return parse_partition_table(start, end, bytes); }

    const Partition whole = whole_disk(Id, Bytes);
    std::string start = partition_table_start(whole, DiskId, Bytes), end = partition_table_end(whole, DiskId, Bytes);
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
    start = partition_table_start({Id, 0, 4096}, DiskId, Bytes);
    EXPECT_FALSE(parse()) << "on the table itself";
}

}  // namespace
}  // namespace porthole::winhost
