// host.exe FOLDER: the life of the emulated host. Started by its init like launch.exe (launch_folder_windows.h) but without one; the
// variables of FOLDER say PIPES ("name=address;name=address") and TOKEN_FILE. Starts the service manager, serves the pipes of servers
// outside Wine (pipe_to_tcp_windows.h), carries out the failure actions of services, and at any control event stops the services in good
// order.
// clang-format off
#include "winhost/tools/pipe_to_tcp_windows.h"  // brings windows.h in after winsock2.h
// clang-format on

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "winhost/tools/launch_folder_windows.h"
#include "winhost/tools/service_recovery.h"

namespace {

using porthole::winhost::FailureCounter;
using porthole::winhost::RecoveryPlan;

HANDLE stop_event;

BOOL WINAPI on_control(DWORD) {
    SetEvent(stop_event);
    Sleep(60'000);  // Windows lets a process end with its handler; ours ends with main
    return TRUE;
}

std::vector<ENUM_SERVICE_STATUS_PROCESSW> services(SC_HANDLE manager, std::vector<BYTE>& buffer) {
    DWORD needed = 0, count = 0;
    EnumServicesStatusExW(manager, SC_ENUM_PROCESS_INFO, SERVICE_WIN32, SERVICE_STATE_ALL, nullptr, 0, &needed, &count, nullptr, nullptr);
    buffer.resize(needed + 4096);
    if (!EnumServicesStatusExW(manager, SC_ENUM_PROCESS_INFO, SERVICE_WIN32, SERVICE_STATE_ALL, buffer.data(),
                               static_cast<DWORD>(buffer.size()), &needed, &count, nullptr, nullptr))
        return {};
    const auto* first = reinterpret_cast<const ENUM_SERVICE_STATUS_PROCESSW*>(buffer.data());
    return {first, first + count};
}

std::wstring key_of(const std::wstring& service) { return L"SYSTEM\\CurrentControlSet\\Services\\" + service; }

/// Wine's service manager keeps no failure actions; they are where Windows' own keeps them.
RecoveryPlan recovery_plan(const std::wstring& service) {
    char value[1024];
    DWORD size = sizeof value;
    if (RegGetValueW(HKEY_LOCAL_MACHINE, key_of(service).c_str(), L"FailureActions", RRF_RT_REG_BINARY, nullptr, value, &size) != 0)
        return {};
    RecoveryPlan plan = RecoveryPlan::parse({value, size}).value_or(RecoveryPlan());
    DWORD also_reported = 0;
    size = sizeof also_reported;
    RegGetValueW(HKEY_LOCAL_MACHINE, key_of(service).c_str(), L"FailureActionsOnNonCrashFailures", RRF_RT_REG_DWORD, nullptr,
                 &also_reported, &size);
    plan.reported_failures = also_reported != 0;
    return plan;
}

/// Does what failure actions ask for: Wine's service manager does not.
class Restarter {
public:
    /// Services that start by themselves count as running from the boot on: one may fail before we first look, because what it needs
    /// (Wine's network drivers) is not there so early.
    void expect_automatic(SC_HANDLE manager) {
        std::vector<BYTE> buffer;
        for (const auto& service : services(manager, buffer))
            if (starts_by_itself(manager, service.lpServiceName)) running_.insert(service.lpServiceName);
    }
    void look(SC_HANDLE manager) {
        std::vector<BYTE> buffer;
        for (const auto& service : services(manager, buffer)) {
            const auto& status = service.ServiceStatusProcess;
            const std::wstring name = service.lpServiceName;
            const bool killed = status.dwCurrentState == SERVICE_RUNNING && !is_alive(status.dwProcessId);
            if (status.dwCurrentState == SERVICE_RUNNING && !killed) {
                running_.insert(name);
                due_.erase(name);
            }
            if ((killed || status.dwCurrentState == SERVICE_STOPPED) && running_.erase(name))
                ended(name, killed ? ERROR_PROCESS_ABORTED : status.dwWin32ExitCode);
        }
        start_due(manager);
    }

private:
    /// Wine's service manager goes on calling a service running whose process was killed.
    static bool is_alive(DWORD process) {
        const HANDLE handle = OpenProcess(SYNCHRONIZE, FALSE, process);
        if (!handle) return GetLastError() != ERROR_INVALID_PARAMETER;
        const bool alive = WaitForSingleObject(handle, 0) == WAIT_TIMEOUT;
        CloseHandle(handle);
        return alive;
    }
    void ended(const std::wstring& name, DWORD code) {
        const RecoveryPlan plan = recovery_plan(name);
        if (code == NO_ERROR || (code != ERROR_PROCESS_ABORTED && !plan.reported_failures)) return;
        const RecoveryPlan::Step step = failures_.failed(name, plan, GetTickCount64());
        if (step.action == RecoveryPlan::Action::Restart) due_[name] = GetTickCount64() + step.delay_ms;
    }
    void start_due(SC_HANDLE manager) {
        for (auto it = due_.begin(); it != due_.end();) {
            if (it->second > GetTickCount64()) {
                ++it;
                continue;
            }
            if (const SC_HANDLE handle = OpenServiceW(manager, it->first.c_str(), SERVICE_START)) {
                // One that does not even start has failed once more.
                if (!StartServiceW(handle, 0, nullptr) && GetLastError() != ERROR_SERVICE_ALREADY_RUNNING) running_.insert(it->first);
                CloseServiceHandle(handle);
            }
            it = due_.erase(it);
        }
    }
    static bool starts_by_itself(SC_HANDLE manager, const wchar_t* name) {
        const SC_HANDLE handle = OpenServiceW(manager, name, SERVICE_QUERY_CONFIG);
        if (!handle) return false;
        std::vector<BYTE> buffer(8192);  // the most that Windows ever needs
        auto* config = reinterpret_cast<QUERY_SERVICE_CONFIGW*>(buffer.data());
        DWORD needed = 0;
        const bool known = QueryServiceConfigW(handle, config, static_cast<DWORD>(buffer.size()), &needed);
        CloseServiceHandle(handle);
        return known && config->dwStartType == SERVICE_AUTO_START;
    }

    std::set<std::wstring> running_;
    std::map<std::wstring, ULONGLONG> due_;  ///< when to start it again, in GetTickCount64's milliseconds
    FailureCounter failures_;
};

void stop_services(SC_HANDLE manager) {
    std::vector<BYTE> buffer;
    for (const auto& service : services(manager, buffer)) {
        if (service.ServiceStatusProcess.dwCurrentState != SERVICE_RUNNING) continue;
        const SC_HANDLE handle = OpenServiceW(manager, service.lpServiceName, SERVICE_STOP | SERVICE_QUERY_STATUS);
        SERVICE_STATUS status{};
        if (handle && ControlService(handle, SERVICE_CONTROL_STOP, &status)) {
            for (int round = 0; round < 50 && status.dwCurrentState != SERVICE_STOPPED; ++round) {
                Sleep(100);
                if (!QueryServiceStatus(handle, &status)) break;
            }
        }
        if (handle) CloseServiceHandle(handle);
    }
}

bool add_pipes(porthole::winhost::PipesToTcp& pipes, const std::wstring& list) {
    for (std::size_t at = 0; at < list.size();) {
        const std::size_t end = std::min(list.find(L';', at), list.size());
        const std::wstring one = list.substr(at, end - at);
        const std::size_t equals = one.find(L'=');
        if (equals == one.npos || !pipes.add(one.substr(0, equals), one.substr(equals + 1))) return false;
        at = end + 1;
    }
    return true;
}

}  // namespace

int wmain(int count, wchar_t** words) {
    if (count != 2) return 125;
    porthole::winhost::LaunchFolder folder(words[1]);
    if (!folder.open_report()) return 125;
    stop_event = CreateEventW(nullptr, TRUE, FALSE, nullptr);
    SetConsoleCtrlHandler(on_control, TRUE);
    const auto spec = folder.spec();
    porthole::winhost::PipesToTcp pipes(spec.variable(L"TOKEN_FILE"));
    if (!add_pipes(pipes, spec.variable(L"PIPES")) || !pipes.start()) return 125;
    const SC_HANDLE manager = OpenSCManagerW(nullptr, nullptr, SC_MANAGER_CONNECT | SC_MANAGER_ENUMERATE_SERVICE);
    Restarter restarter;
    if (manager) restarter.expect_automatic(manager);
    folder.report("started", GetCurrentProcessId());
    while (WaitForSingleObject(stop_event, 1000) == WAIT_TIMEOUT)
        if (manager) restarter.look(manager);
    if (manager) stop_services(manager);
    folder.report("exit", 0);
    return 0;
}
