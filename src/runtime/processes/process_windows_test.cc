#include <fcntl.h>
#include <gtest/gtest.h>
#include <io.h>
#include <windows.h>

#include "runtime/processes/process_fixture.h"

namespace porthole {
namespace {

using namespace std::chrono_literals;

using WindowsProcessTest = ProcessFixture;

TEST_F(WindowsProcessTest, ReturnsBothStreamsAndTheWholeExitCode) {
    auto result = run({.arguments = {"cmd", "/c", "echo %GREETING%& echo oops>&2& exit 70000"}, .environment = {{"greeting", "hello"}}});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->output, "hello\r\n");
    EXPECT_EQ(result->errors, "oops\r\n");
    EXPECT_EQ(result->exit_code, 70000);
}

TEST_F(WindowsProcessTest, AValueAddsNoFurtherVariables) {
    using std::string_literals::operator""s;
    auto result = run({.arguments = {"cmd", "/c", "set"}, .environment = {{"password", "p\0PSModulePath=C:\\evil"s}}});
    ASSERT_FALSE(result) << result->output;
    EXPECT_EQ(result.error().reason, Reason::BadRequest);
}

/// The part of the next test that runs in the child.
TEST(CopyForAnother, DISABLED_Test) {
    _setmode(0, _O_BINARY);
    _setmode(1, _O_BINARY);
    char buffer[4096];
    while (const std::size_t count = fread(buffer, 1, sizeof buffer, stdin)) fwrite(buffer, 1, count, stdout);
    fflush(stdout);
}

TEST_F(WindowsProcessTest, MovesMoreThanAPipeHoldsInBothDirections) {
    std::string large;
    for (int line = 0; large.size() < 1 << 20; ++line) large += "line " + std::to_string(line) + "\n";
    char program[MAX_PATH];
    ASSERT_GT(GetModuleFileNameA(nullptr, program, sizeof program), 0u);
    auto result =
        run({.arguments = {program, "--gtest_also_run_disabled_tests", "--gtest_filter=CopyForAnother.DISABLED_Test"}, .input = large});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_NE(result->output.find(large), std::string::npos);
}

TEST_F(WindowsProcessTest, InputThatNobodyReadsIsNoError) {
    auto result = run({.arguments = {"cmd", "/c", "exit 0"}, .input = std::string(1 << 20, 'x')});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->exit_code, 0);
}

TEST_F(WindowsProcessTest, SaysThatAProgramIsMissing) {
    auto result = run({.arguments = {"porthole-no-such-program"}});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().reason, Reason::NotFound);
}

TEST_F(WindowsProcessTest, KillsAllThatAProgramStartedWhenTimeIsUp) {
    auto result = run({.arguments = {"cmd", "/c", "start /b ping -n 1000 127.0.0.1 & ping -n 1000 127.0.0.1"}, .limit = 1500ms});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().reason, Reason::Timeout);
}

TEST_F(WindowsProcessTest, CancellationKills) {
    cancel_after = 500ms;
    auto result = run({.arguments = {"ping", "-n", "1000", "127.0.0.1"}});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().reason, Reason::Cancelled);
}

}  // namespace
}  // namespace porthole
