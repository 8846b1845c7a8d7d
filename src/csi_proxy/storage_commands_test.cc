#include "csi_proxy/storage_commands.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::csi_proxy {
namespace {

/// PowerShell that answers what it is told to.
class FakePowerShell final : public ProcessRunner {
public:
    Task<CommandOutput> run(Command command) override {
        last = command;
        if (missing) co_return Error(Reason::NotFound, "no such program");
        most = std::max(most, ++now);
        if (slow_on) (void)co_await slow_on->sleep(std::chrono::minutes(1));
        --now;
        co_return answer;
    }
    Command last;
    CommandOutput answer;
    bool missing = false;
    EventLoop* slow_on = nullptr;
    std::size_t now = 0, most = 0;
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

// STO-29
TEST_F(StorageCommandsTest, VolumesGetTheFileSystemOfWindows) {
    EXPECT_TRUE(run(commands.format("\\\\?\\Volume{v}\\")));
    EXPECT_NE(script().find("Format-Volume -FileSystem NTFS"), std::string::npos) << script();
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

TEST_F(StorageCommandsTest, ReadsWhatTheHostUses) {
    shell.answer.output = R"({"Windows":0,"Paths":["D:\\","C:\\k\\x\\"]})";
    const HostUse use = run(commands.use_of("v")).value();
    EXPECT_FALSE(use.by_windows);
    EXPECT_EQ(use.paths, (std::vector<std::string>{"D:\\", "C:\\k\\x\\"}));
    shell.answer.output = R"({"Paths":[],"Windows":1})";
    EXPECT_TRUE(run(commands.use_of(DiskNumber{0})).value().by_windows);
    for (const char* unknown : {"{}", R"({"Windows":0})", R"({"Windows":0,"Paths":[null]})", R"({"Windows":null,"Paths":[]})", ""}) {
        shell.answer.output = unknown;
        EXPECT_FALSE(run(commands.use_of("v"))) << unknown;
    }
}

TEST_F(StorageCommandsTest, AMappingIsUsedAgainOnlyWhileItWorks) {
    EXPECT_TRUE(run(commands.map("\\\\s\\x", "u", "p")));
    const std::string text = script();
    const auto reuse = text.find("if($m.Status -eq 'OK' -and (Test-Path -LiteralPath $Env:csi_remote)){exit 0}");
    const auto remove = text.find("Remove-SmbGlobalMapping -RemotePath $Env:csi_remote -Force"), make = text.find("New-SmbGlobalMapping");
    EXPECT_LT(reuse, remove);
    EXPECT_LT(remove, make);
    EXPECT_NE(make, text.npos);
}

TEST_F(StorageCommandsTest, FewRunAtATimeAndFewWait) {
    shell.slow_on = &loop;
    std::vector<Task<>> tasks;
    constexpr std::size_t Taken = StorageCommands::MostRunning + StorageCommands::MostWaiting;
    for (std::size_t i = 0; i < Taken + 5; ++i) tasks.push_back(commands.rescan());
    const auto results = run(when_all(std::move(tasks))).value();
    EXPECT_EQ(shell.most, StorageCommands::MostRunning);
    EXPECT_EQ(std::ranges::count_if(results, [](const auto& one) { return one.has_value(); }), static_cast<std::ptrdiff_t>(Taken));
    EXPECT_EQ(results.back().error().reason, Reason::Unavailable);
    EXPECT_TRUE(run(commands.rescan())) << "there is room again";
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

TEST_F(StorageCommandsTest, TargetsAreReadAndSecretsAreNoPartOfAScript) {
    const Iscsi::Portal portal{"10.0.0.9", 3260};
    shell.answer.output = R"([{"TargetPortalAddress":"10.0.0.9","TargetPortalPortNumber":3260}])";
    EXPECT_EQ(run(commands.portals()).value().at(0).port, 3260U);
    shell.answer.output = R"(["iqn.a","iqn.b"])";
    EXPECT_EQ(run(commands.discover(portal)).value(), (std::vector<std::string>{"iqn.a", "iqn.b"}));
    shell.answer.output = "[2]";
    EXPECT_EQ(run(commands.disks_of(portal, "iqn.a")).value(), std::vector<DiskNumber>{2});
    EXPECT_EQ(shell.last.environment.at("csi_target"), "iqn.a");
    shell.answer.output = "";
    EXPECT_TRUE(run(commands.connect(portal, "iqn.a", {.chap = Iscsi::Chap::OneWay, .user = "u'", .secret = "s'", .multipath = true})));
    EXPECT_NE(script().find("ONEWAYCHAP"), std::string::npos);
    EXPECT_NE(script().find("-IsMultipathEnabled $true"), std::string::npos);
    EXPECT_EQ(script().find("s'"), std::string::npos);
    EXPECT_EQ(shell.last.environment.at("csi_password"), "s'");
    EXPECT_TRUE(run(commands.connect(portal, "iqn.a", {.user = "u", .secret = "s"})));
    EXPECT_FALSE(shell.last.environment.contains("csi_password")) << "without CHAP there is none";
    EXPECT_TRUE(run(commands.set_mutual_secret("mutual'")));
    EXPECT_EQ(script().find("mutual'"), std::string::npos);
    EXPECT_EQ(run(commands.portals()).error().reason, Reason::Io) << "no answer";
}

}  // namespace
}  // namespace porthole::csi_proxy
