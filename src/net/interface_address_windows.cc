// Windows' headers need this order.
#include <winsock2.h>

#include <ws2tcpip.h>

#include <iphlpapi.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "base/wide_windows.h"
#include "net/interface_address.h"

namespace porthole::net {
namespace {

bool has_address(const sockaddr* socket, const IpAddress& address) {
    if (socket->sa_family != (address.is_v4() ? AF_INET : AF_INET6)) return false;
    const void* bytes = address.is_v4() ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(socket)->sin_addr)
                                        : &reinterpret_cast<const sockaddr_in6*>(socket)->sin6_addr;
    return std::memcmp(bytes, address.bytes().data(), static_cast<std::size_t>(address.bits()) / 8) == 0;
}

/// The linked list of adapters; empty when the system has none to tell.
std::vector<char> adapters() {
    constexpr ULONG Flags = GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST | GAA_FLAG_SKIP_DNS_SERVER;
    std::vector<char> buffer(1 << 15);
    for (int attempt = 0; attempt < 4; ++attempt) {
        ULONG size = static_cast<ULONG>(buffer.size());
        const ULONG code = ::GetAdaptersAddresses(AF_UNSPEC, Flags, nullptr, reinterpret_cast<IP_ADAPTER_ADDRESSES*>(buffer.data()), &size);
        if (code == NO_ERROR) return buffer;
        if (code != ERROR_BUFFER_OVERFLOW) break;
        buffer.resize(size);
    }
    return {};
}

std::string mac_text(const BYTE* mac) {
    char text[18];
    std::snprintf(text, sizeof text, "%02x-%02x-%02x-%02x-%02x-%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
    return text;
}

std::optional<IpAddress> address_of(const sockaddr* socket) {
    char text[INET6_ADDRSTRLEN] = "";
    const bool v4 = socket->sa_family == AF_INET;
    if (!v4 && socket->sa_family != AF_INET6) return std::nullopt;
    const void* bytes = v4 ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(socket)->sin_addr)
                           : &reinterpret_cast<const sockaddr_in6*>(socket)->sin6_addr;
    if (!::inet_ntop(socket->sa_family, bytes, text, sizeof text)) return std::nullopt;
    const auto address = IpAddress::parse(text);
    return address ? std::optional(*address) : std::nullopt;
}

}  // namespace

std::vector<Interface> interfaces() {
    std::vector<Interface> all;
    const std::vector<char> buffer = adapters();
    const auto* adapter = buffer.empty() ? nullptr : reinterpret_cast<const IP_ADAPTER_ADDRESSES*>(buffer.data());
    for (; adapter; adapter = adapter->Next) {
        if (adapter->IfType == IF_TYPE_SOFTWARE_LOOPBACK) continue;
        Interface one{.name = to_utf8(adapter->FriendlyName), .addresses = {}};
        for (const auto* each = adapter->FirstUnicastAddress; each; each = each->Next)
            if (const auto address = address_of(each->Address.lpSockaddr)) one.addresses.push_back(*address);
        all.push_back(std::move(one));
    }
    return all;
}

std::optional<InterfaceFacts> interface_with(const IpAddress& address) {
    const std::vector<char> buffer = adapters();
    const auto* adapter = buffer.empty() ? nullptr : reinterpret_cast<const IP_ADAPTER_ADDRESSES*>(buffer.data());
    for (; adapter; adapter = adapter->Next) {
        for (const auto* one = adapter->FirstUnicastAddress; one; one = one->Next) {
            if (!has_address(one->Address.lpSockaddr, address)) continue;
            return InterfaceFacts{.name = to_utf8(adapter->FriendlyName),
                                  .mac = adapter->PhysicalAddressLength == 6 ? mac_text(adapter->PhysicalAddress) : "",
                                  .prefix_length = one->OnLinkPrefixLength,
                                  .mtu = static_cast<int>(adapter->Mtu)};
        }
    }
    return std::nullopt;
}

}  // namespace porthole::net
