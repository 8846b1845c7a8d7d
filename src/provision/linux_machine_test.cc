// The commands of a Linux machine, run by a real shell in a directory that stands for /usr/local/bin.
#include <gmock/gmock.h>

#include "provision/local_shell_fixture.h"
#include "provision/machine.h"

namespace porthole::provision {
namespace {

namespace fs = std::filesystem;
struct LinuxMachineTest : LocalShellFixture {
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
    EXPECT_FALSE(exists("porthole.previous"));
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

TEST_F(LinuxMachineTest, KnowsItsClusterByTheServersThatItWasGivenAndThoseThatItLearned) {
    transport.places["/var/lib/porthole-agent"] = transport.folder + "/agent";
    transport.places["/run/systemd/system"] = transport.folder;
    transport.places["[ -S"] = "[ -e";
    transport.places["/run/containerd/containerd.sock"] = transport.folder;
    write("agent/servers", "given https://10.0.0.5:6443 lost\nlearned https://10.0.0.6:6443 ready, in use\n");
    EXPECT_EQ(result_of(machine->ask()).value().server, "https://10.0.0.5:6443,https://10.0.0.6:6443");
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
