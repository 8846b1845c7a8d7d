#include "runtime/processes/process_fixture.h"

#include <gtest/gtest.h>

#include <fstream>

namespace porthole {
namespace {

using namespace std::chrono_literals;

using ProcessTest = ProcessFixture;

TEST_F(ProcessTest, GivesInputEnvironmentAndArgumentsAndReturnsBothStreams) {
    auto result = run({.arguments = {"sh", "-c", "cat; echo \"$GREETING $1\"; echo oops >&2; exit 3", "x", "you"},
                       .environment = {{"GREETING", "hello"}},
                       .input = "in\n"});
    ASSERT_TRUE(result);
    EXPECT_EQ(result->output, "in\nhello you\n");
    EXPECT_EQ(result->errors, "oops\n");
    EXPECT_EQ(result->exit_code, 3);
}

TEST_F(ProcessTest, MovesMoreThanAPipeHoldsInBothDirections) {
    const std::string large(3 << 20, 'x');
    auto result = run({.arguments = {"cat"}, .input = large});
    ASSERT_TRUE(result);
    EXPECT_EQ(result->output, large);
}

TEST_F(ProcessTest, InputThatNobodyReadsIsNoError) {
    auto result = run({.arguments = {"true"}, .input = std::string(1 << 20, 'x')});
    ASSERT_TRUE(result);
    EXPECT_EQ(result->exit_code, 0);
}

TEST_F(ProcessTest, RefusesTextsThatTheSystemWouldEndEarly) {
    using std::string_literals::operator""s;
    EXPECT_EQ(run({.arguments = {"echo", "a\0b"s}}).error().message, "an argument or a variable of echo has a zero byte");
    EXPECT_EQ(run({.arguments = {"env"}, .environment = {{"PASSWORD", "p\0PATH=/evil"s}}}).error().reason, Reason::BadRequest);
}

TEST_F(ProcessTest, SaysThatAProgramIsMissing) {
    auto result = run({.arguments = {"porthole-no-such-program"}});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().reason, Reason::NotFound);
}

TEST_F(ProcessTest, KillsTheWholeGroupWhenTimeIsUp) {
    auto result = run({.arguments = {"sh", "-c", "sleep 1000 & wait"}, .limit = 100ms});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().reason, Reason::Timeout);
    EXPECT_EQ(result.error().message, "sh did not end within 100ms and was killed");
}

TEST_F(ProcessTest, CancellationKills) {
    cancel_after = 50ms;
    auto result = run({.arguments = {"sleep", "1000"}});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().reason, Reason::Cancelled);
}

TEST_F(ProcessTest, DoesNotWaitForAGrandchildThatHoldsTheStreams) {
    auto result = run({.arguments = {"sh", "-c", "sleep 1 & echo started"}});
    ASSERT_TRUE(result);
    EXPECT_EQ(result->output, "started\n");
}

TEST_F(ProcessTest, ReportsASignalAsAShellWould) {
    auto result = run({.arguments = {"sh", "-c", "kill -9 $$"}});
    ASSERT_TRUE(result);
    EXPECT_EQ(result->exit_code, 137);
}

TEST_F(ProcessTest, AMissingNetworkNamespaceIsNotFound) {
    auto result = run({.arguments = {"true"}, .network_namespace = "/run/netns/porthole-none"});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().reason, Reason::NotFound);
}

}  // namespace
}  // namespace porthole
