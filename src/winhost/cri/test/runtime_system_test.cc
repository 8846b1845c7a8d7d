// The whole runtime on real Wine, runc and network namespaces, as a kubelet uses it: through CRI's socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "net/socket.h"
#include "winhost/cri/test/runtime_lab.h"
#include "winhost/hives/test_hive.h"

namespace porthole::winhost {
namespace {

namespace cri = api::cri::v1;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class RuntimeSystem : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string why = RuntimeLab::missing(); !why.empty()) GTEST_SKIP() << why;
        static RuntimeLab shared;
        lab_ = &shared;
    }
    RuntimeLab& lab() { return *lab_; }

    void remove(const std::string& sandbox) {
        EXPECT_TRUE(lab().run(lab().cri().stop_pod_sandbox({.pod_sandbox_id = sandbox})));
        EXPECT_TRUE(lab().run(lab().cri().remove_pod_sandbox({.pod_sandbox_id = sandbox})));
        EXPECT_EQ(lab().leftovers(), "");
    }
    /// Runs probe.exe to its end in a pod of its own.
    cri::ContainerStatus run_probe(const cri::ContainerConfig& config) {
        const std::string sandbox = lab().make_sandbox("probe");
        const std::string id = lab().make_container(sandbox, config);
        EXPECT_EQ(lab().start_container(id), "");
        const auto ended = lab().wait_for_end(id);
        remove(sandbox);
        return ended;
    }
    cri::ExecSyncResponse exec(const std::string& id, std::vector<std::string> command) {
        cri::ExecSyncRequest request;
        request.container_id = id;
        request.cmd = std::move(command);
        request.timeout = 120;
        const auto answer = lab().run(lab().cri().exec_sync(request));
        EXPECT_TRUE(answer) << answer.error().message;
        return answer ? *answer : cri::ExecSyncResponse();
    }
    std::string fetch(const std::string& address) {
        const auto page = [](AsioLoop& loop, std::string host) -> Task<std::string> {
            CO_TRY(const auto stream, co_await net::connect_socket(loop, net::Endpoint{.host = host, .port = 80}));
            CO_TRY_VOID(co_await stream->write("GET / HTTP/1.0\r\nHost: x\r\n\r\n"));
            std::string text;
            std::array<char, 4096> buffer;
            for (;;) {
                CO_TRY(const std::size_t count, co_await stream->read(buffer));
                if (count == 0) co_return text;
                text.append(buffer.data(), count);
            }
        };
        for (int round = 0; round < 1000; ++round) {
            const auto answer = lab().run(page(lab().loop, address));
            if (answer) return *answer;
            (void)lab().run(lab().loop.sleep(std::chrono::milliseconds(50)));
        }
        return "";
    }

private:
    RuntimeLab* lab_ = nullptr;
};

// EMU-03, RUN-05, RUN-06, PAU-01
TEST_F(RuntimeSystem, AWebServersLifeFromStartToStop) {
    const std::string sandbox = lab().make_sandbox("web");
    cri::ContainerConfig config = lab().probe("web", {});
    config.image->image = "lab/web:1";
    const std::string id = lab().make_container(sandbox, config);
    ASSERT_EQ(lab().start_container(id), "");
    EXPECT_THAT(fetch(lab().address(sandbox)), HasSubstr("Windows Container Web Server"));
    const auto listed = exec(id, {"cmd", "/c", "echo inside&exit 77777"});
    EXPECT_THAT(listed.stdout, HasSubstr("inside"));
    EXPECT_EQ(listed.exit_code, 77777);
    ASSERT_TRUE(lab().run(lab().cri().stop_container({.container_id = id, .timeout = 120})));
    const auto ended = lab().status(id);
    EXPECT_EQ(ended.exit_code, 0) << "the control event lets it end by itself";
    EXPECT_EQ(ended.reason, "Completed");
    EXPECT_THAT(lab().log("web"), HasSubstr("stdout F control event 6"));
    remove(sandbox);
}

TEST_F(RuntimeSystem, ExitCodesHaveThirtyTwoBits) {
    EXPECT_EQ(run_probe(lab().probe("code", {"exit", "0xC000013A"})).exit_code, static_cast<std::int32_t>(0xC000013A));
    EXPECT_EQ(run_probe(lab().probe("code", {"exit", "300"})).exit_code, 300);
}

TEST_F(RuntimeSystem, ArgumentsDirectoryAndEnvironmentArriveAsTheyWereGiven) {
    cri::ContainerConfig config = lab().probe("print", {"print", "two words", "a\"b", "back\\slash\\", ""});
    config.working_dir = "/site";
    config.envs.push_back({.key = "GREETING", .value = "gr\xc3\xbc\xc3\x9f dich"});
    config.mounts.push_back({.container_path = "C:\\site", .host_path = "C:\\data"});
    ASSERT_TRUE(std::filesystem::create_directories(lab().host_drive() + "/data"));
    EXPECT_EQ(run_probe(config).exit_code, 0);
    EXPECT_THAT(lab().log("print"),
                HasSubstr("stdout F <two words>\nstdout F <a\"b>\nstdout F <back\\slash\\>\nstdout F <>\nstdout F C:\\site\n"
                          "stdout F gr\xc3\xbc\xc3\x9f dich\n"));
}

// A busy machine can keep the runtime from running until the program has come to its end.
TEST_F(RuntimeSystem, AProgramThatHasEndedBeforeTheRuntimeListensHasEndedAsItDid) {
    const std::string sandbox = lab().make_sandbox("quick");
    const std::string ends = lab().make_container(sandbox, lab().probe("ends", {"exit", "7"}));
    EXPECT_EQ(lab().start_container_late(ends), "");
    EXPECT_EQ(lab().wait_for_end(ends).exit_code, 7);
    cri::ContainerConfig config = lab().probe("missing", {});
    config.command = {"C:\\app\\nothing.exe"};
    const std::string fails = lab().make_container(sandbox, config);
    EXPECT_THAT(lab().start_container_late(fails), HasSubstr("The system cannot find the file specified. (0x2)"));
    EXPECT_EQ(lab().status(fails).reason, "StartError");
    remove(sandbox);
}

TEST_F(RuntimeSystem, AProgramEndsWhateverTheProcessesDoThatItLeavesBehind) {
    const std::string sandbox = lab().make_sandbox("parent");
    const std::string id = lab().make_container(sandbox, lab().probe("parent", {"wait"}));
    ASSERT_EQ(lab().start_container(id), "");
    EXPECT_THAT(exec(id, {"cmd", "/c", "start /b probe.exe wait & echo said"}).stdout, HasSubstr("said"));
    // Four of them keep the pipe full.
    std::string command;
    for (int child = 0; child < 4; ++child) command += "start /b probe.exe flood & ";
    EXPECT_EQ(exec(id, {"cmd", "/c", command + "exit 3"}).exit_code, 3);
    remove(sandbox);
}

TEST_F(RuntimeSystem, AProgramThatIsNotThereFailsWithWindowsWords) {
    const std::string sandbox = lab().make_sandbox("missing");
    cri::ContainerConfig config = lab().probe("missing", {});
    config.command = {"C:\\app\\nothing.exe"};
    const std::string id = lab().make_container(sandbox, config);
    EXPECT_THAT(lab().start_container(id), HasSubstr("The system cannot find the file specified. (0x2)"));
    EXPECT_EQ(lab().status(id).state, cri::ContainerState::ContainerExited);
    EXPECT_EQ(lab().status(id).reason, "StartError");
    remove(sandbox);
}

TEST_F(RuntimeSystem, PowerShellFailsAndSaysSo) {
    const std::string sandbox = lab().make_sandbox("shell");
    const std::string id = lab().make_container(sandbox, lab().probe("shell", {"wait"}));
    ASSERT_EQ(lab().start_container(id), "");
    const auto answer = exec(id, {"powershell", "-Command", "exit 0"});
    EXPECT_NE(answer.exit_code, 0);
    EXPECT_THAT(answer.stderr, HasSubstr("not available on an emulated Windows host"));
    remove(sandbox);
}

TEST_F(RuntimeSystem, AdaptersAreThoseThatAreThere) {
    const std::string sandbox = lab().make_sandbox("adapters");
    const std::string id = lab().make_container(sandbox, lab().probe("adapters", {"wait"}));
    ASSERT_EQ(lab().start_container(id), "");
    const auto change = [this](const char* command) { ASSERT_TRUE(lab().run(lab().network().run_inside(command))); };
    const auto listed = [&] {
        std::vector<std::string> names;
        std::istringstream lines(exec(id, {"ipconfig"}).stdout);
        for (std::string line; std::getline(lines, line);)
            if (const std::size_t start = line.find("adapter "); start != line.npos)
                names.push_back(line.substr(start + 8, line.find(':') - start - 8));
        return names;
    };
    change("ip link add eth1 type veth peer name hnsep1 && ip link set hnsep1 up && ip link set eth1 up");  // of the emulated host network
                                                                                                            // service
    EXPECT_THAT(listed(), UnorderedElementsAre("eth0", "eth1"));
    change("ip link del eth1");
    EXPECT_THAT(listed(), ElementsAre("eth0"));
    change("ip link add eth1 type veth peer name eth2 && ip addr add 10.9.0.7/24 dev eth1");
    EXPECT_THAT(listed(), UnorderedElementsAre("eth0", "eth1", "eth2"));
    EXPECT_THAT(exec(id, {"ipconfig"}).stdout, HasSubstr("10.9.0.7")) << "of an adapter with the name of an earlier one";
    change("ip link del eth0");
    EXPECT_THAT(listed(), UnorderedElementsAre("eth1", "eth2"));
    remove(sandbox);
}

TEST_F(RuntimeSystem, FunctionsThatWineLacksAnswerAsOnWindows) {
    cri::ContainerConfig config = lab().probe("supplement", {});
    config.command = {"C:\\app\\supplement.exe"};
    EXPECT_EQ(run_probe(config).exit_code, 0);
    const std::string log = lab().log("supplement");
    for (const char* line : {
             R"(texts; 00000000 "-20348"; 00000000 "True"; 00000000 ""; 00000000 "Microsoft"; 8007007a "Microsof")",
             "flush 0: 00000000",
             "flush 1: 00000000",
             "flush 2: 00000000",
             "flush 3: c000000d",
             "flush 4: 00000000",
             "flush with parameters: c000000d",
             "flush without access: c0000022",
             "file: 10 bytes, format 0, reserved 0",
             "folder: 0 bytes, format 0, reserved 0",
             "no file: error 6",
             "short: error 24",
             "size: 10",
             "holes: not on disk",
             "fast loopback: 0, of a datagram socket 10045",
             "anycast: 87 87 1168 0000000000000000",
             "groups: 0 error 122, 1 wanted; 1, 1, 0; 0 error 6",
             "memory: 16384 of 16384 parts, below the top: 1",
             "engine of 88: 1 1; 0 error 80070057; of 64: 1",
         })
        EXPECT_THAT(log, HasSubstr("stdout F " + std::string(line) + "\n"));
}

// SEC-04, POD-32
TEST_F(RuntimeSystem, SEC04_TheTokenIsTheUsersWhoIsAnAdministratorOrNot) {
    const auto log_of = [&](const std::string& user) {
        cri::ContainerConfig config = lab().probe("user-" + user, {});
        config.command = {"C:\\app\\users.exe"};
        config.windows.emplace().security_context.emplace().run_as_username = user;
        EXPECT_EQ(run_probe(config).exit_code, 0);
        return lab().log("user-" + user);
    };
    EXPECT_EQ(log_of("ContainerUser"),
              "stdout F user: ContainerUser, %USERNAME% ContainerUser, profile C:\\users\\ContainerUser\n"
              "stdout F administrators: 0, users: 1, IsUserAnAdmin: 0, elevated: 0\n"
              "stdout F privileges: SeChangeNotifyPrivilege\n");
    EXPECT_EQ(log_of("ContainerAdministrator"),
              "stdout F user: ContainerAdministrator, %USERNAME% ContainerAdministrator, profile C:\\users\\ContainerAdministrator\n"
              "stdout F administrators: 1, users: 1, IsUserAnAdmin: 1, elevated: 1\n"
              "stdout F privileges: many\n");
}

TEST_F(RuntimeSystem, WhoamiShowsTheUserItsGroupsAndItsPrivileges) {
    const std::string sandbox = lab().make_sandbox("whoami");
    cri::ContainerConfig config = lab().probe("whoami", {"wait"});
    config.windows.emplace().security_context.emplace().run_as_username = "ContainerUser";
    const std::string id = lab().make_container(sandbox, config);
    ASSERT_EQ(lab().start_container(id), "");
    EXPECT_EQ(exec(id, {"whoami"}).stdout, "whoami\\containeruser\r\n");
    EXPECT_EQ(exec(id, {"whoami", "/priv", "/fo", "csv", "/nh"}).stdout, "\"SeChangeNotifyPrivilege\",\"\",\"Enabled\"\r\n");
    EXPECT_THAT(exec(id, {"whoami", "/groups", "/fo", "csv"}).stdout,
                AllOf(HasSubstr("\"Group Name\",\"Type\",\"SID\",\"Attributes\""),
                      HasSubstr("\"BUILTIN\\Administrators\",\"Alias\",\"S-1-5-32-544\",\"Mandatory group, Group owner, "
                                "Group used for deny only\"")));
    EXPECT_THAT(exec(id, {"whoami", "/all"}).stdout,
                AllOf(HasSubstr("USER INFORMATION"), HasSubstr("GROUP INFORMATION"), HasSubstr("PRIVILEGES INFORMATION")));
    const auto refused = exec(id, {"whoami", "/upn"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.stderr, HasSubstr("an emulated Windows host has /user, /groups, /priv and /all"));
    remove(sandbox);
}

// KBL-20, KBL-21
TEST_F(RuntimeSystem, KBL21_AProgramsJobHasTheLimitsOfItsContainer) {
    cri::ContainerConfig config = lab().probe("jobs", {});
    config.command = {"C:\\app\\jobs.exe"};
    EXPECT_EQ(run_probe(config).exit_code, 0);
    EXPECT_THAT(lab().log("jobs"), HasSubstr("stdout F own: 1, memory unlimited 0; 1, processors unlimited 0\n"));
    config.windows.emplace().resources = cri::WindowsContainerResources{.cpu_maximum = 2500, .memory_limit_in_bytes = 256 << 20};
    EXPECT_EQ(run_probe(config).exit_code, 0);
    const std::string log = lab().log("jobs");
    for (const char* line : {
             "in a job: 1",
             "own: 1, memory limited to 268435456; 1, processors limited to 2500",
             "other: 1, memory unlimited 0; 1, processors unlimited 0",
             "groups: 0 error 122, 16 bytes; 1, 16 bytes, group 0, processors 1; 1, 2 bytes, group 0",
             "refused: 0 error 24; 0 error 6; 0 error 87",
             "child: inside 1, message 6 of it, active 1; ended with its job: 1",
         })
        EXPECT_THAT(log, HasSubstr("stdout F " + std::string(line) + "\n"));
}

// Wine boots on one of them.
TEST_F(RuntimeSystem, AContainerHasAllProcessorsOnceItsProgramRuns) {
    const std::string sandbox = lab().make_sandbox("processors");
    const std::string id = lab().make_container(sandbox, lab().probe("processors", {"processors"}));
    ASSERT_EQ(lab().start_container(id), "");
    lab().wait_for_log("processors", "waiting");
    EXPECT_THAT(lab().log("processors"), HasSubstr("stdout F processors of the process: all\nstdout F of its thread: all\n"));
    EXPECT_EQ(lab().processes_on_few_processors(id), "");
    EXPECT_THAT(exec(id, {"cmd", "/c", "echo %NUMBER_OF_PROCESSORS%"}).stdout,
                HasSubstr(std::to_string(std::thread::hardware_concurrency())));
    remove(sandbox);
}

TEST_F(RuntimeSystem, AJobsLimitsChangeWithTheContainers) {
    const std::string sandbox = lab().make_sandbox("resized");
    cri::ContainerConfig config = lab().probe("resized", {"wait"});
    config.windows.emplace().resources = cri::WindowsContainerResources{.cpu_maximum = 5000, .memory_limit_in_bytes = 256 << 20};
    const std::string id = lab().make_container(sandbox, config);
    ASSERT_EQ(lab().start_container(id), "");
    EXPECT_THAT(exec(id, {"jobs.exe"}).stdout, HasSubstr("own: 1, memory limited to 268435456; 1, processors limited to 5000"));
    cri::UpdateContainerResourcesRequest update{.container_id = id};
    update.windows = cri::WindowsContainerResources{.cpu_maximum = 2500, .memory_limit_in_bytes = 512 << 20};
    ASSERT_TRUE(lab().run(lab().cri().update_container_resources(update)));
    EXPECT_THAT(exec(id, {"jobs.exe"}).stdout, HasSubstr("own: 1, memory limited to 536870912; 1, processors limited to 2500"));
    remove(sandbox);
}

TEST_F(RuntimeSystem, EventsAreInTheContainersLog) {
    cri::ContainerConfig config = lab().probe("events", {});
    config.command = {"C:\\app\\events.exe"};
    EXPECT_EQ(run_probe(config).exit_code, 0);
    const std::string log = lab().log("events");
    for (const char* line : {
             "stderr F event, error 7 of shop: two  lines and more",
             "stderr F event, warning 1000 of other: gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80",
             "stderr F event, information 0 of other",
             "stdout F reported: 1 1 1 1, closed: 1 1, after that: 0 error 6, of nothing: 0 error 6",
             "stdout F log: 0 records, read 0 error 38, query 0 error 1722, subscribe 0 error 1722",
         })
        EXPECT_THAT(log, HasSubstr(std::string(line) + "\n"));
    EXPECT_THAT(log, HasSubstr("stderr F event, information 1 of shop: " + std::string(1000, 'x'))) << "a long one, cut";
}

TEST_F(RuntimeSystem, ServicesEndTheirWorkBeforeTheirContainerIsGone) {
    const std::string sandbox = lab().make_sandbox("serving");
    const std::string id = lab().make_container(sandbox, lab().probe("serving", {"wait"}));
    ASSERT_EQ(lab().start_container(id), "");
    EXPECT_EQ(exec(id, {"sc", "create", "helper", "binPath=", "C:\\app\\service.exe"}).exit_code, 0);
    EXPECT_EQ(exec(id, {"sc", "start", "helper"}).exit_code, 0);
    lab().wait_for_log("serving", "event, information 1 of helper: the service has started");
    EXPECT_EQ(exec(id, {"probe.exe", "exit", "3"}).exit_code, 3);
    EXPECT_THAT(exec(id, {"sc", "query", "helper"}).stdout, HasSubstr("RUNNING")) << "the end of another program is not the container's";
    ASSERT_TRUE(lab().run(lab().cri().stop_container({.container_id = id, .timeout = 120})));
    EXPECT_EQ(lab().status(id).exit_code, 5);
    EXPECT_THAT(lab().log("serving"), HasSubstr("event, information 2 of helper: the service has ended its work"));
    remove(sandbox);
}

/// The calls of libuv, .NET and Go.
TEST_F(RuntimeSystem, StandardStreamsAndNamedPipesAnswerAsOnWindows) {
    cri::ContainerConfig config = lab().probe("streams", {});
    config.command = {"C:\\app\\streams.exe"};
    config.stdin = true;
    EXPECT_EQ(run_probe(config).exit_code, 0);
    const std::string log = lab().log("streams");
    for (const char* line : {
             "input: type 3, bytes 1, buffer 1, state 0, synchronous 1, connected 1, console 0",
             "output: type 3, bytes 1, buffer 1, state 0, synchronous 1, connected 1, console 0",
             "errors: type 3, bytes 1, buffer 1, state 0, synchronous 1, connected 1, console 0",
             "first: 1, second: 0 error 5, without the flag: 1, when they are closed: 1",
             "overlapped: connect 997 0, read 997 0 0, 0 bytes, read 0, cancel 997 0 995 1168",
             "port: 1, 4 bytes, key 7, of the read 1, modes 0",
             "closed: read 109, write 232, peek 109, disconnect 0, read 233",
             "messages: choose messages 0, state 2, read 234 3 bytes, waiting 7, of the message 1, read 0 2 bytes",
             "bytes: choose messages 87, state 0, read 0 3 bytes, waiting 7, read 0 7 bytes",
             "peers: client 1, server 1, impersonate 0, user 0",
         })
        EXPECT_THAT(log, HasSubstr("stdout F " + std::string(line) + "\n"));
}

TEST_F(RuntimeSystem, AConsoleAnswersAsOnWindows) {
    cri::ContainerConfig config = lab().probe("console", {});
    config.command = {"C:\\app\\console.exe"};
    config.tty = config.stdin = true;
    EXPECT_EQ(run_probe(config).exit_code, 0);
    const std::string log = lab().log("console");
    for (const char* text : {"types: 2 2", "modes: 0 0, lines 1, processed 1", "sequences: 0 4", "buffer: 0, 80 columns",
                             "code page: 0 65001", "devices: 1 1", "gr\xc3\xbc\xc3\x9f", "written: 6",
                             "nothing typed: wait 258, a key: wait 0, peek 0 1, read 0 k", "raw: 0 1 of fc", "line: 0 6 bytes"})
        EXPECT_THAT(log, HasSubstr(text));
}

TEST_F(RuntimeSystem, AllocationsFailAtTheLimitInsteadOfAKill) {
    cri::ContainerConfig config = lab().probe("hungry", {"allocate"});
    config.windows.emplace();
    config.windows->resources = cri::WindowsContainerResources{.memory_limit_in_bytes = 128 << 20};
    const auto ended = run_probe(config);
    EXPECT_EQ(ended.exit_code, 55) << "reason " << ended.reason;
    const std::string log = lab().log("hungry");
    const int megabytes = std::atoi(log.c_str() + std::string("stdout F ").size());
    EXPECT_GE(megabytes, 100) << log;
    EXPECT_LE(megabytes, 144) << log;
}

TEST_F(RuntimeSystem, AProgramThatLinuxKillsAndOneWithoutWinesServerHaveNotCompleted) {
    for (const std::string victim : {"probe.exe", "wineserver64"}) {
        const std::string name = "killed-" + victim.substr(0, 5), sandbox = lab().make_sandbox(name);
        const std::string id = lab().make_container(sandbox, lab().probe(name, {"wait"}));
        ASSERT_EQ(lab().start_container(id), "");
        lab().wait_for_log(name, "waiting");
        lab().kill_process(id, victim);
        const auto ended = lab().wait_for_end(id);
        EXPECT_EQ(ended.exit_code, 137) << victim;
        EXPECT_EQ(ended.reason, "Error") << victim;
        remove(sandbox);
    }
}

TEST_F(RuntimeSystem, AStormOfProcessesEndsAtItsContainersLimitAndTheNextContainerDoesNotFeelIt) {
    const std::string sandbox = lab().make_sandbox("stormy");
    const std::string calm = lab().make_container(sandbox, lab().probe("calm", {"wait"}));
    const std::string storm = lab().make_container(sandbox, lab().probe("storm", {"storm"}));
    ASSERT_EQ(lab().start_container(calm), "");
    ASSERT_EQ(lab().start_container(storm), "");
    EXPECT_EQ(lab().wait_for_end(storm).exit_code, 56) << lab().log("storm");
    EXPECT_THAT(lab().log("storm"), HasSubstr(" children, error "));
    EXPECT_EQ(lab().status(calm).state, cri::ContainerState::ContainerRunning);
    EXPECT_EQ(exec(calm, {"probe.exe", "exit", "7"}).exit_code, 7);
    remove(sandbox);
}

// SEC-11
TEST_F(RuntimeSystem, SEC11_AHostProcessContainerIsOnTheHostsNetwork) {
    cri::PodSandboxConfig pod;
    pod.metadata = cri::PodSandboxMetadata{.name = "host", .uid = "uid-host", .namespace_ = "lab"};
    pod.log_directory = "C:\\var\\log\\pods\\host";
    pod.windows.emplace().security_context.emplace().host_process = true;
    lab().network().fail(true);  // it needs none
    const auto made = lab().run(lab().cri().run_pod_sandbox({.config = pod}));
    lab().network().fail(false);
    ASSERT_TRUE(made) << made.error().message;
    cri::ContainerConfig config = lab().probe("inside", {"wait"});
    cri::CreateContainerRequest ordinary{.pod_sandbox_id = made->pod_sandbox_id, .config = config};
    EXPECT_THAT(lab().run(lab().cri().create_container(ordinary)).error().message,
                HasSubstr("cannot mix HostProcess containers with other containers"));
    config.windows.emplace().security_context.emplace().host_process = true;
    const std::string id = lab().make_container(made->pod_sandbox_id, config);
    ASSERT_EQ(lab().start_container(id), "");
    const auto told = exec(id, {"cmd", "/c", "ipconfig & hostname & echo %CONTAINER_SANDBOX_MOUNT_POINT%"});
    EXPECT_THAT(told.stdout, HasSubstr("10.9.0.1")) << "the lab's own address";
    EXPECT_THAT(told.stdout, HasSubstr("LAB-" + std::to_string(::getpid())));
    EXPECT_THAT(told.stdout, HasSubstr("C:"));
    remove(made->pod_sandbox_id);
}

TEST_F(RuntimeSystem, ASandboxWithoutNetworkIsNeverThere) {
    lab().network().fail(true);
    const auto made = lab().try_sandbox("lost");
    lab().network().fail(false);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr("no network today"));
    EXPECT_TRUE(lab().run(lab().cri().list_pod_sandbox({}))->items.empty());
    EXPECT_EQ(lab().leftovers(), "");
}

// PAU-05
TEST_F(RuntimeSystem, PAU05_ItsStatusSaysOfWhichImageItMakesSandboxes) {
    lab().stop();
    lab().sandbox_image = "lab/probe:1";
    lab().start();
    const auto status = lab().run(lab().cri().status({.verbose = true}));
    ASSERT_TRUE(status);
    EXPECT_EQ(status->info.at("config"), R"({"sandboxImage":"lab/probe:1"})");
    EXPECT_TRUE(lab().run(lab().cri().status({}))->info.empty());
}

// PAU-07
TEST_F(RuntimeSystem, PAU07_ASandboxImageForAnotherBuildIsNamedAsTheCause) {
    lab().registry.add_manifest("pause",
                                R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[)"
                                R"({"mediaType":"application/vnd.oci.image.manifest.v1+json","size":2,"digest":"sha256:)" +
                                    std::string(64, 'a') +
                                    R"(","platform":{"architecture":"amd64","os":"windows","os.version":"10.0.17763.1"}}]})",
                                "old");
    const auto refused = [&](const std::string& image) {
        lab().stop();
        lab().sandbox_image = image;
        lab().start();
        const auto made = lab().try_sandbox("pause");
        EXPECT_FALSE(made);
        return made ? std::string() : made.error().message;
    };
    EXPECT_THAT(refused("registry.test:5000/pause:old"),
                AllOf(HasSubstr("failed to get sandbox image \"registry.test:5000/pause:old\" for Windows 10.0.20348"),
                      HasSubstr("this host is windows/amd64 10.0.20348"), HasSubstr("offered: windows/amd64 10.0.17763.1")));
    EXPECT_THAT(refused("registry.test:5000/pause:none"), HasSubstr("failed to get sandbox image \"registry.test:5000/pause:none\""));
    lab().stop();
    lab().sandbox_image = "lab/probe:1";
    lab().start();
    remove(lab().make_sandbox("pause"));
}

TEST_F(RuntimeSystem, ARuntimeThatWasKilledFindsItsContainers) {
    const std::string sandbox = lab().make_sandbox("adopted");
    const std::string runs = lab().make_container(sandbox, lab().probe("runs", {"wait"}));
    const std::string ends = lab().make_container(sandbox, lab().probe("ends", {"wait"}));
    ASSERT_EQ(lab().start_container(runs), "");
    ASSERT_EQ(lab().start_container(ends), "");
    lab().wait_for_log("ends", "waiting");  // before that, a control event ends it as it ends any program
    lab().stop();
    lab().start();
    EXPECT_EQ(lab().status(runs).state, cri::ContainerState::ContainerRunning);
    ASSERT_TRUE(lab().run(lab().cri().stop_container({.container_id = ends, .timeout = 120})));
    EXPECT_EQ(lab().wait_for_end(ends).exit_code, 5);
    EXPECT_EQ(exec(runs, {"probe.exe", "exit", "9"}).exit_code, 9);
    remove(sandbox);
}

/// A hive with one variable of the machine.
std::string hive_with_greeting(std::u16string_view greeting) {
    HiveKey key{.name = u"Environment", .values = {{u"GREETING", 1, utf16(greeting)}}};
    for (const char16_t* name : {u"Session Manager", u"Control", u"ControlSet001", u""}) {
        HiveKey above{.name = name};
        above.keys.push_back(std::move(key));
        key = std::move(above);
    }
    return TestHive::bytes(key);
}

TEST_F(RuntimeSystem, ARegistryMadeOfHivesStaysWhileContainersHaveIt) {
    namespace fs = std::filesystem;
    const fs::path folder = fs::path(lab().host_root()).parent_path(), registries = folder / "r/registry";
    const auto count = [&] { return std::distance(fs::directory_iterator(registries), {}); };
    for (const auto& layer : fs::directory_iterator(folder / "images/layers")) {
        fs::create_directory(layer.path() / "hives");
        std::ofstream(layer.path() / "hives/System_Delta") << hive_with_greeting(u"from the registry");
    }
    const std::string sandbox = lab().make_sandbox("registry");
    std::string last;
    for (const char* name : {"first", "second"}) {
        last = lab().make_container(sandbox, lab().probe(name, {"wait"}));
        ASSERT_EQ(lab().start_container(last), "");
        EXPECT_THAT(exec(last, {"probe.exe", "print"}).stdout, HasSubstr("from the registry"));
    }
    EXPECT_EQ(count(), 1) << "they have the same layers";
    lab().stop();
    fs::create_directory(registries / "of-nobody");
    lab().start();
    EXPECT_EQ(count(), 1);
    EXPECT_THAT(exec(last, {"probe.exe", "print"}).stdout, HasSubstr("from the registry"));
    remove(sandbox);
    lab().stop();
    lab().start();
    EXPECT_EQ(count(), 0);
    for (const auto& layer : fs::directory_iterator(folder / "images/layers")) fs::remove_all(layer.path() / "hives");
}

constexpr const char* OnHost = "\\\\.\\pipe\\lab-service";
constexpr const char* InContainer = "\\\\.\\pipe\\Service";

/// A container that plays the host, and one that mounts a pipe of it.
class NamedPipes : public RuntimeSystem {
protected:
    void SetUp() override {
        RuntimeSystem::SetUp();
        if (IsSkipped()) return;
        host_sandbox_ = lab().make_sandbox("pipe-host");
        host_ = lab().make_container(host_sandbox_, lab().probe("pipe-host", {"wait"}));
        ASSERT_EQ(lab().start_container(host_), "");
        lab().play_host(host_);
        sandbox_ = lab().make_sandbox("piped");
    }
    void TearDown() override {
        lab().play_host("");
        for (const std::string& sandbox : {sandbox_, host_sandbox_}) {
            EXPECT_TRUE(lab().run(lab().cri().stop_pod_sandbox({.pod_sandbox_id = sandbox})));
            EXPECT_TRUE(lab().run(lab().cri().remove_pod_sandbox({.pod_sandbox_id = sandbox})));
        }
        EXPECT_EQ(lab().leftovers(), "");
    }
    void serve(const std::string& mode) { EXPECT_EQ(on_host({"background", "serve", OnHost, mode}), ""); }
    std::string on_host(std::vector<std::string> words) { return piped(host_, std::move(words)); }
    std::string inside(std::vector<std::string> words) { return piped(container_, std::move(words)); }
    std::string piped(const std::string& container, std::vector<std::string> words) {
        words.insert(words.begin(), "C:\\app\\piped.exe");
        std::string output = exec(container, std::move(words)).stdout;
        std::erase(output, '\r');
        return output;
    }
    cri::ContainerConfig with_mount(const std::string& host_path, const std::string& container_path) {
        cri::ContainerConfig config = lab().probe("piped", {"wait"});
        config.mounts.push_back({.container_path = container_path, .host_path = host_path});
        return config;
    }
    void start() {
        container_ = lab().make_container(sandbox_, with_mount(OnHost, InContainer));
        ASSERT_EQ(lab().start_container(container_), "");
    }

    std::string host_sandbox_, host_, sandbox_, container_;
};

// POD-12, STO-06
TEST_F(NamedPipes, MessagesGoBothWaysWithTheirBorders) {
    serve("message");
    start();
    EXPECT_EQ(inside({"talk", InContainer, "hello", "twice", "big", "nothing", "again"}),
              "<HELLO>\n<one>\n<two>\n<300000 of Y>\n<>\n<AGAIN>\n");
    EXPECT_EQ(inside({"talk", OnHost, "hello"}), "open 2\n") << "the container knows the pipe by its own name only";
}

TEST_F(NamedPipes, BytePipesCarryBytes) {
    serve("byte");
    start();
    EXPECT_EQ(inside({"talk", InContainer, "hello", "again"}), "<HELLO>\n<AGAIN>\n");
    EXPECT_EQ(inside({"stubborn", InContainer}), "<HELLO>\n2000000 bytes\n");
}

TEST_F(NamedPipes, ManyClientsTalkAtOnceAndOneThatDoesNotReadHoldsUpNobody) {
    serve("message");
    start();
    EXPECT_EQ(inside({"crowd", InContainer, "12"}), "12 answers\n");
    EXPECT_EQ(inside({"stubborn", InContainer}), "<HELLO>\n2000000 bytes\n");
    std::string clients;
    // The server's threads end after their clients do.
    for (int tries = 0; tries < 50 && clients != "<1>\n"; ++tries) clients = inside({"talk", InContainer, "count"});
    EXPECT_EQ(clients, "<1>\n") << "the server has seen the others go";
}

TEST_F(NamedPipes, TheServersEndOfAConnectionIsTheClients) {
    serve("message");
    start();
    EXPECT_EQ(inside({"talk", InContainer, "bye"}), "<ciao>\nread 109\n");
    EXPECT_EQ(inside({"talk", InContainer, "drop"}), "read 233\n");
}

TEST_F(NamedPipes, APipeIsFoundAsLongAsTheHostHasIt) {
    start();
    EXPECT_EQ(inside({"talk", InContainer, "hello"}), "open 2\n");
    serve("message");
    EXPECT_EQ(inside({"wait", InContainer, "10"}), "there\n");
    EXPECT_EQ(inside({"talk", InContainer, "hello"}), "<HELLO>\n");
    EXPECT_EQ(inside({"talk", InContainer, "end"}), "read 109\n");
    EXPECT_EQ(inside({"wait", InContainer, "-10"}), "gone 2\n");
}

TEST_F(NamedPipes, TheProgramFindsThePipeFromItsFirstMoment) {
    serve("message");
    cri::ContainerConfig config = with_mount(OnHost, InContainer);
    config.command = {"C:\\app\\piped.exe"};
    config.args = {"talk", InContainer, "first"};
    const std::string id = lab().make_container(sandbox_, config);
    ASSERT_EQ(lab().start_container(id), "");
    EXPECT_EQ(lab().wait_for_end(id).exit_code, 0);
    EXPECT_THAT(lab().log("piped"), HasSubstr("stdout F <FIRST>"));
}

TEST_F(NamedPipes, APipeComesBackAfterTheRuntimeOrTheHostHasGone) {
    serve("message");
    start();
    lab().stop();
    lab().start();
    EXPECT_EQ(inside({"wait", InContainer, "20"}), "there\n");
    ASSERT_TRUE(lab().run(lab().cri().stop_container({.container_id = host_, .timeout = 0})));
    EXPECT_EQ(inside({"wait", InContainer, "-20"}), "gone 2\n");
    host_ = lab().make_container(host_sandbox_, lab().probe("pipe-host-2", {"wait"}));
    ASSERT_EQ(lab().start_container(host_), "");
    lab().play_host(host_);
    serve("message");
    EXPECT_EQ(inside({"wait", InContainer, "20"}), "there\n");
}

TEST_F(NamedPipes, WithoutAHostTheProgramStartsAndFindsNoPipe) {
    lab().play_host("");
    start();
    EXPECT_EQ(inside({"talk", InContainer, "hello"}), "open 2\n");
}

TEST_F(NamedPipes, AMountThatWindowsWouldNotTakeFailsInItsWords) {
    const std::string id = lab().make_container(sandbox_, with_mount(OnHost, "C:\\service"));
    EXPECT_THAT(lab().start_container(id),
                HasSubstr("hcs::CreateComputeSystem " + id.substr(0, 13) + ": The parameter is incorrect. (0x57)"));
    EXPECT_EQ(lab().status(id).reason, "StartError");
}

// More rounds with PORTHOLE_WINHOST_CYCLES; 200 of them have been seen to leave nothing.
TEST_F(RuntimeSystem, ManyPodsLeaveNothing) {
    const char* wanted = std::getenv("PORTHOLE_WINHOST_CYCLES");
    for (int cycle = 0; cycle < (wanted ? std::atoi(wanted) : 3); ++cycle) {
        const std::string sandbox = lab().make_sandbox("cycle");
        const std::string id = lab().make_container(sandbox, lab().probe("cycle", {"wait"}));
        ASSERT_EQ(lab().start_container(id), "") << cycle;
        remove(sandbox);
    }
}

}  // namespace
}  // namespace porthole::winhost
