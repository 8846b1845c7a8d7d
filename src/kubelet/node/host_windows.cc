// clang-format off
#include <winsock2.h>
#include <ws2tcpip.h>
#include <windows.h>
#include <iphlpapi.h>
#include <psapi.h>
// clang-format on

#include <algorithm>
#include <vector>

#include "base/flag_set.h"
#include "base/strings.h"
#include "kubelet/node/host.h"

namespace porthole::kubelet {
namespace {

constexpr const char* CurrentVersion = R"(SOFTWARE\Microsoft\Windows NT\CurrentVersion)";

std::string text_value(const char* key, const char* name) {
    char text[512];
    DWORD size = sizeof text;
    if (::RegGetValueA(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ, nullptr, text, &size) != ERROR_SUCCESS || size == 0) return "";
    return std::string(text, size - 1);
}

std::int64_t number_value(const char* key, const char* name) {
    DWORD number = 0, size = sizeof number;
    if (::RegGetValueA(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_DWORD, nullptr, &number, &size) != ERROR_SUCCESS) return 0;
    return number;
}

/// The registry says "{guid}"; clients expect it bare and in capitals.
std::string system_uuid() {
    std::string uuid = text_value(R"(SYSTEM\HardwareConfig)", "LastConfig");
    std::erase_if(uuid, [](char c) { return c == '{' || c == '}'; });
    return to_upper(uuid);
}

std::string host_name() {
    char name[256];
    DWORD size = sizeof name;
    return ::GetComputerNameExA(ComputerNamePhysicalDnsHostname, name, &size) ? std::string(name, size) : "";
}

void add_unless_there(std::vector<std::string>& list, std::string text) {
    if (!text.empty() && std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

void add_name_servers(std::vector<std::string>& servers) {
    ULONG size = 0;
    if (::GetNetworkParams(nullptr, &size) != ERROR_BUFFER_OVERFLOW) return;
    std::vector<char> buffer(size);
    auto* const information = reinterpret_cast<FIXED_INFO*>(buffer.data());
    if (::GetNetworkParams(information, &size) != NO_ERROR) return;
    for (const IP_ADDR_STRING* one = &information->DnsServerList; one; one = one->Next) add_unless_there(servers, one->IpAddress.String);
}

/// The machine's list, then that of each interface.
void add_searches(std::vector<std::string>& searches) {
    const std::string parameters = R"(SYSTEM\CurrentControlSet\Services\Tcpip\Parameters)";
    for (std::string& one : split_list(text_value(parameters.c_str(), "SearchList"))) add_unless_there(searches, std::move(one));
    const std::string interfaces = parameters + "\\Interfaces";
    HKEY key = nullptr;
    if (::RegOpenKeyExA(HKEY_LOCAL_MACHINE, interfaces.c_str(), 0, KEY_READ, &key) != ERROR_SUCCESS) return;
    char name[256];
    for (DWORD i = 0, size = sizeof name; ::RegEnumKeyExA(key, i, name, &size, nullptr, nullptr, nullptr, nullptr) == ERROR_SUCCESS;
         ++i, size = sizeof name)
        for (std::string& one : split_list(text_value((interfaces + "\\" + name).c_str(), "SearchList")))
            add_unless_there(searches, std::move(one));
    ::RegCloseKey(key);
}

std::int64_t ticks(const FILETIME& time) {
    return static_cast<std::int64_t>(time.dwHighDateTime) << 32 | static_cast<std::int64_t>(time.dwLowDateTime);
}

class WindowsHost final : public Host {
public:
    /// Nothing that cannot be found out keeps the kubelet from starting.
    HostFacts describe() override {
        HostFacts facts;
        facts.processors = std::max<std::int64_t>(::GetActiveProcessorCount(ALL_PROCESSOR_GROUPS), 1);
        MEMORYSTATUSEX memory{};
        memory.dwLength = sizeof memory;
        if (::GlobalMemoryStatusEx(&memory)) facts.memory = static_cast<std::int64_t>(memory.ullTotalPhys);
        facts.hostname = facts.machine_id = host_name();
        facts.system_uuid = system_uuid();
        facts.boot_id = std::to_string(
            number_value(R"(SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters)", "BootId"));
        facts.windows_build = std::to_string(number_value(CurrentVersion, "CurrentMajorVersionNumber")) + "." +
                              std::to_string(number_value(CurrentVersion, "CurrentMinorVersionNumber")) + "." +
                              text_value(CurrentVersion, "CurrentBuildNumber");
        facts.kernel_version = facts.windows_build + "." + std::to_string(number_value(CurrentVersion, "UBR"));
        facts.os_image = text_value(CurrentVersion, "ProductName");
        facts.operating_system = "windows";
        facts.architecture = "amd64";
        add_name_servers(facts.dns_servers);
        add_searches(facts.dns_searches);
        return facts;
    }

    HostUsage usage() override {
        HostUsage usage;
        FILETIME idle{}, kernel{}, user{};
        // Kernel time contains the idle time; all in units of 100 ns.
        if (::GetSystemTimes(&idle, &kernel, &user)) usage.cpu_nanoseconds = (ticks(kernel) - ticks(idle) + ticks(user)) * 100;
        PERFORMANCE_INFORMATION info{};
        if (::GetPerformanceInfo(&info, sizeof info)) {
            const auto page = static_cast<std::int64_t>(info.PageSize);
            usage.commit_total = static_cast<std::int64_t>(info.CommitTotal) * page;
            usage.commit_limit = static_cast<std::int64_t>(info.CommitLimit) * page;
            usage.memory_available = static_cast<std::int64_t>(info.PhysicalAvailable) * page;
            usage.memory_used = usage.commit_total;
            usage.memory_working_set = static_cast<std::int64_t>(info.PhysicalTotal) * page - usage.memory_available;
            usage.processes = info.ProcessCount;
        }
        FILETIME now{};
        ::GetSystemTimeAsFileTime(&now);
        usage.boot_time = ticks(now) / 10'000'000 - 11'644'473'600 - static_cast<std::int64_t>(::GetTickCount64() / 1000);
        add_network(usage);
        return usage;
    }

private:
    /// The first interface that is up and is no loopback. The table is looked up at run time: not every host has it.
    static void add_network(HostUsage& usage) {
        using GetTable = DWORD(WINAPI*)(PMIB_IF_TABLE2*);
        using FreeTable = void(WINAPI*)(PVOID);
        const HMODULE library = ::LoadLibraryA("iphlpapi.dll");
        const auto get = library ? reinterpret_cast<GetTable>(reinterpret_cast<void*>(::GetProcAddress(library, "GetIfTable2"))) : nullptr;
        const auto free =
            library ? reinterpret_cast<FreeTable>(reinterpret_cast<void*>(::GetProcAddress(library, "FreeMibTable"))) : nullptr;
        PMIB_IF_TABLE2 table = nullptr;
        if (!get || !free || get(&table) != NO_ERROR) return;
        for (ULONG i = 0; i < table->NumEntries; ++i) {
            const MIB_IF_ROW2& row = table->Table[i];
            if (row.Type == IF_TYPE_SOFTWARE_LOOPBACK || row.OperStatus != IfOperStatusUp) continue;
            usage.received_bytes = static_cast<std::int64_t>(row.InOctets);
            usage.sent_bytes = static_cast<std::int64_t>(row.OutOctets);
            usage.receive_errors = static_cast<std::int64_t>(row.InErrors);
            usage.send_errors = static_cast<std::int64_t>(row.OutErrors);
            for (const WCHAR* letter = row.Alias; *letter; ++letter) usage.network_interface += static_cast<char>(*letter);
            break;
        }
        free(table);
    }
};

}  // namespace

std::unique_ptr<Host> make_host(FileSystem&) { return std::make_unique<WindowsHost>(); }

}  // namespace porthole::kubelet
