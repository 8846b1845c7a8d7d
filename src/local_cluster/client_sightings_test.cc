#include "local_cluster/client_sightings.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace porthole::local_cluster {
namespace {

using namespace std::chrono_literals;

TEST(ClientSightings, OfSeveralServersAreTheNewestOfEachClient) {
    const DataDir data(std::filesystem::temp_directory_path() / ("porthole-sightings-" + std::to_string(::getpid())));
    const DataDir second(data.further_server("server-2"));
    for (const DataDir& server : {data, second}) std::filesystem::create_directories(server.pki());
    const SystemTime start{1000s};
    ASSERT_TRUE(node_join::write_sightings(data.pki(), {{"a", {"old", start}}, {"b", {"new", start + 5s}}}));
    ASSERT_TRUE(node_join::write_sightings(second.pki(), {{"a", {"new", start + 9s}}, {"b", {"old", start}}, {"c", {"old", start}}}));
    const auto seen = read_client_sightings(data);
    ASSERT_TRUE(seen);
    ASSERT_EQ(seen->size(), 3u);
    EXPECT_EQ(seen->at("a").authority, "new");
    EXPECT_EQ(seen->at("b").authority, "new");
    EXPECT_EQ(seen->at("c").authority, "old");
    EXPECT_EQ(read_client_sightings(second)->size(), 3u) << "one server has its own only";
    std::filesystem::remove_all(data.root());
}

}  // namespace
}  // namespace porthole::local_cluster
