#include <windows.h>

#include <shellapi.h>

#include <cstdio>
#include <iterator>

#include "base/wide_windows.h"
#include "cmd/self_check/machine.h"
#include "node_join/windows_node/node_processes.h"
#include "runtime/handle_windows.h"
#include "runtime/processes/windows_command_line.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;

constexpr std::size_t MemoryLimit = 64 << 20;

Result<Value> arguments(Machine&) {
    const std::vector<std::string> given{"a program", "", "b c", "d\"e", "f\\", "g\\\\\"h i\\", "ä", "*", "%PATH%", "^&|<>"};
    int count = 0;
    wchar_t** const split = CommandLineToArgvW(to_wide(windows_command_line(given)).c_str(), &count);
    if (!split) return windows_error("splitting", GetLastError());
    std::vector<std::string> taken;
    for (int i = 0; i < count; ++i) taken.push_back(to_utf8(split[i]));
    LocalFree(split);
    return Value::object({{"asGiven", taken == given}});
}

Result<Value> streams(Machine& machine) {
    TRY(const CommandOutput ran,
        machine.world.run(machine.world.processes->run(
            {.arguments = {"cmd", "/c", "echo %GREETING%& echo oops>&2& exit 70000"}, .environment = {{"greeting", "hello"}}})));
    return Value::object({{"output", ran.output}, {"errors", ran.errors}, {"code", ran.exit_code}});
}

Result<Value> absent(Machine& machine) {
    const auto ran = machine.world.run(machine.world.processes->run({.arguments = {"porthole-no-such-program"}}));
    return Value::object({{"notFound", is_not_found(ran)}});
}

/// A program in the current directory is not started in place of one in PATH.
Result<Value> current_directory(Machine& machine) {
    TRY_VOID(machine.files.write(machine.path("porthole-no-such-program.exe"), "", 0644));
    wchar_t before[MAX_PATH];
    GetCurrentDirectoryW(std::size(before), before);
    SetCurrentDirectoryW(to_wide(machine.folder).c_str());
    const auto ran = machine.world.run(machine.world.processes->run({.arguments = {"porthole-no-such-program"}}));
    SetCurrentDirectoryW(before);
    return Value::object({{"notFound", is_not_found(ran)}});
}

/// A copy of a program of Windows, so that its name is that of no other process.
Result<std::string> copy_of_ping(Machine& machine) {
    wchar_t system[MAX_PATH];
    GetSystemDirectoryW(system, std::size(system));
    const std::string copy = machine.path("porthole-self-check-ping.exe");
    if (!CopyFileW((std::wstring(system) + L"\\ping.exe").c_str(), to_wide(copy).c_str(), FALSE))
        return windows_error("copying ping.exe", GetLastError());
    return copy;
}

Result<Value> tree_killed(Machine& machine) {
    TRY(const std::string ping, copy_of_ping(machine));
    const auto started = machine.world.run(machine.world.processes->run(
        {.arguments = {"cmd", "/c", "start /b " + ping + " -n 100 127.0.0.1 >nul & ping -n 100 127.0.0.1 >nul"},
         .limit = std::chrono::seconds(3)}));
    bool runs = true;
    for (int attempt = 0; runs && attempt < 50; ++attempt) {
        runs = node_join::is_running("porthole-self-check-ping.exe");
        if (runs) Sleep(100);
    }
    return Value::object({{"timeout", !started && started.error().reason == Reason::Timeout}, {"left", runs}});
}

Result<Value> running_program_kept(Machine& machine) {
    TRY(const std::string ping, copy_of_ping(machine));
    TRY(const auto is_running, node_join::start_detached({ping, "-n", "4", "127.0.0.1"}, machine.path("output")));
    Sleep(500);
    const bool ran = is_running();
    const auto removed = machine.files.remove(ping);
    for (int attempt = 0; is_running() && attempt < 100; ++attempt) Sleep(100);
    return Value::object({{"running", ran}, {"removed", removed.has_value()}});
}

/// In a job of its own, within the one of who has started it: takes memory until there is none, and says what it sees of the limit.
int take_memory(const std::string&) {
    const Handle job(CreateJobObjectW(nullptr, nullptr));
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{}, seen{};
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_JOB_MEMORY;
    limits.JobMemoryLimit = MemoryLimit;
    if (!job || !SetInformationJobObject(job.get(), JobObjectExtendedLimitInformation, &limits, sizeof limits) ||
        !AssignProcessToJobObject(job.get(), GetCurrentProcess()))
        return static_cast<int>(GetLastError());
    const bool told = QueryInformationJobObject(nullptr, JobObjectExtendedLimitInformation, &seen, sizeof seen, nullptr) &&
                      seen.JobMemoryLimit == MemoryLimit;
    constexpr std::size_t Step = 1 << 20;
    DWORD code = ERROR_SUCCESS;
    for (std::size_t taken = 0; taken < 2 * MemoryLimit && code == ERROR_SUCCESS; taken += Step)
        if (!VirtualAlloc(nullptr, Step, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE)) code = GetLastError();
    std::printf("%s: error %lu\n", told ? "told" : "not told", code);
    std::fflush(stdout);
    return 0;
}

Result<Value> memory_limit(Machine& machine) {
    TRY(const CommandOutput ran, machine.play("take-memory"));
    return Value::object({{"code", ran.exit_code},
                          {"told", ran.output.contains("told: ") && !ran.output.contains("not told")},
                          {"allocationFails", ran.output.contains("error " + std::to_string(ERROR_COMMITMENT_LIMIT))}});
}

}  // namespace

Area area_processes() {
    return {.probes = {{"arguments", arguments},
                       {"streams", streams},
                       {"absent", absent},
                       {"current-directory", current_directory},
                       {"tree-killed", tree_killed},
                       {"running-program-kept", running_program_kept},
                       {"job-memory-limit", memory_limit}},
            .parts = {{"take-memory", take_memory}}};
}

}  // namespace porthole::cmd::self_check
