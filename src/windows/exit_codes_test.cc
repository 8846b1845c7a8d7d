#include "windows/exit_codes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace porthole::windows {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string explained(std::uint32_t code, std::string_view log = "") { return exit_explanation(static_cast<std::int32_t>(code), log); }

TEST(ExitCodes, ThoseOfWindowsAreExplained) {
    struct {
        std::uint32_t code;
        const char* begins;
    } const rows[] = {
        {0xC0000005, "0xC0000005 (STATUS_ACCESS_VIOLATION): the program read or wrote memory"},
        {0xC000007B, "0xC000007B (STATUS_INVALID_IMAGE_FORMAT): the program or one of its DLLs is not for this processor"},
        {0xC00000FD, "0xC00000FD (STATUS_STACK_OVERFLOW): the program used up its stack"},
        {0xC0000135, "0xC0000135 (STATUS_DLL_NOT_FOUND): a DLL that the program needs was not found; put it next to"},
        {0xC0000142, "0xC0000142 (STATUS_DLL_INIT_FAILED): a DLL of the program failed to initialize"},
    };
    for (const auto& row : rows) EXPECT_THAT(explained(row.code), StartsWith(row.begins));
    for (const std::uint32_t own : {0u, 1u, 55u, 137u, 0xFFFFFFFFu}) EXPECT_EQ(explained(own), "") << own;
}

TEST(ExitCodes, TheMissingDllIsNamedWhereTheLogHasIt) {
    struct {
        const char* name;
        const char* log;
        const char* dll;  ///< "" for none
    } const rows[] = {
        {"a path with brackets", "C:\\Program Files (x86)\\App\\a.exe: the DLL b.dll was not found\n", "b.dll"},
        {"loader", "0024:err:module:import_dll Library VCRUNTIME140.dll (which is needed by L\"C:\\\\app\\\\a.dll\") not found\n",
         "VCRUNTIME140.dll"},
        {"emulated node", "C:\\app\\main.exe: the DLL libpq.dll was not found\r\n", "libpq.dll"},
        {".NET", "System.DllNotFoundException: Unable to load DLL 'C:\\app\\native-1.2.dll' or one of its dependencies", "native-1.2.dll"},
        {"the last", "a.dll not found\nb.dll not found\nthe end\n", "b.dll"},
        {"another line", "loaded c.dll\nnot found: /index.html\n", ""},
        {"no name", ".dll not found", ""},
        {"nothing", "", ""},
        {"lines without text", "\n\n\n", ""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const std::string found = std::string("was not found (") + row.dll + "); put it";
        EXPECT_THAT(explained(0xC0000135, row.log), HasSubstr(*row.dll ? found : "was not found; put it"));
    }
    EXPECT_THAT(explained(0xC0000005, "a.dll not found"), Not(HasSubstr("a.dll")));
}

TEST(ExitCodes, AreInOrderAndCanBeInATable) {
    EXPECT_TRUE(std::ranges::is_sorted(exit_codes(), {}, &ExitCode::code));
    for (const ExitCode& one : exit_codes()) EXPECT_FALSE(one.words.contains('|') || one.remedy.contains('|') || one.remedy.empty());
}

}  // namespace
}  // namespace porthole::windows
