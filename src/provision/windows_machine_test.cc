// A transport in the place of Windows: which scripts it would get. They have not run on Windows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/strings.h"
#include "provision/machine.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::provision {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t LongestOfCmd = 8191;  ///< characters of a command line of cmd.exe, the shell that sshd for Windows starts

struct WindowsTransport final : Transport {
    Task<CommandOutput> run(SshTarget, std::string command, std::string input, Duration) override {
        EXPECT_LT(command.size(), LongestOfCmd);
        commands.push_back(command);
        inputs.push_back(std::move(input));
        co_return answer;
    }
    Task<> copy(SshTarget, std::string local, std::string remote) override {
        copied = local + " to " + remote;
        co_return {};
    }
    /// The last script, as PowerShell gets it.
    std::string script() const {
        const std::string& command = commands.back();
        const std::string bytes = decode_base64(command.substr(command.rfind(' ') + 1)).value();
        std::string text;
        for (std::size_t i = 0; i < bytes.size(); i += 2) text += bytes[i];
        return text;
    }
    std::vector<std::string> commands, inputs;
    std::string copied;
    CommandOutput answer;
};

struct WindowsMachineTest : testing::Test {
    template <class T>
    Result<T> run(Task<T> task) {
        return sim::run(loop, std::move(task));
    }
    std::string refusal(const std::string& answers) {
        transport.answer = {.output = answers};
        return run(machine->ask()).error().message;
    }
    sim::SimLoop loop;
    WindowsTransport transport;
    const MachineDescription description{.name = "win-1",
                                         .pool = "win",
                                         .is_windows = true,
                                         .ssh = {.address = "192.0.2.7", .user = "Administrator"},
                                         .taints = {"os=windows:NoSchedule"},
                                         .join_flags = {"--adapter=Ethernet '2'; $x"}};
    std::unique_ptr<Machine> machine = make_machine(transport, description);
};

TEST_F(WindowsMachineTest, SaysWhatItHas) {
    transport.answer = {
        .output =
            "system=Win32NT\r\narchitecture=AMD64\r\nadministrator=yes\r\nruntime=yes\r\nprogram=aa\r\nserver=https://s:6443\r\n"
            "agent=active\r\nprevious=yes\r\n"};
    const auto facts = run(machine->ask());
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->program_sha256, "aa");
    EXPECT_EQ(facts->server, "https://s:6443");
    EXPECT_TRUE(facts->is_agent_running && facts->has_previous);
}

TEST_F(WindowsMachineTest, KnowsItsClusterByTheServersThatItWasGivenAndThoseThatItLearned) {
    (void)run(machine->ask());
    EXPECT_THAT(transport.script(), AllOf(HasSubstr("Select-String -Path C:\\k\\pki\\servers -Pattern '^[a-z]+ (\\S+)'"),
                                          HasSubstr("ForEach-Object { $_.Matches[0].Groups[1].Value }) -join ','")));
}

TEST_F(WindowsMachineTest, IsRefusedWithWhatItLacks) {
    EXPECT_THAT(refusal("system=Unix\narchitecture=AMD64\n"), HasSubstr("does not run a 64-bit Windows"));
    EXPECT_THAT(refusal("system=Win32NT\r\narchitecture=AMD64\r\n"), HasSubstr("not an administrator"));
    EXPECT_THAT(refusal("system=Win32NT\r\narchitecture=AMD64\r\nadministrator=yes\r\n"), HasSubstr("install-containerd.ps1"));
}

// PRV-09
TEST_F(WindowsMachineTest, JoinsWithTheTokenOnStandardInputAndFlagsAsLiterals) {
    ASSERT_TRUE(run(machine->join({.server = "https://s:6443", .token = "abcdef.secret", .ca_hash = "sha256:aa"})));
    EXPECT_EQ(transport.inputs.back(), "abcdef.secret\n");
    EXPECT_THAT(
        transport.script(),
        AllOf(HasSubstr("$arguments = @('join', 'https://s:6443', '--token-file', '-', '--discovery-token-ca-cert-hash', 'sha256:aa', "
                        "'--node-name', 'win-1', '--taint', 'os=windows:NoSchedule', '--adapter=Ethernet ''2''; $x')\n"),
              HasSubstr("porthole.exe @arguments"), Not(HasSubstr("secret"))));
}

TEST_F(WindowsMachineTest, GetsTheZipAndSeesThatItArrivedWhole) {
    ASSERT_TRUE(run(machine->upload({.file = "/w.zip", .sha256 = "aa"})));
    EXPECT_EQ(transport.copied, "/w.zip to porthole-provision.zip");
    EXPECT_THAT(transport.script(), AllOf(HasSubstr("$hash = 'aa'"), HasSubstr("Get-FileHash"), HasSubstr("Expand-Archive")));
}

// `exit 1` of a script that is called would else pass for success.
TEST_F(WindowsMachineTest, AScriptOfTheZipThatFailsIsAFailureAndIsToldAsText) {
    for (auto step : {&Machine::stop, &Machine::roll_back, &Machine::remove}) {
        ASSERT_TRUE(run((*machine.*step)()));
        EXPECT_THAT(transport.script(), AllOf(HasSubstr("Invoke-Script C:\\k\\"), Not(HasSubstr("& C:\\k\\"))));
        EXPECT_THAT(transport.script(), AllOf(HasSubstr("throw \"$File ended with"), HasSubstr("[Console]::Error.WriteLine")));
    }
    ASSERT_TRUE(run(machine->place(false)));
    EXPECT_THAT(transport.script(), HasSubstr("Invoke-Script $new\\porthole\\scripts\\install.ps1"));
}

TEST_F(WindowsMachineTest, TheOldProgramsAreKeptWholeBeforeTheNewOnesCome) {
    ASSERT_TRUE(run(machine->place(true)));
    const std::string script = transport.script();
    const std::size_t copied = script.find("Copy-Item C:\\k\\cni\\*.exe C:\\k\\previous.part\\cni");
    const std::size_t named = script.find("Rename-Item C:\\k\\previous.part previous");
    EXPECT_LT(copied, named);
    EXPECT_LT(named, script.find("install.ps1"));
}

// Any user of a Windows machine may change what is in a new folder below C:\.
TEST_F(WindowsMachineTest, WhatIsRunAsAnAdministratorComesFromTheUsersOwnFolder) {
    ASSERT_TRUE(run(machine->upload({.file = "/w.zip", .sha256 = "aa"})));
    EXPECT_THAT(transport.script(), AllOf(HasSubstr("$new = Join-Path $HOME 'porthole-provision.new'"), Not(HasSubstr("C:\\k.new"))));
}

TEST_F(WindowsMachineTest, FlagsThatAreTooLongForItsShellAreRefusedBeforeTheyAreSent) {
    MachineDescription longer = description;
    longer.join_flags = {"--kubelet-args=" + std::string(4000, 'x')};
    const auto refused = run(make_machine(transport, longer)->join({.server = "https://s:6443", .token = "t", .ca_hash = "sha256:aa"}));
    EXPECT_EQ(refused.error().message, "porthole.exe join: joinFlags and taints are too long for cmd.exe");
    EXPECT_TRUE(transport.commands.empty());
}

TEST_F(WindowsMachineTest, EachStepOfAnUpgradeAndTheRemovalHasAScript) {
    ASSERT_TRUE(run(machine->stop()));
    EXPECT_THAT(transport.script(), HasSubstr("stop.ps1"));
    ASSERT_TRUE(run(machine->place(true)));
    EXPECT_THAT(transport.script(), AllOf(HasSubstr("$keep = 'yes'"), HasSubstr("install.ps1")));
    ASSERT_TRUE(run(machine->start()));
    EXPECT_THAT(transport.script(), HasSubstr("Start-Service"));
    ASSERT_TRUE(run(machine->roll_back()));
    EXPECT_THAT(transport.script(),
                AllOf(HasSubstr("stop.ps1"), HasSubstr("Copy-Item -Force C:\\k\\previous"), HasSubstr("Start-Service")));
    ASSERT_TRUE(run(machine->forget_previous()));
    ASSERT_TRUE(run(machine->remove()));
    EXPECT_THAT(transport.script(), HasSubstr("remove.ps1 -Programs"));
    transport.answer = {.exit_code = 1, .errors = "a service is missing"};
    EXPECT_EQ(run(machine->start()).error().message, "starting the services: a service is missing");
}

}  // namespace
}  // namespace porthole::provision
