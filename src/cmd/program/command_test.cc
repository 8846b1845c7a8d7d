#include "cmd/program/command.h"

#include <gtest/gtest.h>

namespace porthole::cmd {
namespace {

int do_nothing(std::vector<std::string>) { return 0; }

constexpr SubCommand Commands[] = {{"up", do_nothing, "bring it up"}, {"upgrade", do_nothing, nullptr}};
constexpr SubCommand Twice[] = {{"up", do_nothing, "bring it up"}, {"down", do_nothing, ""}, {"up", do_nothing, "again"}};

TEST(SubCommands, OfOneListHaveNamesOfTheirOwn) {
    static_assert(are_distinct(Commands));
    EXPECT_FALSE(are_distinct(Twice));
}

TEST(SubCommands, AreFoundByTheWholeName) {
    EXPECT_EQ(find_command(Commands, "up"), &Commands[0]);
    EXPECT_EQ(find_command(Commands, "upgrade"), &Commands[1]);
    EXPECT_EQ(find_command(Commands, "upg"), nullptr);
    EXPECT_EQ(find_command(Commands, ""), nullptr);
}

}  // namespace
}  // namespace porthole::cmd
