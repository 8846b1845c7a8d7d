#include "winhost/host/iscsi_portal.h"

#include <arpa/inet.h>

#include <charconv>
#include <string_view>

namespace porthole::winhost {
namespace {

/// Of one of a machine that is not this one.
bool is_far(const std::string& address) {
    in_addr four{};
    if (::inet_pton(AF_INET, address.c_str(), &four) == 1) {
        const std::uint32_t number = ntohl(four.s_addr);
        const std::uint32_t net = number >> 24;
        return net != 0 && net != 127 && net < 224 && number >> 16 != 0xa9fe;
    }
    in6_addr six{};
    if (::inet_pton(AF_INET6, address.c_str(), &six) != 1) return false;
    return !IN6_IS_ADDR_UNSPECIFIED(&six) && !IN6_IS_ADDR_LOOPBACK(&six) && !IN6_IS_ADDR_LINKLOCAL(&six) && !IN6_IS_ADDR_MULTICAST(&six) &&
           !IN6_IS_ADDR_V4MAPPED(&six) && !IN6_IS_ADDR_V4COMPAT(&six);
}

}  // namespace

std::string plain_address(const std::string& text) {
    std::string address = text;
    if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
    unsigned char bytes[sizeof(in6_addr)];
    char plain[INET6_ADDRSTRLEN] = "";
    for (const int family : {AF_INET, AF_INET6})
        if (::inet_pton(family, address.c_str(), bytes) == 1 && ::inet_ntop(family, bytes, plain, sizeof plain)) return plain;
    return "";
}

Result<std::string> portal_text(const csi_proxy::Iscsi::Portal& portal) {
    const std::string address = plain_address(portal.address);
    if (address.empty() || !is_far(address))
        return Error(
            Reason::BadRequest,
            "on this host, the address of an iSCSI portal is an IP address that is neither loopback, link-local nor multicast, and "
            "no name: " +
                portal.address);
    return (address.contains(':') ? "[" + address + "]" : address) + ":" + std::to_string(portal.port);
}

csi_proxy::Iscsi::Portal parse_portal(const std::string& text) {
    csi_proxy::Iscsi::Portal portal;
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos) return portal;
    portal.address = plain_address(text.substr(0, colon));
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), portal.port);
    return portal;
}

}  // namespace porthole::winhost
