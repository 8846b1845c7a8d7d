#include "csi_proxy/storage_commands.h"

#include <gtest/gtest.h>

#include "runtime/sim/sim_loop.h"

namespace porthole::csi_proxy {
namespace {

/// PowerShell that answers what it is told to.
class FakePowerShell final : public ProcessRunner {
public:
    Task<CommandOutput> run(Command command) override {
        last = command;
        if (missing) co_return Error(Reason::NotFound, "no such program");
        co_return answer;
    }
    Command last;
    CommandOutput answer;
    bool missing = false;
};

struct StorageCommandsTest : ::testing::Test {
    std::string script() const { return shell.last.arguments.back(); }
    template <class T>
    Result<T> run(Task<T> task) {
        return sim::run(loop, std::move(task));
    }
    sim::SimLoop loop;
    FakePowerShell shell;
    StorageCommands commands{shell, true};
};

TEST_F(StorageCommandsTest, ReadsDisks) {
    shell.answer.output =
        R"([{"Number":0,"Location":"Integrated : Adapter 0 : Port 0 : Target 0 : LUN 0","SerialNumber":" s1 ","UniqueId":"6002"},
                              {"Number":2,"Location":null,"SerialNumber":null,"UniqueId":"x"}])";
    const auto disks = run(static_cast<Disks&>(commands).list()).value();
    ASSERT_EQ(disks.size(), 2U);
    EXPECT_EQ(disks[0].serial_number, "s1");
    EXPECT_EQ(disks[1].number, 2U);
    EXPECT_EQ(disks[1].location, "");
}

TEST_F(StorageCommandsTest, NamesOfDriversAreNeverPartOfAScript) {
    const std::string bad = "'; Remove-Item C:\\ ;'";
    for (const auto& task : {run(commands.format(bad)), run(commands.mount(bad, bad)), run(commands.unmount(bad, bad)),
                             run(commands.flush(bad)), run(commands.resize(bad, 1)), run(commands.map(bad, bad, bad)),
                             run(commands.unmap(bad)), run(commands.start_service(bad)), run(commands.stop_service(bad, true))}) {
        EXPECT_TRUE(task.has_value());
        EXPECT_EQ(script().find("Remove-Item"), std::string::npos);
    }
    EXPECT_EQ(shell.last.environment.at("csi_service"), bad);
    EXPECT_TRUE(run(commands.mount(bad, bad)));
    for (const auto& [name, value] : shell.last.environment) EXPECT_TRUE(name.starts_with("csi_")) << "Windows' own, such as PATH, stay";
}

TEST_F(StorageCommandsTest, ReadsNumbersAndWords) {
    shell.answer.output = "1099511627776\r\n";
    EXPECT_EQ(run(commands.size(1)).value(), 1099511627776);
    EXPECT_EQ(shell.last.environment.at("csi_disk"), "1");
    shell.answer.output = "1\r\n";
    EXPECT_FALSE(run(commands.is_online(1)).value());
    shell.answer.output = "\\\\?\\Volume{a}\\\r\n\r\n\\\\?\\Volume{b}\\\r\n";
    EXPECT_EQ(run(static_cast<Volumes&>(commands).list(1, 0)).value(),
              (std::vector<std::string>{"\\\\?\\Volume{a}\\", "\\\\?\\Volume{b}\\"}));
    EXPECT_EQ(script().find("-PartitionNumber"), std::string::npos);
    shell.answer.output = "Unknown\r\n";
    EXPECT_FALSE(run(commands.is_formatted("v")).value());
    shell.answer.output = R"({"Size":100,"SizeRemaining":30})";
    EXPECT_EQ(run(commands.stats("v")).value().used, 70);
    shell.answer.output = R"({"DisplayName":"iSCSI","StartType":3,"Status":4})";
    EXPECT_EQ(run(commands.service("MSiSCSI")).value().status, api::csiproxy::v1alpha1::ServiceStatus::Running);
}

TEST_F(StorageCommandsTest, TellsWhyItFailed) {
    shell.answer = {.exit_code = 1, .errors = "Get-Disk : No MSFT_Disk objects found\r\n"};
    EXPECT_EQ(run(commands.partition(9)).error().message, "exit code 1: Get-Disk : No MSFT_Disk objects found");
    shell.answer = {.output = "what"};
    EXPECT_EQ(run(commands.size(9)).error().reason, Reason::Io);
    EXPECT_EQ(run(static_cast<Disks&>(commands).list()).error().reason, Reason::Io);
    shell.missing = true;
    EXPECT_EQ(run(commands.rescan()).error().message, "this host has no Windows PowerShell");
}

}  // namespace
}  // namespace porthole::csi_proxy
