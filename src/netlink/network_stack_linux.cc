#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

#include "netlink/netlink.h"
#include "netlink/network_stack.h"

namespace porthole::net {

namespace {

Error stack_error(const std::string& what) { return Error(Reason::Io, what + ": " + std::strerror(errno)); }

IpAddress route_address(const NetlinkAttribute& attribute) { return IpAddress::v4(ntohl(attribute.number<std::uint32_t>())); }

std::uint8_t type_of(Route::Kind kind) {
    switch (kind) {
        case Route::Kind::Unicast:
            return RTN_UNICAST;
        case Route::Kind::Local:
            return RTN_LOCAL;
        case Route::Kind::Unreachable:
            return RTN_UNREACHABLE;
    }
    return RTN_UNICAST;
}

std::optional<Route> read_own_route(const NetlinkMessage<rtmsg>& message) {
    const rtmsg& header = message.header();
    if (header.rtm_family != AF_INET || header.rtm_protocol != OwnRouteProtocol) return std::nullopt;
    Route route;
    IpAddress destination;
    for_each_attribute(message.attributes(), [&](const NetlinkAttribute& attribute) {
        switch (attribute.type()) {
            case RTA_DST:
                destination = route_address(attribute);
                break;
            case RTA_GATEWAY:
                route.gateway = route_address(attribute);
                break;
            case RTA_PREFSRC:
                route.source = route_address(attribute);
                break;
            case RTA_OIF: {
                char name[IF_NAMESIZE] = {};
                if (if_indextoname(attribute.number<std::uint32_t>(), name)) route.device = name;
                break;
            }
        }
    });
    route.destination = IpPrefix(destination, header.rtm_dst_len);
    route.onlink = (header.rtm_flags & RTNH_F_ONLINK) != 0;
    if (header.rtm_type == RTN_LOCAL) route.kind = Route::Kind::Local;
    if (header.rtm_type == RTN_UNREACHABLE) route.kind = Route::Kind::Unreachable;
    return route;
}

/// Index of the device that a default route goes out by; 0: this is not a default route.
unsigned read_default_device(const NetlinkMessage<rtmsg>& message) {
    const rtmsg& header = message.header();
    unsigned index = 0;
    if (header.rtm_family != AF_INET || header.rtm_dst_len != 0 || header.rtm_table != RT_TABLE_MAIN) return index;
    for_each_attribute(message.attributes(), [&](const NetlinkAttribute& attribute) {
        if (attribute.type() == RTA_OIF) index = attribute.number<std::uint32_t>();
    });
    return index;
}

int mtu_of(const char* device) {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return 0;
    ifreq request{};
    std::strncpy(request.ifr_name, device, IF_NAMESIZE - 1);
    const bool known = ioctl(socket, SIOCGIFMTU, &request) == 0;
    close(socket);
    return known ? request.ifr_mtu : 0;
}

class KernelStack final : public NetworkStack {
public:
    Result<std::vector<Route>> own_routes() override {
        std::vector<Route> routes;
        TRY_VOID(dump([&](const NetlinkMessage<rtmsg>& message) {
            if (auto route = read_own_route(message)) routes.push_back(std::move(*route));
        }));
        return routes;
    }

    Result<void> set_route(const Route& route) override {
        NetlinkRequest request = route_request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, route);
        if (route.gateway) request.put(RTA_GATEWAY, htonl(route.gateway->v4_number()));
        if (route.source) request.put(RTA_PREFSRC, htonl(route.source->v4_number()));
        if (!route.device.empty()) {
            const unsigned index = if_nametoindex(route.device.c_str());
            if (index == 0) return stack_error("no network device " + route.device);
            request.put(RTA_OIF, index);
        }
        if (!exchange(request)) return stack_error("setting the route to " + route.destination.to_string());
        return {};
    }

    Result<void> remove_route(const Route& route) override {
        if (!exchange(route_request(RTM_DELROUTE, 0, route)) && errno != ESRCH) {
            return stack_error("removing the route to " + route.destination.to_string());
        }
        return {};
    }

    Result<std::vector<InterfaceAddress>> addresses() override {
        ifaddrs* list = nullptr;
        if (getifaddrs(&list) != 0) return stack_error("reading addresses");
        const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
        std::vector<InterfaceAddress> result;
        for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
            if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET) continue;
            const auto number = [](const sockaddr* address) {
                return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr);
            };
            const int length = entry->ifa_netmask ? std::popcount(number(entry->ifa_netmask)) : 32;
            result.push_back({entry->ifa_name, IpAddress::v4(number(entry->ifa_addr)), length});
        }
        return result;
    }

    int uplink_mtu() override {
        constexpr int Ethernet = 1500;
        unsigned index = 0;
        char name[IF_NAMESIZE] = {};
        const auto look = [&](const NetlinkMessage<rtmsg>& message) {
            if (const unsigned found = read_default_device(message); found != 0) index = found;
        };
        if (dump(look) && index != 0 && if_indextoname(index, name)) {
            if (const int mtu = mtu_of(name); mtu > 0) return mtu;
        }
        return Ethernet;
    }

    Result<void> remove_device(const std::string& name) override {
        const unsigned index = if_nametoindex(name.c_str());
        if (index == 0) return {};
        const NetlinkRequest request(RTM_DELLINK, NLM_F_ACK, ifinfomsg{.ifi_family = AF_UNSPEC, .ifi_index = static_cast<int>(index)});
        if (!exchange(request) && errno != ENODEV) return stack_error("removing the network device " + name);
        return {};
    }

    Result<std::string> setting(const std::string& name) override {
        std::ifstream file("/proc/sys/" + name);
        std::string value;
        if (!std::getline(file, value)) return Error(Reason::NotFound, "no kernel setting " + name);
        return value;
    }
    Result<void> set_setting(const std::string& name, const std::string& value) override {
        std::ofstream file("/proc/sys/" + name);
        if (!file) return errno == ENOENT ? Error(Reason::NotFound, "no kernel setting " + name) : stack_error("setting " + name);
        file << value << std::flush;
        if (!file) return stack_error("setting " + name);
        return {};
    }

private:
    static NetlinkRequest route_request(std::uint16_t type, std::uint16_t flags, const Route& route) {
        const bool direct = route.kind == Route::Kind::Unicast && !route.gateway;
        rtmsg header{};
        header.rtm_family = AF_INET;
        header.rtm_dst_len = static_cast<std::uint8_t>(route.destination.length());
        header.rtm_table = route.kind == Route::Kind::Local ? RT_TABLE_LOCAL : RT_TABLE_MAIN;
        header.rtm_protocol = OwnRouteProtocol;
        header.rtm_type = type_of(route.kind);
        if (route.onlink) header.rtm_flags |= RTNH_F_ONLINK;
        header.rtm_scope = route.kind == Route::Kind::Local ? RT_SCOPE_HOST : direct ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
        NetlinkRequest request(type, static_cast<std::uint16_t>(NLM_F_ACK | flags), header);
        request.put(RTA_DST, htonl(route.destination.base().v4_number()));
        return request;
    }

    template <class F>
    static Result<void> dump(F visit) {
        rtmsg header{};
        header.rtm_family = AF_INET;
        const auto each = [&](std::string_view payload) { visit(NetlinkMessage<rtmsg>(payload)); };
        if (!exchange(NetlinkRequest(RTM_GETROUTE, NLM_F_DUMP, header), each)) return stack_error("reading routes");
        return {};
    }

    static bool exchange(const NetlinkRequest& request, const NetlinkSocket::Visit& visit = {}) {
        return NetlinkSocket(NETLINK_ROUTE).exchange(request, visit);
    }
};

}  // namespace

std::unique_ptr<NetworkStack> make_network_stack() { return std::make_unique<KernelStack>(); }

}  // namespace porthole::net
