// ipconfig.exe in place of Wine's, which shows no DNS servers and no search list, so that nobody can see what a pod's DNS policy gave it.
//   ipconfig [/all]
//   ipconfig /flushdns      nothing is kept here: Windows' words, and success
// Everything else that Windows' own takes changes or shows what an emulated host has not (DHCP leases, a DNS cache), and is refused.
#include <winsock2.h>  // before windows.h

#include <iphlpapi.h>
#include <windows.h>
#include <ws2tcpip.h>

#include <cstdio>
#include <string>
#include <vector>

#include "winhost/tools/resolver_settings_windows.h"

namespace {

std::string to_utf8(const wchar_t* wide) {
    const int size = WideCharToMultiByte(CP_UTF8, 0, wide, -1, nullptr, 0, nullptr, nullptr);
    if (size <= 1) return {};
    std::string text(size - 1, '\0');
    WideCharToMultiByte(CP_UTF8, 0, wide, -1, text.data(), size, nullptr, nullptr);
    return text;
}

std::string to_text(const SOCKET_ADDRESS& address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address.lpSockaddr->sa_family == AF_INET)
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address.lpSockaddr)->sin_addr, text, sizeof text);
    else
        inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address.lpSockaddr)->sin6_addr, text, sizeof text);
    return text;
}

/// As Windows writes it: the name, dots to a column, and each value on a line.
void print_values(const std::string& name, const std::vector<std::string>& values) {
    constexpr std::size_t Width = 34;
    std::string label = name;
    while (label.size() < Width) label += label.size() % 2 ? ' ' : '.';
    std::printf("   %s: %s\n", label.c_str(), values.empty() ? "" : values.front().c_str());
    for (std::size_t i = 1; i < values.size(); ++i) std::printf("%*s%s\n", int(Width + 5), "", values[i].c_str());
}
void print_value(const std::string& name, const std::string& value) { print_values(name, {value}); }

/// A linked list of Windows', each of whose items has an address.
template <typename Item>
std::vector<std::string> addresses(const Item* first) {
    std::vector<std::string> all;
    for (const Item* item = first; item; item = item->Next) all.push_back(to_text(item->Address));
    return all;
}

std::string subnet_mask(UINT8 length) {
    ULONG mask = 0;
    ConvertLengthToIpv4Mask(length, &mask);
    in_addr address{};
    address.s_addr = mask;
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &address, text, sizeof text);
    return text;
}

std::string physical_address(const IP_ADAPTER_ADDRESSES& adapter) {
    std::string text;
    for (ULONG i = 0; i < adapter.PhysicalAddressLength; ++i) {
        char byte[4];
        std::snprintf(byte, sizeof byte, "%s%02X", i ? "-" : "", adapter.PhysicalAddress[i]);
        text += byte;
    }
    return text;
}

void print_addresses(const IP_ADAPTER_ADDRESSES& adapter, bool all) {
    const std::string state = all ? "(Preferred)" : "";
    for (const auto* item = adapter.FirstUnicastAddress; item; item = item->Next) {
        const bool is_v4 = item->Address.lpSockaddr->sa_family == AF_INET;
        if (is_v4) {
            print_value("IPv4 Address", to_text(item->Address) + state);
            print_value("Subnet Mask", subnet_mask(item->OnLinkPrefixLength));
        } else {
            const auto& address = reinterpret_cast<const sockaddr_in6*>(item->Address.lpSockaddr)->sin6_addr;
            const bool is_local = IN6_IS_ADDR_LINKLOCAL(&address);
            const std::string zone = is_local ? "%" + std::to_string(adapter.IfIndex) : "";
            print_value(is_local ? "Link-local IPv6 Address" : "IPv6 Address", to_text(item->Address) + zone + state);
        }
    }
}

void print_adapter(const IP_ADAPTER_ADDRESSES& adapter, bool all) {
    std::printf("\nEthernet adapter %s:\n\n", to_utf8(adapter.FriendlyName).c_str());
    print_value("Connection-specific DNS Suffix", to_utf8(adapter.DnsSuffix));
    if (all) {
        print_value("Description", to_utf8(adapter.Description));
        print_value("Physical Address", physical_address(adapter));
        print_value("DHCP Enabled", "No");
        print_value("Autoconfiguration Enabled", "Yes");
    }
    print_addresses(adapter, all);
    print_values("Default Gateway", addresses(adapter.FirstGatewayAddress));
    if (!all) return;
    print_values("DNS Servers", addresses(adapter.FirstDnsServerAddress));
    print_value("NetBIOS over Tcpip", "Disabled");
}

void print_host() {
    wchar_t name[256] = L"";
    DWORD size = 256;
    GetComputerNameExW(ComputerNameDnsHostname, name, &size);
    print_value("Host Name", to_utf8(name));
    print_value("Primary Dns Suffix", "");
    print_value("Node Type", "Hybrid");
    print_value("IP Routing Enabled", "No");
    print_value("WINS Proxy Enabled", "No");
    if (const auto suffixes = porthole::winhost::search_list(); !suffixes.empty()) print_values("DNS Suffix Search List", suffixes);
}

int show(bool all) {
    constexpr ULONG Flags = GAA_FLAG_INCLUDE_GATEWAYS | GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST;
    ULONG size = 64 << 10;
    std::vector<char> memory;
    ULONG error = ERROR_BUFFER_OVERFLOW;
    for (int round = 0; round < 4 && error == ERROR_BUFFER_OVERFLOW; ++round) {
        memory.resize(size);
        error = GetAdaptersAddresses(AF_UNSPEC, Flags, nullptr, reinterpret_cast<IP_ADAPTER_ADDRESSES*>(memory.data()), &size);
    }
    if (error != ERROR_SUCCESS && error != ERROR_NO_DATA) {
        std::fprintf(stderr, "ipconfig: the adapters cannot be read: error %lu\n", error);
        return 1;
    }
    const auto* first = error == ERROR_NO_DATA ? nullptr : reinterpret_cast<const IP_ADAPTER_ADDRESSES*>(memory.data());
    std::printf("\nWindows IP Configuration\n\n");
    if (all) print_host();
    for (const auto* adapter = first; adapter; adapter = adapter->Next)
        if (adapter->IfType != IF_TYPE_SOFTWARE_LOOPBACK) print_adapter(*adapter, all);
    return 0;
}

}  // namespace

int wmain(int count, wchar_t** words) {
    std::wstring option = count > 1 ? words[1] : L"";
    if (option.starts_with(L'-')) option[0] = L'/';
    for (wchar_t& letter : option) letter = towlower(letter);
    if (count <= 2 && option.empty()) return show(false);
    if (count == 2 && option == L"/all") return show(true);
    if (count == 2 && option == L"/flushdns") {
        std::printf("\nWindows IP Configuration\n\nSuccessfully flushed the DNS Resolver Cache.\n");
        return 0;
    }
    std::fprintf(stderr, "ipconfig: an emulated Windows host has /all and /flushdns only\n");
    return 1;
}
