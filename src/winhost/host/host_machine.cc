#include "winhost/host/host_machine.h"

#include <charconv>

#include "base/strings.h"

namespace porthole::winhost {
namespace {

using api::csiproxy::v1alpha1::ServiceStatus;
using api::csiproxy::v1alpha1::StartType;

constexpr Duration LongestCommand = std::chrono::seconds(30);

/// What follows `name` and `separator` on a line: "        STATE              : 4  RUNNING" or "    Start    REG_DWORD    0x2".
std::string value_of(std::string_view text, std::string_view name, std::string_view separator) {
    for (const std::string_view line : split_views(text, '\n')) {
        const std::string_view words = trim(line);
        if (!words.starts_with(name) || words.size() == name.size() || words[name.size()] != ' ') continue;
        const std::size_t at = words.find(separator, name.size());
        if (at != words.npos) return std::string(trim(words.substr(at + separator.size())));
    }
    return "";
}

int number_of(std::string_view text, int base) {
    int number = 0;
    if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
    std::from_chars(text.data(), text.data() + text.size(), number, base);
    return number;
}

}  // namespace

Task<std::string> HostMachine::serial_number() { co_return serial_number_; }

bool HostMachine::is_open_iscsi(const std::string& service) const {
    return equal_ignoring_case(service, "msiscsi") && iscsi_ && iscsi_->check();
}

/// check_service() allows no quotes in names.
Task<CommandOutput> HostMachine::sc(std::string verb, std::string name) {
    return programs_.run({.command_line = "sc.exe " + verb + " \"" + name + "\"", .limit = LongestCommand});
}

Task<ServiceStatus> HostMachine::status(std::string name) {
    CO_TRY(const CommandOutput found, co_await sc("query", name));
    if (found.exit_code != 0) co_return Error(Reason::NotFound, "this host has no service " + name);
    const int state = number_of(value_of(found.output, "STATE", ":"), 10);
    if (state < 1 || state > static_cast<int>(ServiceStatus::Paused))
        co_return Error(Reason::Io, "sc.exe does not tell the state of " + name);
    co_return static_cast<ServiceStatus>(state);
}

Task<csi_proxy::Machine::Service> HostMachine::service(std::string name) {
    if (is_open_iscsi(name))
        co_return Service{
            .display_name = "Microsoft iSCSI Initiator Service", .start_type = StartType::Automatic, .status = ServiceStatus::Running};
    Service service;
    CO_TRY(service.status, co_await status(name));
    CO_TRY(const CommandOutput entry,
           co_await programs_.run(
               {.command_line = "reg.exe query \"HKLM\\System\\CurrentControlSet\\Services\\" + name + "\"", .limit = LongestCommand}));
    service.display_name = value_of(entry.output, "DisplayName", "REG_SZ");
    service.start_type = static_cast<StartType>(number_of(value_of(entry.output, "Start", "REG_DWORD"), 16));
    co_return service;
}

Task<> HostMachine::start_service(std::string name) {
    if (is_open_iscsi(name)) co_return {};
    CO_TRY(const ServiceStatus before, co_await status(name));
    if (before == ServiceStatus::Running) co_return {};
    CO_TRY(const CommandOutput started, co_await sc("start", name));
    if (started.exit_code == 0) co_return {};
    co_return Error(Reason::Io, "starting the service " + name + ": " + std::string(trim(started.output + started.errors)));
}

Task<> HostMachine::stop_service(std::string name, bool /*with_dependents*/) {
    if (is_open_iscsi(name)) co_return Error(Reason::MethodNotAllowed, "open-iscsi of the machine that emulates this host is not stopped");
    CO_TRY(const ServiceStatus before, co_await status(name));
    if (before == ServiceStatus::Stopped) co_return {};
    CO_TRY(const CommandOutput stopped, co_await sc("stop", name));
    if (stopped.exit_code == 0) co_return {};
    co_return Error(Reason::Io, "stopping the service " + name + ": " + std::string(trim(stopped.output + stopped.errors)));
}

}  // namespace porthole::winhost
