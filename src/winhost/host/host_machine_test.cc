#include "winhost/host/host_machine.h"

#include <gtest/gtest.h>

#include "runtime/sim/sim_loop.h"
#include "winhost/images/test_folder.h"

namespace porthole::winhost {
namespace {

using namespace api::csiproxy::v1alpha1;

/// Wine's programs on a host with the service kubelet.
struct FakePrograms final : HostPrograms {
    Task<CommandOutput> run(HostCommand command) override {
        calls.push_back(command.command_line);
        if (!command.command_line.contains("kubelet")) co_return CommandOutput{.exit_code = 1, .output = "1060\r\n"};
        if (command.command_line.starts_with("sc.exe query"))
            co_return CommandOutput{.output =
                                        "\r\nSERVICE_NAME: kubelet\r\n        TYPE               : 10  WIN32_OWN_PROCESS \r\n"
                                        "        STATE              : " +
                                        state + "\r\n        WIN32_EXIT_CODE    : 0  (0x0)\r\n"};
        if (command.command_line.starts_with("reg.exe"))
            co_return CommandOutput{.output =
                                        "HKEY_LOCAL_MACHINE\\System\\CurrentControlSet\\Services\\kubelet\r\n"
                                        "    DisplayName    REG_SZ    The kubelet\r\n    Start    REG_DWORD    0x2\r\n"};
        co_return CommandOutput{.exit_code = code, .errors = code == 0 ? "" : "it does not want to\r\n"};
    }
    std::vector<std::string> calls;
    std::string state = "4  RUNNING";
    int code = 0;
};

struct HostMachineTest : testing::Test {
    sim::SimLoop loop;
    FakePrograms programs;
    HostMachine machine{programs, "windows-1-0123abcd"};
};

// EMU-10
TEST_F(HostMachineTest, TellsItsSerialNumberAndTheStateOfAService) {
    EXPECT_EQ(sim::run(loop, machine.serial_number()).value(), "windows-1-0123abcd");
    const auto service = sim::run(loop, machine.service("kubelet"));
    ASSERT_TRUE(service) << service.error().message;
    EXPECT_EQ(service->display_name, "The kubelet");
    EXPECT_EQ(service->start_type, StartType::Automatic);
    EXPECT_EQ(service->status, ServiceStatus::Running);
    EXPECT_EQ(sim::run(loop, machine.service("msiscsi")).error().message, "this host has no service msiscsi");
}

TEST_F(HostMachineTest, OpenIscsiOfTheMachineIsTheServiceOfTheInitiator) {
    TestFolder folder;
    folder.write("sbin/iscsiadm", "");
    sim::SimWorkerPool pool(loop);
    const auto runner = make_process_runner(pool);
    const auto files = make_file_system();
    const IscsiInitiator iscsi(
        {.programs = *runner, .files = *files, .host = "windows-1-0123abcd", .name = "windows-1", .machine = folder.path()});
    HostMachine able(programs, "windows-1-0123abcd", &iscsi);
    EXPECT_EQ(sim::run(loop, able.service("MSiSCSI")).value().status, ServiceStatus::Running);
    EXPECT_TRUE(sim::run(loop, able.start_service("msiscsi")));
    EXPECT_EQ(sim::run(loop, able.stop_service("msiscsi", false)).error().reason, Reason::MethodNotAllowed);
    EXPECT_TRUE(programs.calls.empty());
}

TEST_F(HostMachineTest, StartsAndStopsAService) {
    EXPECT_TRUE(sim::run(loop, machine.start_service("kubelet"))) << "it runs";
    EXPECT_TRUE(sim::run(loop, machine.stop_service("kubelet", false)));
    programs.state = "1  STOPPED";
    EXPECT_TRUE(sim::run(loop, machine.stop_service("kubelet", false))) << "again";
    programs.code = 1;
    EXPECT_EQ(sim::run(loop, machine.start_service("kubelet")).error().message, "starting the service kubelet: it does not want to");
    EXPECT_EQ(programs.calls,
              (std::vector<std::string>{"sc.exe query \"kubelet\"", "sc.exe query \"kubelet\"", "sc.exe stop \"kubelet\"",
                                        "sc.exe query \"kubelet\"", "sc.exe query \"kubelet\"", "sc.exe start \"kubelet\""}));
    EXPECT_EQ(sim::run(loop, machine.start_service("msiscsi")).error().reason, Reason::NotFound);
    programs.state = "strange";
    EXPECT_EQ(sim::run(loop, machine.service("kubelet")).error().reason, Reason::Io);
}

}  // namespace
}  // namespace porthole::winhost
