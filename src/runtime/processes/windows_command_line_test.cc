#include "runtime/processes/windows_command_line.h"

#include <gtest/gtest.h>

namespace porthole {
namespace {

TEST(WindowsCommandLine, QuotesOnlyWhatNeedsIt) {
    struct {
        const char* name;
        std::vector<std::string> arguments;
        const char* line;
    } const rows[] = {
        {"plain", {"a.exe", "b", "c"}, "a.exe b c"},
        {"blanks", {"C:\\Program Files\\a.exe", "b c"}, "\"C:\\Program Files\\a.exe\" \"b c\""},
        {"empty", {"a.exe", ""}, "a.exe \"\""},
        {"mark", {"a.exe", "d\"e"}, "a.exe \"d\\\"e\""},
        {"backslash at the end", {"a.exe", "C:\\x y\\"}, "a.exe \"C:\\x y\\\\\""},
        {"backslashes before a mark", {"a.exe", "x\\\\\"y"}, "a.exe \"x\\\\\\\\\\\"y\""},
        {"backslashes elsewhere", {"a.exe", "C:\\a\\b"}, "a.exe C:\\a\\b"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(windows_command_line(row.arguments), row.line);
        EXPECT_EQ(split_windows_command_line(row.line), row.arguments);
    }
}

TEST(WindowsCommandLine, SplitsAsTheCRuntimeDoes) {
    EXPECT_EQ(split_windows_command_line("a.exe \"b c\" d\\\"e \"f\\\\\""), (std::vector<std::string>{"a.exe", "b c", "d\"e", "f\\"}));
    EXPECT_EQ(split_windows_command_line("a \"b\"\"c\" x\\\\y"), (std::vector<std::string>{"a", "b\"c", "x\\\\y"}));
    EXPECT_EQ(split_windows_command_line("  "), std::vector<std::string>());
}

}  // namespace
}  // namespace porthole
