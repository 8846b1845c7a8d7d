#include "hns/emulator/model/model.h"

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
    for (const char* id : {"FF00", "00AA", "7F01", "7F00", "not a GUID"}) table.put(id, object(1));
    EXPECT_THAT(ids(table), ElementsAre("00AA", "not a GUID", "7F00", "7F01", "FF00"));
    EXPECT_EQ(table.size(), 5u);
    EXPECT_EQ(find(table, "7F02"), nullptr);
    EXPECT_TRUE(table.find("7F02") == table.end());
    EXPECT_EQ(table.find("FF00")->first, "FF00");
}

TEST(Table, AChangedCopyLeavesTheOtherAsItWas) {
    Table<Namespace> before;
    before.put("10", object(1));
    before.put("1F", object(2));
    Table<Namespace> after = before;
    EXPECT_TRUE(after.is_same(before));
    const Namespace* untouched = find(before, "1F");
    after.put("10", object(3));
    after.put("11", object(4));
    EXPECT_EQ(find(before, "10")->document.namespace_id, 1u);
    EXPECT_EQ(find(after, "10")->document.namespace_id, 3u);
    EXPECT_EQ(find(after, "1F"), untouched) << "what is not changed is shared";
    EXPECT_EQ(before.size(), 2u);
    EXPECT_EQ(after.size(), 3u);
    EXPECT_FALSE(after == before);
}

TEST(Table, ForgetsWhatIsErased) {
    Table<Namespace> table;
    for (const char* id : {"A0", "A1", "B0"}) table.put(id, object(1));
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

std::shared_ptr<const Endpoint> endpoint(const std::string& id, const std::string& address, std::uint32_t number = 0) {
    Endpoint made{.number = number};
    made.document.id = id;
    made.document.host_compute_network = "net";
    made.document.ip_configurations.push_back({.ip_address = address});
    return std::make_shared<const Endpoint>(std::move(made));
}

TEST(Table, FindsObjectsByWhatTheyHoldNow) {
    Table<Endpoint> table;
    table.put("A0", endpoint("A0", "10.0.0.1"));
    table.put("A1", endpoint("A1", "10.0.0.2"));
    const Table<Endpoint> before = table;
    table.put("A0", endpoint("A0", "10.0.0.3"));
    table.erase("A1");
    EXPECT_THAT(table.with(key_of_address("net", "10.0.0.1")), ElementsAre());
    EXPECT_THAT(table.with(key_of_address("net", "10.0.0.2")), ElementsAre());
    EXPECT_THAT(table.with(key_of_address("net", "10.0.0.3")), ElementsAre(find(table, "A0")));
    EXPECT_THAT(table.with(key_of_address("another", "10.0.0.3")), ElementsAre());
    EXPECT_THAT(before.with(key_of_address("net", "10.0.0.1")), ElementsAre(find(before, "A0"))) << "the copy is as it was";
    EXPECT_THAT(before.with(key_of_address("net", "10.0.0.2")), ElementsAre(find(before, "A1")));
}

// Each of thousands of load balancers asks for others on its port: to look at them all made the whole quadratic.
TEST(Table, LooksAtFewAmongThousands) {
    Table<LoadBalancer> table;
    for (unsigned number = 0; number < 2000; ++number) {
        LoadBalancer made;
        made.document.id = "LB" + std::to_string(number);
        made.document.frontend_vips = {"10.96.0." + std::to_string(number)};
        made.document.host_compute_endpoints = {"E" + std::to_string(number), "E" + std::to_string(number + 1)};
        made.document.port_mappings.push_back({.protocol = Protocol::Tcp, .internal_port = 8080, .external_port = 80});
        const std::string id = made.document.id;
        table.put(id, std::make_shared<const LoadBalancer>(std::move(made)));
    }
    EXPECT_THAT(table.with(key_of_port("10.96.0.7", Protocol::Tcp, 80)), ElementsAre(find(table, "LB7")));
    EXPECT_EQ(table.with(key_of_port("", Protocol::Tcp, 80)).size(), 0u);
    EXPECT_THAT(table.with(key_of_backend("E7")), testing::UnorderedElementsAre(find(table, "LB6"), find(table, "LB7")));
}

TEST(Table, GivesTheSmallestFreeNumber) {
    Table<Endpoint> table;
    EXPECT_EQ(table.free_number(), 1u);
    for (std::uint32_t number = 1; number <= 200; ++number) {
        EXPECT_EQ(table.free_number(), number);
        table.put(std::to_string(number), endpoint(std::to_string(number), "", number));
    }
    table.erase("130");
    EXPECT_EQ(table.free_number(), 130u);
    table.erase("64");
    EXPECT_EQ(table.free_number(), 64u);
    table.put("more", endpoint("more", "", 64));
    table.put("damaged", endpoint("damaged", "", 4'000'000'000));
    EXPECT_EQ(table.free_number(), 130u);
}

}  // namespace
}  // namespace porthole::hns::emulator
