#include "cmd/program/flags.h"

#include <gtest/gtest.h>

#include "cmd/program/port_flag.h"

namespace porthole::cmd {
namespace {

/// A command "porthole tree" with the subcommands "climb" and "fall".
struct Tree {
    Tree() {
        app.require_subcommand(1);
        CLI::App* climb = app.add_subcommand("climb", "go up, step by step");
        climb->add_option("--steps", steps, "how many");
        climb->add_option("--branch", branch, "where to")->check(is_port());
        app.add_subcommand("fall", "go down");
    }
    std::optional<int> parse(std::vector<std::string> arguments) { return parse_flags(app, std::move(arguments)); }
    int steps = 0;
    std::uint16_t branch = 0;
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
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "porthole tree: a subcommand is required: climb, fall; see `porthole tree --help`\n");
}

TEST(Usage, ErrorsSayWhatWasProbablyMeant) {
    const struct {
        std::vector<std::string> arguments;
        const char* message;
    } rows[] = {
        {{"clmib"}, "unknown subcommand \"clmib\" (did you mean climb?)"},
        {{"saw"}, "unknown subcommand \"saw\" (there are: climb, fall)"},
        {{"climb", "--step=3"}, "unknown option --step=3 (did you mean --steps?)"},
        {{"climb", "--rope"}, "unknown option --rope"},
        {{"climb", "high"}, "\"high\" is not expected"},
        {{"climb", "--steps"}, "--steps needs a value"},
        {{"climb", "--steps", "many"}, "invalid value \"many\" for --steps"},
        {{"climb", "--steps", "99999999999"}, "invalid value \"99999999999\" for --steps"},
        {{"climb", "--branch", "70000"}, "--branch: a port from 1 to 65535 is expected, not 70000"},
        {{"climb", "--branch", "0"}, "--branch: a port from 1 to 65535 is expected, not 0"},
        {{"climb", "--branch", "6443x"}, "--branch: a port from 1 to 65535 is expected, not 6443x"},
    };
    for (const auto& row : rows) {
        Tree tree;
        EXPECT_EQ(parse_arguments(tree.app, row.arguments), row.message);
    }
    Tree tree;
    EXPECT_EQ(parse_arguments(tree.app, {"climb", "--branch", "65535"}), std::nullopt);
    EXPECT_EQ(tree.branch, 65535);
}

}  // namespace
}  // namespace porthole::cmd
