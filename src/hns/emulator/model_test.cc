#include "hns/emulator/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace porthole::hns::emulator {
namespace {

using testing::ElementsAre;

std::shared_ptr<const Namespace> object(std::uint32_t number) {
    Namespace made;
    made.document.namespace_id = number;
    return std::make_shared<const Namespace>(std::move(made));
}

std::vector<std::string> ids(const Table<Namespace>& table) {
    std::vector<std::string> all;
    for (const auto& [id, row] : table) all.push_back(id);
    return all;
}

TEST(Table, ListsInTheOrderOfIdsWhicheverShardTheyAreIn) {
    Table<Namespace> table;
    for (const char* id : {"FF00", "00AA", "7F01", "7F00", "not a GUID"}) table[id] = object(1);
    EXPECT_THAT(ids(table), ElementsAre("00AA", "not a GUID", "7F00", "7F01", "FF00"));
    EXPECT_EQ(table.size(), 5u);
    EXPECT_EQ(find(table, "7F02"), nullptr);
    EXPECT_TRUE(table.find("7F02") == table.end());
    EXPECT_EQ(table.find("FF00")->first, "FF00");
}

TEST(Table, AChangedCopyLeavesTheOtherAsItWas) {
    Table<Namespace> before;
    before["10"] = object(1);
    before["1F"] = object(2);
    Table<Namespace> after = before;
    EXPECT_TRUE(after.is_same(before));
    const Namespace* untouched = find(before, "1F");
    after["10"] = object(3);
    after["11"] = object(4);
    EXPECT_EQ(find(before, "10")->document.namespace_id, 1u);
    EXPECT_EQ(find(after, "10")->document.namespace_id, 3u);
    EXPECT_EQ(find(after, "1F"), untouched) << "what is not changed is shared";
    EXPECT_EQ(before.size(), 2u);
    EXPECT_EQ(after.size(), 3u);
    EXPECT_FALSE(after == before);
}

TEST(Table, ForgetsWhatIsErased) {
    Table<Namespace> table;
    for (const char* id : {"A0", "A1", "B0"}) table[id] = object(1);
    const Table<Namespace> whole = table;
    table.erase("A0");
    table.erase("A0");
    EXPECT_EQ(table.size(), 2u);
    erase_if(table, [](const auto& row) { return row.first == "B0"; });
    EXPECT_THAT(ids(table), ElementsAre("A1"));
    EXPECT_THAT(ids(whole), ElementsAre("A0", "A1", "B0"));
    table.clear();
    EXPECT_TRUE(table.empty());
    EXPECT_TRUE(table.begin() == table.end());
}

}  // namespace
}  // namespace porthole::hns::emulator
