#include "cmd/program/flags.h"

#include <gtest/gtest.h>

namespace porthole::cmd {
namespace {

/// A command "porthole tree" with the subcommand "climb".
struct Tree {
    Tree() {
        app.require_subcommand(1);
        app.add_subcommand("climb", "go up, step by step");
    }
    std::optional<int> parse(std::vector<std::string> arguments) { return parse_flags(app, std::move(arguments)); }
    CLI::App app{"Climb trees. Needs no ladder.", "tree"};
};

TEST(Help, BeginsWithASentenceAlsoOfASubcommandWhoseListEntryIsAPhrase) {
    Tree tree;
    testing::internal::CaptureStdout();
    EXPECT_EQ(tree.parse({"climb", "--help"}), 0);
    EXPECT_TRUE(testing::internal::GetCapturedStdout().starts_with("Go up, step by step.\nUsage: porthole tree climb"));
    testing::internal::CaptureStdout();
    EXPECT_EQ(tree.parse({"--help"}), 0);
    const std::string help = testing::internal::GetCapturedStdout();
    EXPECT_TRUE(help.starts_with("Climb trees. Needs no ladder.\nUsage:")) << help;
    EXPECT_NE(help.find(" go up, step by step\n"), help.npos) << help;
}

TEST(Usage, ErrorsAreOneLineThatBeginsWithTheCommand) {
    Tree tree;
    testing::internal::CaptureStderr();
    EXPECT_EQ(tree.parse({}), 2);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "porthole tree: a subcommand is required; see `porthole tree --help`\n");
}

}  // namespace
}  // namespace porthole::cmd
