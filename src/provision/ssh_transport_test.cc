#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "provision/transport.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::provision {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

struct Programs final : ProcessRunner {
    Task<CommandOutput> run(Command command) override {
        commands.push_back(std::move(command));
        co_return answer;
    }
    std::vector<Command> commands;
    Result<CommandOutput> answer = CommandOutput{};
};

struct SshTransportTest : testing::Test {
    std::string error(int exit_code, const std::string& errors) {
        programs.answer = CommandOutput{.exit_code = exit_code, .errors = errors};
        const auto done = sim::run(loop, transport->run(target, "true", "", 1min));
        return done ? "" : done.error().message;
    }
    sim::SimLoop loop;
    Programs programs;
    std::unique_ptr<Transport> transport = make_ssh_transport(programs);
    const SshTarget target{.address = "192.0.2.1", .port = 2222, .user = "root", .identity_file = "/k", .known_hosts = "/my hosts"};
};

// SEC-16
TEST_F(SshTransportTest, NeverAsksNorTrustsAKeyThatIsNotKnown) {
    ASSERT_TRUE(sim::run(loop, transport->run(target, "the command", "the input", 1min)));
    ASSERT_TRUE(sim::run(loop, transport->copy(target, "/a", "/tmp/b")));
    ASSERT_EQ(programs.commands.size(), 2U);
    for (const Command& command : programs.commands) {
        EXPECT_THAT(command.arguments, AllOf(Contains("BatchMode=yes"), Contains("StrictHostKeyChecking=yes"), Contains("ForwardAgent=no"),
                                             Contains("UserKnownHostsFile=\"/my hosts\""), Contains("GlobalKnownHostsFile=none"),
                                             Contains("IdentitiesOnly=yes")));
    }
    const auto& words = programs.commands[0].arguments;
    EXPECT_EQ(words.front(), "ssh");
    EXPECT_THAT((std::vector(words.end() - 7, words.end())),
                testing::ElementsAre("-p", "2222", "-l", "root", "--", "192.0.2.1", "the command"));
    EXPECT_EQ(programs.commands[0].input, "the input");
    EXPECT_EQ(programs.commands[1].arguments.back(), "root@192.0.2.1:/tmp/b");
}

// SEC-16: what the user's configuration could add. The first value that ssh gets for an option counts, so these stand before it.
TEST_F(SshTransportTest, TheUsersConfigurationCannotWeakenHowAKeyIsCheckedNorTakeTheInputAway) {
    ASSERT_TRUE(sim::run(loop, transport->run(target, "true", "", 1min)));
    ASSERT_TRUE(sim::run(loop, transport->copy(target, "/a", "/tmp/b")));
    for (const Command& command : programs.commands) {
        for (const char* option :
             {"VerifyHostKeyDNS=no", "NoHostAuthenticationForLocalhost=no", "KnownHostsCommand=none", "GSSAPIDelegateCredentials=no",
              "Tunnel=no", "ControlMaster=no", "ControlPath=none", "RemoteCommand=none", "StdinNull=no", "ForkAfterAuthentication=no"}) {
            EXPECT_THAT(command.arguments, Contains(option));
        }
    }
}

TEST_F(SshTransportTest, WhatAMachineSaysBecomesOneLineWithoutControlCharacters) {
    const std::string line = error(255,
                                   "x\x1b]0;title\x07 y\xc2\x9b"
                                   "2J" +
                                       std::string(100'000, 'z') + "\n");
    EXPECT_THAT(line, testing::Not(testing::AnyOf(HasSubstr("\x1b"), HasSubstr("\xc2\x9b"))));
    EXPECT_LT(line.size(), 1100U);
}

TEST_F(SshTransportTest, ACopyThatTheMachineRefusesIsNotAMachineThatIsAway) {
    programs.answer = CommandOutput{.exit_code = 1, .errors = "scp: write remote \"/tmp/b\": Failure\n"};
    const auto refused = sim::run(loop, transport->copy(target, "/a", "/tmp/b"));
    EXPECT_EQ(refused.error().reason, Reason::Io);
    EXPECT_EQ(refused.error().message, "copying to root@192.0.2.1 port 2222: scp: write remote \"/tmp/b\": Failure");
    programs.answer = CommandOutput{.exit_code = 255, .errors = "ssh: connect to host 192.0.2.1 port 2222: No route to host\n"};
    EXPECT_EQ(sim::run(loop, transport->copy(target, "/a", "/tmp/b")).error().reason, Reason::Unavailable);
}

TEST_F(SshTransportTest, AddressesOfVersion6AreNotTakenForAPath) {
    SshTarget other = target;
    other.address = "2001:db8::1";
    ASSERT_TRUE(sim::run(loop, transport->copy(other, "/a", "b")));
    EXPECT_EQ(programs.commands[0].arguments.back(), "root@[2001:db8::1]:b");
}

TEST_F(SshTransportTest, SaysInOneLineWhyAMachineIsNotReachedAndWhatHelps) {
    const struct {
        const char *said, *line;
    } rows[] = {
        {"@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n",
         "differs from the one in /my hosts"},
        {"No ED25519 host key is known for 192.0.2.1 and you have requested strict checking.\nHost key verification failed.\n",
         "is not in /my hosts; compare `ssh-keyscan -p 2222 192.0.2.1"},
        {"root@192.0.2.1: Permission denied (publickey).\n", "root@192.0.2.1 port 2222 refuses the key"},
        {"ssh: connect to host 192.0.2.1 port 2222: Connection refused\n",
         "cannot be reached: ssh: connect to host 192.0.2.1 port 2222: Connection refused"},
    };
    for (const auto& row : rows) {
        const std::string line = error(255, row.said);
        EXPECT_THAT(line, HasSubstr(row.line));
        EXPECT_EQ(line.find('\n'), line.npos);
    }
    EXPECT_EQ(error(3, "the command's own failure"), "") << "which is an answer";
    programs.answer = Error(Reason::NotFound, "no such program");
    EXPECT_THAT(sim::run(loop, transport->copy(target, "/a", "b")).error().message, HasSubstr("apt-get install openssh-client"));
}

}  // namespace
}  // namespace porthole::provision
