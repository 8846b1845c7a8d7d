// The commands of a Linux machine, run by a real shell in a directory that stands for /usr/local/bin.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "provision/machine.h"
#include "runtime/processes/process_fixture.h"

namespace porthole::provision {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
    return text;
}

struct LocalShell final : Transport {
    Task<CommandOutput> run(SshTarget, std::string command, std::string input, Duration limit) override {
        command = "PATH=" + folder + "/tools:$PATH; " + before + replace_all(std::move(command), "/usr/local/bin", folder);
        co_return co_await processes->run({.arguments = {"sh", "-c", command}, .input = std::move(input), .limit = limit});
    }
    Task<> copy(SshTarget, std::string, std::string) override { co_return {}; }

    ProcessRunner* processes = nullptr;
    std::string folder, before;
};

struct LinuxMachineTest : ProcessFixture {
    LinuxMachineTest() {
        std::string made = "/tmp/linux_machine_test.XXXXXX";
        transport.folder = ::mkdtemp(made.data());
        transport.processes = runner.get();
        write("tools/systemctl", "#!/bin/sh\necho \"$1\" >>" + transport.folder + "/calls\ntest \"$1\" != stop\n");
        fs::permissions(transport.folder + "/tools/systemctl", fs::perms::owner_all);
    }
    ~LinuxMachineTest() override { fs::remove_all(transport.folder); }
    void write(const std::string& name, const std::string& text) {
        const fs::path path = transport.folder + "/" + name;
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    std::string read(const std::string& name) {
        std::ifstream file(transport.folder + "/" + name);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    Result<void> done(Task<> task) {
        std::optional<Result<void>> result;
        TaskContext context(loop);
        start_task(std::move(task), context, [&](Result<void> value) {
            result.emplace(std::move(value));
            loop.stop();
        });
        loop.run();
        return *std::move(result);
    }

    LocalShell transport;
    const MachineDescription description{.name = "m", .pool = "p", .ssh = {.address = "192.0.2.1", .user = "root"}};
    std::unique_ptr<Machine> machine = make_machine(transport, description);
};

TEST_F(LinuxMachineTest, TheOldProgramComesBackWhole) {
    write("porthole", "old");
    write("porthole.new", "new");
    ASSERT_TRUE(done(machine->place(true)));
    EXPECT_EQ(read("porthole"), "new");
    const auto back = done(machine->roll_back());
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(read("porthole"), "old");
    EXPECT_FALSE(fs::exists(transport.folder + "/porthole.previous"));
}

TEST_F(LinuxMachineTest, AFullDiskDoesNotCutTheOldProgramShort) {
    const std::string old(1 << 20, 'o');
    write("porthole", old);
    write("porthole.new", "new");
    transport.before = "ulimit -f 8; ";  // no file may become longer than 4 KiB
    (void)done(machine->place(true));
    transport.before.clear();
    ASSERT_TRUE(done(machine->roll_back()));
    EXPECT_EQ(read("porthole").size(), old.size());
}

TEST_F(LinuxMachineTest, AnAgentThatDoesNotStopOrCrashedTooOftenGetsTheOldProgram) {
    write("porthole", "new");
    write("porthole.previous", "old");
    ASSERT_TRUE(done(machine->roll_back()));
    EXPECT_EQ(read("porthole"), "old");
    EXPECT_EQ(read("calls"), "reset-failed\nrestart\n");
}

TEST_F(LinuxMachineTest, ACommandThatHangsIsEndedAtTheMachine) {
    write("tools/timeout", "#!/bin/sh\nexit 124\n");
    fs::permissions(transport.folder + "/tools/timeout", fs::perms::owner_all);
    const auto hung = done(machine->place(false));
    EXPECT_EQ(hung.error().reason, Reason::Timeout);
    EXPECT_EQ(hung.error().message, "putting the program into its place: it did not end within 60 s");
}

}  // namespace
}  // namespace porthole::provision
