#include <windows.h>

#include <algorithm>
#include <cctype>

#include "base/strings.h"
#include "cmd/self_check/machine.h"
#include "kubelet/node/host.h"
#include "node_join/windows_node/host_windows.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;

/// A program without a manifest is told an old version by the documented functions, which agree with the registry on no Windows.
DWORD build_of_kernel() {
    using GetVersion = LONG(WINAPI*)(OSVERSIONINFOW*);
    const auto get = reinterpret_cast<GetVersion>(reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlGetVersion")));
    OSVERSIONINFOW version{};
    version.dwOSVersionInfoSize = sizeof version;
    return get && get(&version) == 0 ? version.dwBuildNumber : 0;
}

Result<Value> version(Machine& machine) {
    const auto facts = kubelet::make_host(machine.files)->describe();
    return Value::object({{"server", facts.os_image.starts_with("Windows Server")},
                          {"version10", facts.windows_build.starts_with("10.0.")},
                          {"kernelAgrees", facts.windows_build.ends_with("." + std::to_string(build_of_kernel()))},
                          {"hasRevision", facts.kernel_version.starts_with(facts.windows_build + ".")}});
}

Result<Value> identity(Machine& machine) {
    const auto facts = kubelet::make_host(machine.files)->describe();
    const auto is_uuid_letter = [](unsigned char c) { return c == '-' || std::isdigit(c) || (c >= 'A' && c <= 'F'); };
    return Value::object({{"name", !facts.hostname.empty()},
                          {"uuid", facts.system_uuid.size() == 36 && std::ranges::all_of(facts.system_uuid, is_uuid_letter)},
                          {"boot", facts.boot_id != "0"}});
}

Result<Value> memory(Machine& machine) {
    const auto host = kubelet::make_host(machine.files);
    const auto facts = host->describe();
    const auto usage = host->usage();
    return Value::object({{"memory", facts.memory > 0 && usage.memory_available > 0 && usage.memory_available < facts.memory},
                          {"commit", usage.commit_total > 0 && usage.commit_total < usage.commit_limit},
                          {"commitIsMoreThanMemory", usage.commit_limit >= facts.memory}});
}

/// The counter grows by what a processor does, in nanoseconds.
Result<Value> processors(Machine& machine) {
    const auto host = kubelet::make_host(machine.files);
    constexpr std::int64_t Millisecond = 1'000'000;
    const auto before = host->usage().cpu_nanoseconds;
    for (const auto start = GetTickCount64(); GetTickCount64() - start < 500;) continue;
    const auto grown = host->usage().cpu_nanoseconds - before;
    return Value::object({{"some", host->describe().processors > 0}, {"grows", grown >= 50 * Millisecond}});
}

Result<Value> boot_time(Machine& machine) {
    const auto first = kubelet::make_host(machine.files)->usage();
    Sleep(1100);
    const auto second = kubelet::make_host(machine.files)->usage();
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    return Value::object(
        {{"past", first.boot_time > 0 && first.boot_time <= now}, {"stays", std::abs(first.boot_time - second.boot_time) <= 1}});
}

Result<Value> network(Machine& machine) {
    const auto usage = kubelet::make_host(machine.files)->usage();
    return Value::object({{"interface", !usage.network_interface.empty()}, {"received", usage.received_bytes > 0}});
}

Result<Value> name_servers(Machine& machine) {
    return Value::object({{"some", !kubelet::make_host(machine.files)->describe().dns_servers.empty()}});
}

/// Values such as "%SystemRoot%\system32\cmd.exe".
Result<Value> machine_environment(Machine&) {
    const std::string shell = to_lower(node_join::registered_machine_variable("ComSpec"));
    return Value::object({{"expanded", shell.ends_with("\\system32\\cmd.exe") && !shell.contains('%')}});
}

}  // namespace

Area area_host() {
    return {.probes = {{"host-version", version},
                       {"host-identity", identity},
                       {"host-memory", memory},
                       {"host-processors", processors},
                       {"host-boot-time", boot_time},
                       {"host-network", network},
                       {"host-name-servers", name_servers},
                       {"machine-environment", machine_environment}},
            .parts = {}};
}

}  // namespace porthole::cmd::self_check
