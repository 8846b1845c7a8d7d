#include "cmd/bundle/machine_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/bundle/archive_fixture.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::cmd::bundle {
namespace {

using testing::HasSubstr;

/// Programs that print their own name, or fail as theirs says.
class Programs final : public ProcessRunner {
public:
    Task<CommandOutput> run(Command command) override {
        ran.push_back(command);
        if (command.arguments[0] == "absent") co_return Error(Reason::NotFound, "there is no program absent");
        co_return CommandOutput{.exit_code = command.arguments[0] == "broken" ? 3 : 0, .output = command.arguments[0] + " password=x\n"};
    }
    std::vector<Command> ran;
};

struct MachinePart : ArchiveFixture {
    sim::SimLoop loop;
    Programs programs;
};

TEST_F(MachinePart, KeepsWhatProgramsPrintAndNotesWhatFails) {
    ASSERT_TRUE(
        sim::run(loop, add_machine(programs, *writer, {{"a.txt", {"one"}}, {"b.txt", {"absent"}}, {"c.txt", {"broken"}}}, "machine")));
    ASSERT_TRUE(writer->add_notes());
    const auto found = entries();
    EXPECT_EQ(found.at("machine/a.txt"), "one password=<removed>\n");
    EXPECT_EQ(found.at("errors.txt"), "machine/b.txt: there is no program absent\nmachine/c.txt: exit code 3\n");
    EXPECT_LE(programs.ran[0].limit, std::chrono::seconds(20));
}

TEST_F(MachinePart, AsksANetworkInItsNamespace) {
    ASSERT_TRUE(
        sim::run(loop, add_machine(programs, *writer, {{"a.txt", {"one"}}, {"b.txt", {"two"}, true}}, "nodes/n", "/run/netns/n", true)));
    ASSERT_EQ(programs.ran.size(), 1u);
    EXPECT_EQ(programs.ran[0].network_namespace, "/run/netns/n");
}

TEST_F(MachinePart, TakesTheEndOfLogsAndNothingElse) {
    const auto files = make_file_system();
    const std::string logs = folder + "/logs";
    ASSERT_TRUE(files->create_directories(logs + "/linux-1", 0700));
    std::string large;
    for (int line = 0; large.size() < (5u << 20); ++line) large += "line " + std::to_string(line) + "\n";
    ASSERT_TRUE(files->write(logs + "/server.log", large, 0600));
    ASSERT_TRUE(files->write(logs + "/linux-1/agent.log.1", "started\n", 0600));
    ASSERT_TRUE(files->write(logs + "/audit.log", "jane\n", 0600));
    ASSERT_TRUE(files->write(logs + "/key.pem", "x", 0600));
    ASSERT_TRUE(files->create_symlink("/etc/passwd", logs + "/link.log"));
    ASSERT_TRUE(add_logs(*files, *writer, logs, "machine/logs"));
    const auto found = entries();
    EXPECT_EQ(found.size(), 2u);
    EXPECT_EQ(found.at("machine/logs/linux-1/agent.log.1"), "started\n");
    const std::string& end = found.at("machine/logs/server.log");
    EXPECT_LE(end.size(), 4u << 20);
    EXPECT_TRUE(end.starts_with("line ")) << "whole lines";
    EXPECT_TRUE(large.ends_with(end));
}

}  // namespace
}  // namespace porthole::cmd::bundle
