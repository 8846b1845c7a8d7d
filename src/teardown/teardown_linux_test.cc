#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "runtime/sim/sim_loop.h"
#include "teardown/teardown.h"

namespace porthole::teardown {
namespace {

using testing::Contains;
using testing::Not;

/// Answers `nft list table` with the given text.
struct Programs final : ProcessRunner {
    Task<CommandOutput> run(Command command) override {
        std::string words;
        for (const std::string& word : command.arguments) words += (words.empty() ? "" : " ") + word;
        ran.push_back(words);
        if (words == "nft list table ip nat") co_return CommandOutput{0, nat, ""};
        if (words == "nft list table ip6 nat") co_return CommandOutput{0, "table ip6 nat {\n}\n", ""};
        co_return CommandOutput{1, "", "no such thing"};
    }
    std::string nat;
    std::vector<std::string> ran;
};

constexpr const char* Chain = "table ip nat {\n\tchain OUTPUT {\n\t\ttype nat hook output priority -100; policy accept;\n";

// JOI-19
TEST(NodeRulesRemoval, TakesEmptyTablesThatThePortMappingPluginHasLeftAndNoOtherRules) {
    sim::SimLoop loop;
    Programs programs;
    programs.nat = std::string("# Warning: table ip nat is managed by iptables-nft, do not touch!\n") + Chain + "\t}\n}\n";
    ASSERT_TRUE(sim::run(loop, remove_node_rules(programs)));
    EXPECT_THAT(programs.ran, Contains("nft delete table ip nat"));
    EXPECT_THAT(programs.ran, Contains("nft delete table ip6 nat"));
    for (const char* more : {"\t\toifname \"eth0\" masquerade\n\t}\n}\n", "\t}\n\tset own {\n\t\ttype ipv4_addr\n\t}\n}\n"}) {
        programs.nat = std::string(Chain) + more;
        programs.ran.clear();
        ASSERT_TRUE(sim::run(loop, remove_node_rules(programs)));
        EXPECT_THAT(programs.ran, Not(Contains("nft delete table ip nat"))) << programs.nat;
    }
}

}  // namespace
}  // namespace porthole::teardown
