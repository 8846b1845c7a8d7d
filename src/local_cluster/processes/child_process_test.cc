#include "local_cluster/processes/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <thread>

#include "runtime/files/durable_file.h"
#include "runtime/run_task.h"

namespace porthole::local_cluster {
namespace {

using namespace std::chrono_literals;

struct ChildProcess : testing::Test {
    ChildProcess() {
        char name[] = "/tmp/porthole-child-XXXXXX";
        folder = ::mkdtemp(name);
    }
    ~ChildProcess() override { std::filesystem::remove_all(folder); }

    ProcessId start(const std::string& script) {
        const auto begun = start_child({.arguments = {"sh", "-c", script}, .log_file = folder / "log", .network_namespace = {}});
        EXPECT_TRUE(begun) << begun.error().message;
        return begun.value_or(ProcessId());
    }
    std::string end_of(ProcessId process) {
        const auto ended = run_task(loop, wait_for_exit(loop, process));
        EXPECT_TRUE(ended) << ended.error().message;
        return ended.value_or("");
    }

    AsioLoop loop;
    std::filesystem::path folder;
};

TEST_F(ChildProcess, IsStartedWhenItsCallerStartsIt) {
    constexpr auto Tick = 20ms;  // in which the kernel counts, and a rounding
    const SystemTime before = loop.wall_now();
    const ProcessId process = start("sleep 60");
    const SystemTime after = loop.wall_now();
    EXPECT_GE(started_at(process, after), before - Tick);
    EXPECT_LE(started_at(process, after), after + Tick);
    send_signal(process, SIGKILL);
    end_of(process);
}

TEST_F(ChildProcess, TellsHowItEnded) {
    EXPECT_EQ(end_of(start("exit 3")), "exit code 3");
    EXPECT_EQ(end_of(start("kill -9 $$")), "signal 9");
}

TEST_F(ChildProcess, TellsHowItEndedBeforeSomebodyWaited) {
    const ProcessId process = start("exit 4");
    while (is_running(process)) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(end_of(process), "exit code 4");
}

TEST_F(ChildProcess, OfAnotherProgramEndsInAWayThatIsNotKnown) {
    const ProcessId shell = start("sleep 0.1 & echo $! >" + (folder / "pid").string() + "; wait");
    while (!std::filesystem::exists(folder / "pid") || std::filesystem::file_size(folder / "pid") == 0) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(end_of(identify(std::stoi(*read_file(folder / "pid")))), "");
    EXPECT_EQ(end_of(shell), "exit code 0");
}

TEST_F(ChildProcess, IsKilledWhereItDoesNotEndInTime) {
    const ProcessId process = start("trap '' TERM; while :; do sleep 0.01; done");
    EXPECT_TRUE(run_task(loop, stop_process(loop, process, 50ms)));
    EXPECT_FALSE(is_running(process));
}

TEST_F(ChildProcess, ThatIsAbsentCannotBeStarted) {
    const auto begun = start_child({.arguments = {"/no/such/program"}, .log_file = folder / "log", .network_namespace = {}});
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().message, "cannot start /no/such/program: exec: No such file or directory");
}

}  // namespace
}  // namespace porthole::local_cluster
