#include <windows.h>

#include <chrono>
#include <cstdlib>

#include "base/wide_windows.h"
#include "cmd/self_check/areas/access_list_windows.h"
#include "cmd/self_check/machine.h"
#include "runtime/handle_windows.h"
#include "winservice/service_manager.h"
#include "winservice/service_windows.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;
using winservice::ServiceDefinition;
using winservice::ServiceState;

constexpr const char *Name = "porthole-self-check", *Variable = "PORTHOLE_SELF_CHECK";
constexpr std::chrono::seconds Limit{30}, RecoveryLimit{15};

/// The service: says who it is, and in how many lives, in a file of its folder; ends at once where another file asks for it.
int serve(const std::string& folder) {
    return winservice::run_as_service(Name, [folder](winservice::ServiceReport& report) {
        const auto files = make_file_system();
        const std::string life = folder + "\\life";
        int lives = 1;
        while (files->exists(life + std::to_string(lives))) ++lives;
        const Handle stop(CreateEventW(nullptr, TRUE, FALSE, nullptr));
        report.on_stop([&] { SetEvent(stop.get()); });
        (void)files->write(life + std::to_string(lives), own_sid() + (std::getenv(Variable) ? " with its environment" : ""), 0644);
        report.started();
        constexpr DWORD Look = 200;  // milliseconds
        while (WaitForSingleObject(stop.get(), Look) == WAIT_TIMEOUT)
            if (lives == 1 && files->exists(folder + "\\fail")) return 7;
        return 0;
    });
}

/// The service of this check, removed with the object.
class TriedService {
public:
    explicit TriedService(Machine& machine) : machine_(machine) {}
    TriedService(const TriedService&) = delete;
    ~TriedService() {
        (void)manager_->stop(Name, Limit);
        (void)manager_->remove(Name);
    }
    winservice::ServiceManager& manager() { return *manager_; }

    Result<void> ensure() {
        return manager_->ensure({.name = Name,
                                 .display_name = "Porthole self-check",
                                 .description = "Removed at the end of porthole.exe self-check",
                                 .command = machine_.command_of("serve"),
                                 .depends_on = {},
                                 .environment = {{Variable, "yes"}},
                                 .at_boot = false});
    }
    /// Whether its process, or the one after it, has written its file.
    bool has_life(int number, std::chrono::seconds limit) const {
        const auto deadline = std::chrono::steady_clock::now() + limit;
        while (!machine_.files.exists(machine_.path("life" + std::to_string(number)))) {
            if (std::chrono::steady_clock::now() > deadline) return false;
            Sleep(100);
        }
        return true;
    }

private:
    Machine& machine_;
    std::unique_ptr<winservice::ServiceManager> manager_ = winservice::make_service_manager();
};

const char* word_of(const Result<std::optional<ServiceState>>& state) {
    if (!state) return "error";
    if (!*state) return "none";
    return **state == ServiceState::Running ? "running" : **state == ServiceState::Stopped ? "stopped" : "between";
}

/// From its creation to its removal.
Result<Value> life(Machine& machine) {
    TriedService service(machine);
    Value seen = Value::object({{"before", word_of(service.manager().find(Name))}});
    TRY_VOID(service.ensure());
    TRY_VOID(service.ensure());  // which changes the one that is there
    seen.as_object().append("made", word_of(service.manager().find(Name)));
    TRY_VOID(service.manager().start(Name, Limit));
    seen.as_object().append("started", word_of(service.manager().find(Name)));
    if (!service.has_life(1, Limit)) return Error(Reason::Timeout, "the service has written nothing");
    TRY(const std::string user, machine.files.read(machine.path("life1")));
    seen.as_object().append("system", user.starts_with("S-1-5-18"));
    seen.as_object().append("environment", user.ends_with(" with its environment"));
    TRY_VOID(service.manager().stop(Name, Limit));
    seen.as_object().append("ended", word_of(service.manager().find(Name)));
    TRY_VOID(service.manager().remove(Name));
    seen.as_object().append("removed", word_of(service.manager().find(Name)));
    return seen;
}

/// A service that reports a failure is started again by its recovery actions, after five seconds.
Result<Value> recovery(Machine& machine) {
    TriedService service(machine);
    TRY_VOID(service.ensure());
    TRY_VOID(service.manager().start(Name, Limit));
    if (!service.has_life(1, Limit)) return Error(Reason::Timeout, "the service does not start");
    const auto before = std::chrono::steady_clock::now();
    TRY_VOID(machine.files.write(machine.path("fail"), "", 0644));
    const bool again = service.has_life(2, RecoveryLimit);
    const auto took = std::chrono::steady_clock::now() - before;
    return Value::object({{"startedAgain", again}, {"afterFiveSeconds", again && took > std::chrono::seconds(4)}});
}

/// A program that is no service is reported as a failure, and not waited for without end.
Result<Value> no_service(Machine& machine) {
    const auto manager = winservice::make_service_manager();
    TriedService service(machine);
    TRY_VOID(service.manager().ensure({.name = Name, .command = {"cmd.exe", "/c", "exit 5"}, .at_boot = false}));
    const auto started = service.manager().start(Name, Limit);
    return Value::object({{"started", started.has_value()}});
}

/// A proxy's URL in a service's environment may have a password.
Result<Value> environment(Machine& machine) {
    TriedService service(machine);
    TRY_VOID(service.ensure());
    const bool kept = winservice::environment_of_service(Name).contains(Variable);
    HKEY key = nullptr;
    const std::wstring path = L"SYSTEM\\CurrentControlSet\\Services\\" + to_wide(Name);
    if (const LSTATUS code = RegOpenKeyExW(HKEY_LOCAL_MACHINE, path.c_str(), 0, READ_CONTROL, &key); code != ERROR_SUCCESS)
        return windows_error("opening the service's key", static_cast<DWORD>(code));
    auto rights = rights_of(key, SecuredObject::RegistryKey);
    RegCloseKey(key);
    TRY(Value seen, std::move(rights));
    seen.as_object().append("kept", kept);
    return seen;
}

/// The newest entry of the application log that the service's source has written; "" for none.
std::string newest_event() {
    const HANDLE log = OpenEventLogW(nullptr, L"Application");
    if (!log) return "";
    std::vector<DWORD> memory(16384);
    std::string found;
    DWORD size = 0, needed = 0;
    constexpr DWORD Backwards = EVENTLOG_BACKWARDS_READ | EVENTLOG_SEQUENTIAL_READ;
    for (int reads = 0; found.empty() && reads < 20; ++reads) {
        const auto bytes = static_cast<DWORD>(memory.size() * sizeof(DWORD));
        if (!ReadEventLogW(log, Backwards, 0, memory.data(), bytes, &size, &needed)) break;
        const auto* at = reinterpret_cast<const BYTE*>(memory.data());
        for (const BYTE* const end = at + size; at < end && found.empty();) {
            const auto* record = reinterpret_cast<const EVENTLOGRECORD*>(at);
            if (record->Length < sizeof *record || record->Length > static_cast<DWORD>(end - at)) break;
            const auto* source = reinterpret_cast<const wchar_t*>(record + 1);
            if (to_utf8(source) == Name && record->NumStrings > 0)
                found = to_utf8(reinterpret_cast<const wchar_t*>(at + record->StringOffset));
            at += record->Length;
        }
    }
    CloseEventLog(log);
    return found;
}

Result<Value> event_log(Machine& machine) {
    TriedService service(machine);
    TRY_VOID(service.ensure());
    TRY_VOID(service.manager().start(Name, Limit));
    TRY_VOID(service.manager().stop(Name, Limit));
    return Value::object({{"newest", newest_event()}});
}

}  // namespace

Area area_services() {
    return {.probes = {{"service-life", life},
                       {"service-recovery", recovery},
                       {"service-that-is-none", no_service},
                       {"service-environment", environment},
                       {"event-log", event_log}},
            .parts = {{"serve", serve}}};
}

}  // namespace porthole::cmd::self_check
