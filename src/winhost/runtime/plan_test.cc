#include <gtest/gtest.h>

#include "runtime/files/file_system.h"
#include "winhost/runtime/container_plan.h"
#include "winhost/runtime/init_connection.h"
#include "winhost/runtime/pipe_mounts.h"
#include "winhost/runtime/program_spec.h"
#include "winhost/runtime/windows_path.h"

namespace porthole::winhost {
namespace {

TEST(CommandLine, QuotesAsTheCRuntimeReads) {
    struct {
        const char* name;
        std::vector<std::string> arguments;
        const char* line;
    } const rows[] = {
        {"plain", {"app.exe", "-v", "a=b"}, "app.exe -v a=b"},
        {"blanks", {"C:\\Program Files\\a.exe", "x y"}, "\"C:\\Program Files\\a.exe\" \"x y\""},
        {"empty", {"a", ""}, "a \"\""},
        {"quotes", {"say", "he said \"no\""}, R"(say "he said \"no\"")"},
        {"backslashes at the end of a quoted one", {"C:\\a b\\"}, R"("C:\a b\\")"},
        {"backslashes before a quote", {"a\\\"b"}, R"("a\\\"b")"},
        {"backslashes elsewhere stay", {"C:\\a\\b"}, "C:\\a\\b"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(join_command_line(row.arguments), row.line);
    }
}

TEST(ProgramEnd, IsReadOnlyFromWhatInitWrites) {
    const auto crash = parse_program_end("3221225477 1795754047123456789");
    ASSERT_TRUE(crash);
    EXPECT_EQ(static_cast<std::uint32_t>(crash->code), 0xC0000005);
    EXPECT_EQ(crash->time, 1795754047123456789);
    EXPECT_EQ(crash->failure, "");
    const auto failed = parse_program_end("failed 7 2 CreateProcess\nmore");
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code, 128);
    EXPECT_EQ(failed->failure, "2 CreateProcess");
    EXPECT_EQ(parse_program_end("failed 7")->failure, "0 the program could not be started");
    for (const char* bad :
         {"", "0", "0 ", "zero 7", "0 -7", "-1 7", "4294967296 7", "0 9223372036854775808", "0 7 more", "0  7", "failed", "failed x"})
        EXPECT_FALSE(parse_program_end(bad)) << bad;
}

TEST(WindowsPath, ReadsEveryAbsoluteForm) {
    EXPECT_EQ(WindowsPath::parse("C:\\var\\log")->text(), "C:\\var\\log");
    EXPECT_EQ(WindowsPath::parse("c:/var//./log/")->text(), "C:\\var\\log");
    EXPECT_EQ(WindowsPath::parse("/var/log")->text(), "C:\\var\\log");
    EXPECT_EQ(WindowsPath::parse("D:")->text(), "D:\\");
    for (const char* bad : {"var\\log", "C:var", "\\\\server\\share", "C:\\a\\..\\b", "C:\\a?b", ""})
        EXPECT_FALSE(WindowsPath::parse(bad)) << bad;
    EXPECT_TRUE(is_pipe_path("//./pipe/x"));
    EXPECT_FALSE(is_pipe_path("C:\\pipe"));
}

TEST(WindowsPath, FindsNamesWhateverTheirCase) {
    const auto files = make_file_system();
    const std::string root = testing::TempDir() + "winhost-locate-" + std::to_string(::getpid());
    ASSERT_TRUE(files->create_directories(root + "/Program Files/App", 0755));
    ASSERT_TRUE(files->create_symlink("/etc", root + "/out"));
    EXPECT_EQ(*locate(*files, root, {"program files", "APP", "New"}), root + "/Program Files/App/New");
    EXPECT_EQ(*locate(*files, root, {}), root);
    EXPECT_EQ(locate(*files, root, {"OUT"}).error().reason, Reason::Forbidden);
    EXPECT_EQ(locate(*files, root, {"out", "not there yet"}).error().reason, Reason::Forbidden);
    ASSERT_TRUE(files->create_symlink("Program Files", root + "/short"));
    EXPECT_EQ(*locate(*files, root, {"Short", "New"}), root + "/Program Files/New");
    (void)files->remove_all(root);
}

// POD-12
TEST(PipeMounts, AreTheMountsOfPipesAtPipes) {
    const auto pipes = plan_pipe_mounts({{.container_path = R"(C:\data)", .host_path = R"(C:\data)"},
                                         {.container_path = R"(\\.\pipe\a)", .host_path = R"(\\.\pipe\vendor\A)"},
                                         {.container_path = R"(\\.\pipe\b)", .host_path = R"(\\.\pipe\vendor\A)"}});
    ASSERT_TRUE(pipes);
    ASSERT_EQ(pipes->size(), 2u);
    EXPECT_EQ(pipes->front().host_name, R"(\\.\pipe\vendor\A)");
    EXPECT_EQ(pipes->front().container_name, R"(\\.\pipe\a)");
}

TEST(PipeMounts, RefuseWhatWindowsRefuses) {
    struct {
        const char* name;
        std::vector<cri::Mount> mounts;
        const char* error;
    } const rows[] = {
        {"a pipe at a folder's place", {{.container_path = R"(C:\a)", .host_path = R"(\\.\pipe\a)"}}, "(0x57)"},
        {"a folder at a pipe's place", {{.container_path = R"(\\.\pipe\a)", .host_path = R"(C:\a)"}}, "(0x57)"},
        {"another spelling", {{.container_path = R"(\\.\pipe\a)", .host_path = R"(\\?\pipe\a)"}}, "(0x57)"},
        {"no name", {{.container_path = R"(\\.\pipe\)", .host_path = R"(\\.\pipe\a)"}}, "(0x57)"},
        {"one name twice",
         {{.container_path = R"(\\.\pipe\a)", .host_path = R"(\\.\pipe\a)"},
          {.container_path = R"(\\.\pipe\A)", .host_path = R"(\\.\pipe\b)"}},
         "already exists. (0xb7)"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto pipes = plan_pipe_mounts(row.mounts);
        ASSERT_FALSE(pipes);
        EXPECT_EQ(pipes.error().reason, Reason::Invalid);
        EXPECT_NE(pipes.error().message.find(row.error), std::string::npos) << pipes.error().message;
    }
}

cri::ContainerConfig config_of(std::vector<std::string> command, std::vector<std::string> args) {
    cri::ContainerConfig config;
    config.command = std::move(command);
    config.args = std::move(args);
    return config;
}

TEST(ProgramPlan, TakesThePodsWordsInPlaceOfTheImages) {
    ImageConfig image{.entrypoint = {"C:\\my app\\a.exe"}, .command = {"serve", "a b"}, .environment = {"A=1"}};
    EXPECT_EQ(plan_program(config_of({}, {}), image, "h")->command_line, "\"C:\\my app\\a.exe\" serve \"a b\"");
    EXPECT_EQ(plan_program(config_of({}, {"x"}), image, "h")->command_line, "\"C:\\my app\\a.exe\" x");
    EXPECT_EQ(plan_program(config_of({"cmd", "/c", "dir"}, {}), image, "h")->command_line, "cmd /c dir")
        << "the image's arguments go with its entry point";
    image = {.command = {"cmd /S /C \"start.bat > log\""}, .args_escaped = true};
    EXPECT_EQ(plan_program(config_of({}, {}), image, "h")->command_line, "cmd /S /C \"start.bat > log\"")
        << "a finished line is never quoted again";
    EXPECT_EQ(plan_program(config_of({}, {}), {}, "h").error().message, "no command specified");
}

TEST(ProgramPlan, PutsThePodsVariablesAfterTheImagesAndGivesDirectoriesADrive) {
    cri::ContainerConfig config = config_of({"a"}, {});
    config.working_dir = "/data";
    config.envs = {{.key = "A", .value = "2"}};
    const auto spec = plan_program(config, {.environment = {"A=1"}}, "h");
    EXPECT_EQ(spec->variables, (std::vector<std::string>{"A=1", "A=2"}));
    EXPECT_EQ(spec->directory, "C:\\data");
    EXPECT_EQ(ProgramSpec::decode(spec->encode()).variables, spec->variables);
}

TEST(UserPlan, KnowsOnlyTheUsersOfEveryContainer) {
    cri::ContainerConfig config;
    EXPECT_EQ(*plan_user(config, {}), ContainerUser::Administrator);
    EXPECT_EQ(*plan_user(config, {.user = "ContainerUser"}), ContainerUser::User);
    config.windows.emplace().security_context.emplace().run_as_username = "FooBar";
    EXPECT_EQ(plan_user(config, {.user = "ContainerUser"}).error().reason, Reason::Invalid);
    config.windows->security_context->run_as_username = "User Manager\\CONTAINERUSER";
    EXPECT_EQ(*plan_user(config, {}), ContainerUser::User);
}

// SEC-11
TEST(UserPlan, SEC11_AHostProcessContainerRunsAsAnAccountOfTheHost) {
    cri::ContainerConfig config = config_of({"a"}, {});
    auto& security = config.windows.emplace().security_context.emplace();
    security.host_process = true;
    EXPECT_EQ(*plan_user(config, {.user = "ContainerUser"}), ContainerUser::Administrator) << "the image's user is none of the host's";
    security.run_as_username = "NT AUTHORITY\\SYSTEM";
    EXPECT_EQ(*plan_user(config, {}), ContainerUser::Administrator);
    security.run_as_username = "nt authority\\local service";
    EXPECT_EQ(*plan_user(config, {}), ContainerUser::User);
    security.run_as_username = "ContainerAdministrator";
    EXPECT_EQ(plan_user(config, {}).error().reason, Reason::Invalid);
    EXPECT_EQ(plan_program(config, {}, "h")->variables, std::vector<std::string>{"CONTAINER_SANDBOX_MOUNT_POINT=C:"});
}

// KBL-19, LIM-05
TEST(LimitPlan, ProgramsGetNoMoreThanTheHostCanStillPromise) {
    const cri::WindowsContainerResources bounded{.memory_limit_in_bytes = 4LL << 30}, unbounded;
    constexpr std::uint64_t Baseline = 16 << 20, Left = 1ull << 30;
    EXPECT_EQ(plan_limits(&bounded, 4, Left).memory_per_process, Left + Baseline) << "a limit guarantees nothing";
    EXPECT_EQ(plan_limits(&unbounded, 4, Left).memory_per_process, Left + Baseline);
    EXPECT_EQ(plan_limits(nullptr, 4, Left).memory_per_process, Left + Baseline);
    EXPECT_EQ(plan_limits(&bounded, 4, 8ull << 30).memory_per_process, (4ull << 30) + Baseline);
    EXPECT_EQ(plan_limits(nullptr, 4, 0).memory_per_process, (64u << 20) + Baseline) << "enough to start and fail by itself";
    EXPECT_EQ(plan_limits(nullptr, 4).memory_per_process, 0u);
}

// KBL-19, KBL-34
TEST(LimitPlan, TheCommitLimitIsPhysicalMemoryAndPageFiles) {
    EXPECT_EQ(commit_limit("MemTotal:        1000 kB\nMemFree: 1 kB\nSwapTotal:       24 kB\n"), 1024u << 10);
    EXPECT_EQ(commit_limit("MemTotal: 1000 kB\n"), 1000u << 10);
    for (const char* other : {"", "MemTotal:", "MemTotal: x", "XMemTotal: 5 kB\n"}) EXPECT_EQ(commit_limit(other), std::nullopt) << other;
}

TEST(LimitPlan, DoesNotChargeTheEmulationToThePod) {
    const cri::WindowsContainerResources resources{.cpu_maximum = 2500, .memory_limit_in_bytes = 128 << 20};
    const ContainerLimits limits = plan_limits(&resources, 4);
    EXPECT_EQ(limits.cgroup.cpu_quota_us, 100'000) << "a quarter of four processors";
    EXPECT_GT(limits.memory_per_process, 128u << 20);
    EXPECT_GT(limits.cgroup.memory_bytes, static_cast<std::int64_t>(limits.memory_per_process))
        << "an allocation fails before anything is killed";
    EXPECT_EQ(plan_limits(nullptr, 4).cgroup.memory_bytes, 0);
    EXPECT_GT(plan_limits(nullptr, 4).cgroup.processes, 0) << "the number of processes is always bounded";
}

TEST(LimitPlan, ProgramsSeeThePodsLimitsAndNotTheEmulations) {
    const cri::WindowsContainerResources limited{.cpu_maximum = 2500, .memory_limit_in_bytes = 128 << 20};
    EXPECT_EQ(plan_job_limits(&limited, 4), "134217728 2500");
    const cri::WindowsContainerResources counted{.cpu_count = 1}, excessive{.cpu_count = 8}, unlimited;
    EXPECT_EQ(plan_job_limits(&counted, 4), "0 2500");
    EXPECT_EQ(plan_job_limits(&excessive, 4), "0 10000") << "no more than the machine has";
    EXPECT_EQ(plan_job_limits(&unlimited, 4), "0 0");
    EXPECT_EQ(plan_job_limits(nullptr, 4), "0 0");
}

TEST(StopPlan, MapsSignalsToControlEvents) {
    EXPECT_EQ(*plan_stop_event(cri::Signal::RuntimeDefault, ""), "6");
    EXPECT_EQ(*plan_stop_event(cri::Signal::RuntimeDefault, "CtrlBreak"), "1");
    EXPECT_EQ(*plan_stop_event(cri::Signal::Sigkill, "CtrlBreak"), "kill");
    EXPECT_FALSE(plan_stop_event(cri::Signal::RuntimeDefault, "SIGHUP"));
}

}  // namespace
}  // namespace porthole::winhost
