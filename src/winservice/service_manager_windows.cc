#include <windows.h>

#include <sddl.h>

#include <cstddef>
#include <cwchar>
#include <iterator>
#include <utility>

#include "base/result.h"
#include "base/wide_windows.h"
#include "runtime/processes/windows_command_line.h"
#include "winservice/service_manager.h"

namespace porthole::winservice {
namespace {

constexpr DWORD PollInterval = 100;  // milliseconds between looks at a service that is starting or stopping

class ScHandle {
public:
    ScHandle() = default;
    explicit ScHandle(SC_HANDLE handle) : handle_(handle) {}
    ScHandle(ScHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    ScHandle& operator=(ScHandle&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~ScHandle() {
        if (handle_) CloseServiceHandle(handle_);
    }
    SC_HANDLE get() const { return handle_; }
    explicit operator bool() const { return handle_ != nullptr; }

private:
    SC_HANDLE handle_ = nullptr;
};

Error service_error(const std::string& what, const std::string& name, DWORD code = GetLastError()) {
    if (code == ERROR_SERVICE_DOES_NOT_EXIST) return Error(Reason::NotFound, "no such service: " + name);
    return windows_error(what + " service " + name, code);
}

/// Strings one after the other, each ended by a zero, and one more at the end.
std::wstring multi_string(const std::vector<std::string>& texts) {
    std::wstring all;
    for (const std::string& text : texts) all.append(to_wide(text)).push_back(L'\0');
    all.push_back(L'\0');
    return all;
}

struct Status {
    ServiceState state = ServiceState::Stopped;
    DWORD error = 0, specific_error = 0;
};

Result<Status> status_of(const ScHandle& service, const std::string& name) {
    SERVICE_STATUS_PROCESS from{};
    DWORD size = 0;
    if (!QueryServiceStatusEx(service.get(), SC_STATUS_PROCESS_INFO, reinterpret_cast<BYTE*>(&from), sizeof from, &size)) {
        return service_error("asking", name);
    }
    Status status{.error = from.dwWin32ExitCode, .specific_error = from.dwServiceSpecificExitCode};
    switch (from.dwCurrentState) {
        case SERVICE_STOPPED:
            status.state = ServiceState::Stopped;
            break;
        case SERVICE_START_PENDING:
        case SERVICE_CONTINUE_PENDING:
            status.state = ServiceState::Starting;
            break;
        case SERVICE_STOP_PENDING:
            status.state = ServiceState::Stopping;
            break;
        default:
            status.state = ServiceState::Running;
    }
    return status;
}

/// Waits until the service has left the states `first` and `second`.
Result<Status> wait_beyond(const ScHandle& service, const std::string& name, ServiceState first, ServiceState second,
                           std::chrono::seconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
        TRY(const Status status, status_of(service, name));
        if (status.state != first && status.state != second) return status;
        if (std::chrono::steady_clock::now() > deadline) {
            return Error(Reason::Timeout, "service " + name + " did not get there within " + std::to_string(limit.count()) + " s");
        }
        Sleep(PollInterval);
    }
}

class WindowsServiceManager final : public ServiceManager {
public:
    Result<void> ensure(const ServiceDefinition& wanted) override {
        TRY(const ScHandle manager, open_manager(SC_MANAGER_CREATE_SERVICE | SC_MANAGER_CONNECT));
        const std::wstring name = to_wide(wanted.name), display = to_wide(wanted.display_name.empty() ? wanted.name : wanted.display_name),
                           command = to_wide(windows_command_line(wanted.command)), depends = multi_string(wanted.depends_on);
        const DWORD start = wanted.at_boot ? SERVICE_AUTO_START : SERVICE_DEMAND_START;
        ScHandle service(CreateServiceW(manager.get(), name.c_str(), display.c_str(), SERVICE_ALL_ACCESS, SERVICE_WIN32_OWN_PROCESS, start,
                                        SERVICE_ERROR_NORMAL, command.c_str(), nullptr, nullptr, depends.c_str(), nullptr, nullptr));
        if (!service) {
            const DWORD code = GetLastError();
            if (code == ERROR_SERVICE_MARKED_FOR_DELETE) {
                return Error(Reason::Conflict,
                             "service " + wanted.name + " is being deleted: close programs that show services, and try again");
            }
            if (code != ERROR_SERVICE_EXISTS) return service_error("creating", wanted.name, code);
            TRY(service, open(manager, wanted.name, SERVICE_ALL_ACCESS));
            if (!ChangeServiceConfigW(service.get(), SERVICE_WIN32_OWN_PROCESS, start, SERVICE_ERROR_NORMAL, command.c_str(), nullptr,
                                      nullptr, depends.c_str(), nullptr, nullptr, display.c_str())) {
                return service_error("changing", wanted.name);
            }
        }
        TRY_VOID(describe(service, wanted));
        TRY_VOID(set_recovery(service, wanted.name));
        register_event_source(wanted.name);
        return set_environment(wanted);
    }

    Result<std::optional<ServiceState>> find(const std::string& name) override {
        TRY(const ScHandle manager, open_manager(SC_MANAGER_CONNECT));
        auto service = open(manager, name, SERVICE_QUERY_STATUS);
        if (is_not_found(service)) return std::optional<ServiceState>();
        if (!service) return service.error();
        TRY(const Status status, status_of(*service, name));
        return std::optional(status.state);
    }

    Result<void> start(const std::string& name, std::chrono::seconds limit) override {
        TRY(const ScHandle manager, open_manager(SC_MANAGER_CONNECT));
        TRY(const ScHandle service, open(manager, name, SERVICE_START | SERVICE_QUERY_STATUS));
        if (!StartServiceW(service.get(), 0, nullptr) && GetLastError() != ERROR_SERVICE_ALREADY_RUNNING) {
            return service_error("starting", name);
        }
        TRY(const Status status, wait_beyond(service, name, ServiceState::Starting, ServiceState::Starting, limit));
        if (status.state == ServiceState::Running) return {};
        const DWORD code = status.error == ERROR_SERVICE_SPECIFIC_ERROR ? status.specific_error : status.error;
        return Error(Reason::Io, "service " + name + " ended while starting, with code " + std::to_string(code));
    }

    Result<void> stop(const std::string& name, std::chrono::seconds limit) override {
        TRY(const ScHandle manager, open_manager(SC_MANAGER_CONNECT));
        auto service = open(manager, name, SERVICE_STOP | SERVICE_QUERY_STATUS | SERVICE_ENUMERATE_DEPENDENTS);
        if (!service) return ignore_not_found(std::move(service));
        for (const std::string& dependent : active_dependents(*service)) TRY_VOID(stop(dependent, limit));
        SERVICE_STATUS ignored;
        if (!ControlService(service->get(), SERVICE_CONTROL_STOP, &ignored)) {
            const DWORD code = GetLastError();
            // Controls are refused while a service starts or stops: it is waited for, then asked again. Wine's service manager answers
            // ERROR_INVALID_SERVICE_CONTROL while one starts.
            if (code == ERROR_SERVICE_NOT_ACTIVE) return {};
            if (code != ERROR_SERVICE_CANNOT_ACCEPT_CTRL && code != ERROR_INVALID_SERVICE_CONTROL)
                return service_error("stopping", name, code);
            TRY(const Status settled, wait_beyond(*service, name, ServiceState::Starting, ServiceState::Stopping, limit));
            if (settled.state == ServiceState::Stopped) return {};
            if (!ControlService(service->get(), SERVICE_CONTROL_STOP, &ignored) && GetLastError() != ERROR_SERVICE_NOT_ACTIVE) {
                return service_error("stopping", name);
            }
        }
        TRY_VOID(wait_beyond(*service, name, ServiceState::Running, ServiceState::Stopping, limit));
        return {};
    }

    Result<void> remove(const std::string& name) override {
        TRY(const ScHandle manager, open_manager(SC_MANAGER_CONNECT));
        auto service = open(manager, name, DELETE);
        if (!service) return ignore_not_found(std::move(service));
        if (!DeleteService(service->get()) && GetLastError() != ERROR_SERVICE_MARKED_FOR_DELETE) return service_error("deleting", name);
        RegDeleteTreeW(HKEY_LOCAL_MACHINE, event_source_key(name).c_str());
        return {};
    }

private:
    static Result<ScHandle> open_manager(DWORD access) {
        ScHandle manager(OpenSCManagerW(nullptr, nullptr, access));
        if (!manager) return windows_error("opening the service manager", GetLastError());
        return manager;
    }

    static Result<ScHandle> open(const ScHandle& manager, const std::string& name, DWORD access) {
        ScHandle service(OpenServiceW(manager.get(), to_wide(name).c_str(), access));
        if (!service) return service_error("opening", name);
        return service;
    }

    static Result<void> describe(const ScHandle& service, const ServiceDefinition& wanted) {
        std::wstring text = to_wide(wanted.description);
        SERVICE_DESCRIPTIONW description{text.data()};
        if (!ChangeServiceConfig2W(service.get(), SERVICE_CONFIG_DESCRIPTION, &description))
            return service_error("describing", wanted.name);
        return {};
    }

    static Result<void> set_recovery(const ScHandle& service, const std::string& name) {
        constexpr DWORD Day = 24 * 60 * 60;  // seconds without a failure after which counting starts anew
        SC_ACTION actions[] = {{SC_ACTION_RESTART, 5'000}, {SC_ACTION_RESTART, 10'000}, {SC_ACTION_RESTART, 30'000}};
        SERVICE_FAILURE_ACTIONSW recovery{};
        recovery.dwResetPeriod = Day;
        recovery.cActions = std::size(actions);
        recovery.lpsaActions = actions;
        if (!ChangeServiceConfig2W(service.get(), SERVICE_CONFIG_FAILURE_ACTIONS, &recovery)) return service_error("recovery of", name);
        // Also when it ends by itself and reports a failure. Older service managers know crashes only.
        SERVICE_FAILURE_ACTIONS_FLAG flag{TRUE};
        ChangeServiceConfig2W(service.get(), SERVICE_CONFIG_FAILURE_ACTIONS_FLAG, &flag);
        return keeps_recovery(service) ? Result<void>() : write_recovery(name, recovery);
    }

    /// Wine's service manager takes failure actions and forgets them.
    static bool keeps_recovery(const ScHandle& service) {
        std::max_align_t memory[512 / sizeof(std::max_align_t)];
        auto* const kept = reinterpret_cast<SERVICE_FAILURE_ACTIONSW*>(memory);
        DWORD size = 0;
        return QueryServiceConfig2W(service.get(), SERVICE_CONFIG_FAILURE_ACTIONS, reinterpret_cast<BYTE*>(memory), sizeof memory, &size) &&
               kept->cActions > 0;
    }

    /// Where and how Windows' own service manager keeps them, for whoever stands in for it.
    static Result<void> write_recovery(const std::string& name, const SERVICE_FAILURE_ACTIONSW& recovery) {
        constexpr DWORD HeaderSize = 20;
        std::vector<DWORD> value{recovery.dwResetPeriod, 0, 0, recovery.cActions, HeaderSize};
        for (DWORD i = 0; i < recovery.cActions; ++i) {
            value.push_back(static_cast<DWORD>(recovery.lpsaActions[i].Type));
            value.push_back(recovery.lpsaActions[i].Delay);
        }
        const std::wstring key = key_of(name);
        const DWORD also_reported = 1;
        LSTATUS code = RegSetKeyValueW(HKEY_LOCAL_MACHINE, key.c_str(), L"FailureActions", REG_BINARY, value.data(),
                                       static_cast<DWORD>(value.size() * sizeof(DWORD)));
        if (code == ERROR_SUCCESS) {
            code = RegSetKeyValueW(HKEY_LOCAL_MACHINE, key.c_str(), L"FailureActionsOnNonCrashFailures", REG_DWORD, &also_reported,
                                   sizeof also_reported);
        }
        if (code != ERROR_SUCCESS) return windows_error("recovery of service " + name, static_cast<DWORD>(code));
        return {};
    }

    /// The program's messages in the event log are a text each; Windows has a file that shows them so. What a machine without an event
    /// log says to this is of no interest.
    static void register_event_source(const std::string& name) {
        constexpr wchar_t File[] = L"%SystemRoot%\\System32\\EventCreate.exe";
        const DWORD types = EVENTLOG_ERROR_TYPE | EVENTLOG_WARNING_TYPE | EVENTLOG_INFORMATION_TYPE;
        const std::wstring key = event_source_key(name);
        RegSetKeyValueW(HKEY_LOCAL_MACHINE, key.c_str(), L"EventMessageFile", REG_EXPAND_SZ, File, sizeof File);
        RegSetKeyValueW(HKEY_LOCAL_MACHINE, key.c_str(), L"TypesSupported", REG_DWORD, &types, sizeof types);
    }
    static std::wstring key_of(const std::string& name) { return L"SYSTEM\\CurrentControlSet\\Services\\" + to_wide(name); }
    static std::wstring event_source_key(const std::string& name) { return key_of("EventLog\\Application\\" + name); }

    /// Everybody may read the keys of services, and a proxy's URL may have a password.
    static Result<void> restrict_key(const std::wstring& path, const std::string& name) {
        constexpr wchar_t AdministratorsOnly[] = L"D:P(A;CI;KA;;;SY)(A;CI;KA;;;BA)";
        PSECURITY_DESCRIPTOR descriptor = nullptr;
        if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(AdministratorsOnly, SDDL_REVISION_1, &descriptor, nullptr))
            return windows_error("protecting the key of service " + name, GetLastError());
        HKEY key = nullptr;
        LSTATUS code = RegOpenKeyExW(HKEY_LOCAL_MACHINE, path.c_str(), 0, WRITE_DAC, &key);
        if (code == ERROR_SUCCESS) {
            code = RegSetKeySecurity(key, DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION, descriptor);
            RegCloseKey(key);
        }
        LocalFree(descriptor);
        if (code != ERROR_SUCCESS) return windows_error("protecting the key of service " + name, static_cast<DWORD>(code));
        return {};
    }

    /// The manager adds this value of the service's key to the environment of the process.
    static Result<void> set_environment(const ServiceDefinition& wanted) {
        const std::wstring key = key_of(wanted.name);
        if (wanted.environment.empty()) {
            RegDeleteKeyValueW(HKEY_LOCAL_MACHINE, key.c_str(), L"Environment");
            return {};
        }
        TRY_VOID(restrict_key(key, wanted.name));
        std::vector<std::string> entries;
        for (const auto& [name, value] : wanted.environment) entries.push_back(name + "=" + value);
        const std::wstring value = multi_string(entries);
        const LSTATUS code = RegSetKeyValueW(HKEY_LOCAL_MACHINE, key.c_str(), L"Environment", REG_MULTI_SZ, value.data(),
                                             static_cast<DWORD>(value.size() * sizeof(wchar_t)));
        if (code != ERROR_SUCCESS) return windows_error("environment of service " + wanted.name, static_cast<DWORD>(code));
        return {};
    }

    static std::vector<std::string> active_dependents(const ScHandle& service) {
        DWORD size = 0, count = 0;
        EnumDependentServicesW(service.get(), SERVICE_ACTIVE, nullptr, 0, &size, &count);
        if (size == 0) return {};
        std::vector<std::max_align_t> memory(size / sizeof(std::max_align_t) + 1);
        auto* const found = reinterpret_cast<ENUM_SERVICE_STATUSW*>(memory.data());
        if (!EnumDependentServicesW(service.get(), SERVICE_ACTIVE, found, size, &size, &count)) return {};
        std::vector<std::string> names;
        for (DWORD i = 0; i < count; ++i) names.push_back(to_utf8(found[i].lpServiceName));
        return names;
    }
};

}  // namespace

std::map<std::string, std::string> environment_of_service(const std::string& name) {
    const std::wstring key = L"SYSTEM\\CurrentControlSet\\Services\\" + to_wide(name);
    std::wstring text(32'768, L'\0');
    DWORD size = static_cast<DWORD>(text.size() * sizeof(wchar_t));
    if (RegGetValueW(HKEY_LOCAL_MACHINE, key.c_str(), L"Environment", RRF_RT_REG_MULTI_SZ, nullptr, text.data(), &size) != ERROR_SUCCESS)
        return {};
    std::map<std::string, std::string> all;
    for (const wchar_t* entry = text.c_str(); *entry; entry += std::wcslen(entry) + 1) {
        const std::string line = to_utf8(entry);
        if (const std::size_t equals = line.find('='); equals != line.npos) all[line.substr(0, equals)] = line.substr(equals + 1);
    }
    return all;
}

std::unique_ptr<ServiceManager> make_service_manager() { return std::make_unique<WindowsServiceManager>(); }

}  // namespace porthole::winservice
