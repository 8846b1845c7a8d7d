#include "winhost/bundle/runc.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/run_task.h"

namespace porthole::winhost {
namespace {

/// Does what `runc run` is asked for: nothing, and the process is 7.
class FakeRunc final : public ProcessRunner {
public:
    explicit FakeRunc(std::string folder) : folder_(std::move(folder)) {}

    Task<CommandOutput> run(Command command) override {
        commands.push_back(std::move(command));
        CO_TRY_VOID(make_file_system()->write(join_path(folder_, "pid"), "7", 0600));
        co_return CommandOutput{.output = R"({"status": "running", "pid": 7})"};
    }

    std::vector<Command> commands;

private:
    std::string folder_;
};

TEST(Runc, HasOneThreadForWhatItDoesOneAfterTheOther) {
    char folder[] = "/tmp/runc-test.XXXXXX";
    ASSERT_TRUE(::mkdtemp(folder));
    FakeRunc programs(folder);
    const auto files = make_file_system();
    Runc runc(programs, *files, join_path(folder, "state"));
    AsioLoop loop;
    EXPECT_EQ(run_task(loop, runc.start("web", folder, {.rootfs = "/rootfs"})).value_or(0), 7);
    EXPECT_TRUE(run_task(loop, runc.state("web")));
    EXPECT_TRUE(run_task(loop, runc.kill("web", "KILL")));
    EXPECT_TRUE(run_task(loop, runc.remove("web")));
    EXPECT_EQ(programs.commands.size(), 4u);
    for (const Command& command : programs.commands) EXPECT_EQ(command.environment.at("GOMAXPROCS"), "1") << command.arguments.back();
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace porthole::winhost
