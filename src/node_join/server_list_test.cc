#include "node_join/server_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node_join/api_balancer.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::node_join {
namespace {

using api::discovery::v1::Endpoint;
using api::discovery::v1::EndpointPort;
using api::discovery::v1::EndpointSlice;
using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<const EndpointSlice> slice(const std::vector<std::string>& addresses, std::optional<bool> ready = {},
                                           const char* port_name = "https") {
    EndpointSlice made;
    made.ports.push_back(EndpointPort{.name = port_name, .port = 6443});
    for (const std::string& address : addresses) {
        Endpoint endpoint;
        endpoint.addresses = {address};
        endpoint.conditions.ready = ready;
        made.endpoints.push_back(endpoint);
    }
    return std::make_shared<const EndpointSlice>(std::move(made));
}

TEST(ServerList, IsReadAsItWasWritten) {
    const std::vector<KnownServer> servers = {{"https://cp.example.com:6443", true, "dead"},
                                              {"https://10.0.0.6:6443", false, "ready, in use"}};
    EXPECT_EQ(to_text(servers), "given https://cp.example.com:6443 dead\nlearned https://10.0.0.6:6443 ready, in use\n");
    EXPECT_EQ(parse_server_list(to_text(servers)), servers);
}

TEST(ServerList, LeavesOutWhatItCannotUse) {
    EXPECT_THAT(parse_server_list(""), IsEmpty());
    EXPECT_THAT(
        parse_server_list("\n\ngiven\ngiven \nhttps://a\nother https://a\ngiven http://a\ngiven https://a/prefix\ngiven https://:0\n"),
        IsEmpty());
    EXPECT_EQ(parse_server_list("given https://a\nlearned https://a").size(), 1U) << "the first of two lines counts";
    std::string many;
    for (int i = 0; i < 1000; ++i) many += "learned https://a:" + std::to_string(i + 1) + "\n";
    EXPECT_EQ(parse_server_list(many).size(), 64U);
}

TEST(ServerList, NamesTheServerInUse) {
    sim::SimLoop loop;
    sim::MemoryFileSystem files(loop);
    EXPECT_EQ(server_behind(files, "/k", "https://10.0.0.5:6443"), "https://10.0.0.5:6443") << "there is no list";
    ASSERT_TRUE(files.create_directories("/k", 0700));
    ASSERT_TRUE(files.write("/k/servers", "given https://a\ngiven https://b\n", 0644));
    EXPECT_EQ(server_behind(files, "/k", "https://127.0.0.1:6444"), "https://a");
    ASSERT_TRUE(files.write("/k/servers", "given https://a dead\nlearned https://b ready, in use\n", 0644));
    EXPECT_EQ(server_behind(files, "/k", "https://127.0.0.1:6444"), "https://b");
}

TEST(ServerList, TakesTheAddressesOfSlices) {
    EXPECT_THAT(servers_of({slice({"10.0.0.5", "10.0.0.6"}), slice({"10.0.0.5", "fd00::7"})}),
                ElementsAre("https://10.0.0.5:6443", "https://10.0.0.6:6443", "https://[fd00::7]:6443"));
    EXPECT_THAT(servers_of({slice({"10.0.0.5"}, true), slice({"10.0.0.6"}, false)}), ElementsAre("https://10.0.0.5:6443"));
    EXPECT_THAT(servers_of({slice({"127.0.0.1", "::1", "0.0.0.0", "169.254.0.1", "fe80::1", "a.example.com", ""})}), IsEmpty());
    EXPECT_THAT(servers_of({slice({"10.0.0.5"}, {}, "metrics")}), IsEmpty());
    EXPECT_THAT(servers_of({}), IsEmpty());
}

TEST(ServerList, TakesNoMoreServersThanANodeKnows) {
    std::vector<std::string> many;
    for (int i = 0; i < 200; ++i) many.push_back("10.0.0." + std::to_string(i));
    const auto urls = servers_of({slice(many), slice(many)});
    EXPECT_EQ(urls.size(), 64U);
    EXPECT_EQ(urls.front(), "https://10.0.0.0:6443");
}

TEST(ServerDirectory, KeepsWhatWasGivenAndForgetsWhatTheClusterDoesNotNameAnyMore) {
    ServerDirectory directory({{"https://given", true, ""}, {"https://old", false, "ready"}});
    EXPECT_THAT(directory.listed(), ElementsAre("https://given", "https://old"));
    directory.learn({});
    EXPECT_THAT(directory.listed(), ElementsAre("https://given", "https://old")) << "an empty list is not believed";
    directory.learn({"https://new"});
    EXPECT_THAT(directory.listed(), ElementsAre("https://new"));
    EXPECT_THAT(directory.given(), ElementsAre("https://given"));
}

TEST(ServerDirectory, WritesDownStatesForReaders) {
    const ServerDirectory directory({{"https://b", true, ""}, {"https://a", false, ""}});
    using net::ServerHealth;
    EXPECT_EQ(to_text(directory.with_states({{.name = "https://a", .health = ServerHealth::Ready, .in_use = true},
                                             {.name = "https://c", .health = ServerHealth::NotReady, .listed = false},
                                             {.name = "https://b", .health = ServerHealth::Dead, .listed = false, .reserve = true}})),
              "given https://b dead, reserve\nlearned https://a ready, in use\nlearned https://c not ready, drained\n");
}

}  // namespace
}  // namespace porthole::node_join
