#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
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

int prefix_length_of(const sockaddr* mask) {
    if (!mask) return 0;
    const bool v4 = mask->sa_family == AF_INET;
    const auto* bytes = v4 ? reinterpret_cast<const unsigned char*>(&reinterpret_cast<const sockaddr_in*>(mask)->sin_addr)
                           : reinterpret_cast<const unsigned char*>(&reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr);
    int length = 0;
    for (int i = 0; i < (v4 ? 4 : 16); ++i) length += std::popcount(bytes[i]);
    return length;
}

std::string mac_text(const unsigned char* bytes) {
    char text[18];
    std::snprintf(text, sizeof text, "%02x-%02x-%02x-%02x-%02x-%02x", bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]);
    return text;
}

int mtu_of(const std::string& device) {
    ifreq request{};
    device.copy(request.ifr_name, sizeof request.ifr_name - 1);
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool known = ::ioctl(socket, SIOCGIFMTU, &request) == 0;
    ::close(socket);
    return known ? request.ifr_mtu : InterfaceFacts().mtu;
}

std::optional<IpAddress> address_of(const sockaddr* socket) {
    char text[INET6_ADDRSTRLEN] = "";
    if (!socket || (socket->sa_family != AF_INET && socket->sa_family != AF_INET6)) return std::nullopt;
    const void* bytes = socket->sa_family == AF_INET ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(socket)->sin_addr)
                                                     : &reinterpret_cast<const sockaddr_in6*>(socket)->sin6_addr;
    if (!::inet_ntop(socket->sa_family, bytes, text, sizeof text)) return std::nullopt;
    const auto address = IpAddress::parse(text);
    return address ? std::optional(*address) : std::nullopt;
}

}  // namespace

std::vector<Interface> interfaces() {
    std::vector<Interface> all;
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return all;
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> listed(first, ::freeifaddrs);
    for (const ifaddrs* one = first; one; one = one->ifa_next) {
        if (one->ifa_flags & IFF_LOOPBACK) continue;
        auto known = std::ranges::find(all, one->ifa_name, &Interface::name);
        if (known == all.end()) known = all.insert(all.end(), {.name = one->ifa_name, .addresses = {}});
        if (const auto address = address_of(one->ifa_addr)) known->addresses.push_back(*address);
    }
    return all;
}

std::optional<InterfaceFacts> interface_with(const IpAddress& address) {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) return std::nullopt;
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
    InterfaceFacts facts;
    for (const ifaddrs* one = first; one; one = one->ifa_next) {
        if (!has_address(one->ifa_addr, address)) continue;
        facts.name = one->ifa_name;
        facts.prefix_length = prefix_length_of(one->ifa_netmask);
    }
    if (facts.name.empty()) return std::nullopt;
    facts.mtu = mtu_of(facts.name);
    for (const ifaddrs* one = first; one; one = one->ifa_next) {
        if (facts.name != one->ifa_name || !one->ifa_addr || one->ifa_addr->sa_family != AF_PACKET) continue;
        const auto& link = *reinterpret_cast<const sockaddr_ll*>(one->ifa_addr);
        if (link.sll_halen == 6) facts.mac = mac_text(link.sll_addr);
    }
    return facts;
}

}  // namespace porthole::net
