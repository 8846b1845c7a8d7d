#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <netinet/in.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "net/interface_address.h"

namespace porthole::net {
namespace {

bool has_address(const sockaddr* socket, const IpAddress& address) {
    if (!socket || socket->sa_family != (address.is_v4() ? AF_INET : AF_INET6)) return false;
    const void* bytes = address.is_v4() ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(socket)->sin_addr)
                                        : &reinterpret_cast<const sockaddr_in6*>(socket)->sin6_addr;
    return std::memcmp(bytes, address.bytes().data(), static_cast<std::size_t>(address.bits()) / 8) == 0;
}

std::string mac_text(const unsigned char* bytes) {
    char text[18];
    std::snprintf(text, sizeof text, "%02x-%02x-%02x-%02x-%02x-%02x", bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]);
    return text;
}

}  // namespace

std::string mac_of_interface_with(const IpAddress& address) {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return "";
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
    std::string device;
    for (const ifaddrs* one = first; one; one = one->ifa_next) {
        if (has_address(one->ifa_addr, address)) device = one->ifa_name;
    }
    for (const ifaddrs* one = first; one; one = one->ifa_next) {
        if (device != one->ifa_name || !one->ifa_addr || one->ifa_addr->sa_family != AF_PACKET) continue;
        const auto& link = *reinterpret_cast<const sockaddr_ll*>(one->ifa_addr);
        if (link.sll_halen == 6) return mac_text(link.sll_addr);
    }
    return "";
}

}  // namespace porthole::net
