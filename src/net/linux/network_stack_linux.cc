#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <fstream>

#include "net/linux/netlink.h"
#include "net/linux/network_stack.h"

namespace porthole::net {

namespace {

constexpr std::uint8_t OwnProtocol = 80;

Error failure(const std::string& what) { return Error(Reason::Io, what + ": " + std::strerror(errno)); }

IpAddress address_of(const nlattr* attribute) { return IpAddress::v4(ntohl(mnl_attr_get_u32(attribute))); }

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

int read_route(const nlmsghdr* message, void* into) {
    const auto* header = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(message));
    if (header->rtm_family != AF_INET || header->rtm_protocol != OwnProtocol) return MNL_CB_OK;
    Route route;
    IpAddress destination;
    for_each_attribute<rtmsg>(message, [&](const nlattr* attribute) {
        switch (mnl_attr_get_type(attribute)) {
            case RTA_DST:
                destination = address_of(attribute);
                break;
            case RTA_GATEWAY:
                route.gateway = address_of(attribute);
                break;
            case RTA_PREFSRC:
                route.source = address_of(attribute);
                break;
            case RTA_OIF: {
                char name[IF_NAMESIZE] = {};
                if (if_indextoname(mnl_attr_get_u32(attribute), name)) route.device = name;
                break;
            }
        }
    });
    route.destination = IpPrefix(destination, header->rtm_dst_len);
    route.onlink = (header->rtm_flags & RTNH_F_ONLINK) != 0;
    if (header->rtm_type == RTN_LOCAL) route.kind = Route::Kind::Local;
    if (header->rtm_type == RTN_UNREACHABLE) route.kind = Route::Kind::Unreachable;
    static_cast<std::vector<Route>*>(into)->push_back(std::move(route));
    return MNL_CB_OK;
}

int read_default_device(const nlmsghdr* message, void* into) {
    const auto* header = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(message));
    if (header->rtm_family != AF_INET || header->rtm_dst_len != 0 || header->rtm_table != RT_TABLE_MAIN) return MNL_CB_OK;
    for_each_attribute<rtmsg>(message, [&](const nlattr* attribute) {
        if (mnl_attr_get_type(attribute) == RTA_OIF) *static_cast<unsigned*>(into) = mnl_attr_get_u32(attribute);
    });
    return MNL_CB_OK;
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
        TRY_VOID(dump(read_route, &routes));
        return routes;
    }

    Result<void> set_route(const Route& route) override {
        char buffer[512];
        nlmsghdr* message = route_message(buffer, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, route);
        if (route.gateway) mnl_attr_put_u32(message, RTA_GATEWAY, htonl(route.gateway->v4_number()));
        if (route.source) mnl_attr_put_u32(message, RTA_PREFSRC, htonl(route.source->v4_number()));
        if (!route.device.empty()) {
            const unsigned index = if_nametoindex(route.device.c_str());
            if (index == 0) return failure("no network device " + route.device);
            mnl_attr_put_u32(message, RTA_OIF, index);
        }
        if (!exchange(message, nullptr, nullptr)) return failure("setting the route to " + route.destination.to_string());
        return {};
    }

    Result<void> remove_route(const Route& route) override {
        char buffer[512];
        if (!exchange(route_message(buffer, RTM_DELROUTE, 0, route), nullptr, nullptr) && errno != ESRCH) {
            return failure("removing the route to " + route.destination.to_string());
        }
        return {};
    }

    Result<std::vector<InterfaceAddress>> addresses() override {
        ifaddrs* list = nullptr;
        if (getifaddrs(&list) != 0) return failure("reading addresses");
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
        if (dump(read_default_device, &index) && index != 0 && if_indextoname(index, name)) {
            if (const int mtu = mtu_of(name); mtu > 0) return mtu;
        }
        return Ethernet;
    }

    Result<void> remove_device(const std::string& name) override {
        const unsigned index = if_nametoindex(name.c_str());
        if (index == 0) return {};
        char buffer[128];
        nlmsghdr* message = mnl_nlmsg_put_header(buffer);
        message->nlmsg_type = RTM_DELLINK;
        message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
        message->nlmsg_seq = 1;
        auto* header = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(message, sizeof(ifinfomsg)));
        header->ifi_family = AF_UNSPEC;
        header->ifi_index = static_cast<int>(index);
        if (!exchange(message, nullptr, nullptr) && errno != ENODEV) return failure("removing the network device " + name);
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
        if (!file) return errno == ENOENT ? Error(Reason::NotFound, "no kernel setting " + name) : failure("setting " + name);
        file << value << std::flush;
        if (!file) return failure("setting " + name);
        return {};
    }

private:
    static nlmsghdr* route_message(char* buffer, std::uint16_t type, std::uint16_t flags, const Route& route) {
        nlmsghdr* message = mnl_nlmsg_put_header(buffer);
        message->nlmsg_type = type;
        message->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
        message->nlmsg_seq = 1;
        auto* header = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(rtmsg)));
        header->rtm_family = AF_INET;
        header->rtm_dst_len = static_cast<std::uint8_t>(route.destination.length());
        header->rtm_table = route.kind == Route::Kind::Local ? RT_TABLE_LOCAL : RT_TABLE_MAIN;
        header->rtm_protocol = OwnProtocol;
        header->rtm_type = type_of(route.kind);
        if (route.onlink) header->rtm_flags |= RTNH_F_ONLINK;
        const bool direct = route.kind == Route::Kind::Unicast && !route.gateway;
        header->rtm_scope = route.kind == Route::Kind::Local ? RT_SCOPE_HOST : direct ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
        mnl_attr_put_u32(message, RTA_DST, htonl(route.destination.base().v4_number()));
        return message;
    }

    static Result<void> dump(mnl_cb_t callback, void* context) {
        char buffer[128];
        nlmsghdr* message = mnl_nlmsg_put_header(buffer);
        message->nlmsg_type = RTM_GETROUTE;
        message->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
        message->nlmsg_seq = 1;
        auto* header = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(rtmsg)));
        header->rtm_family = AF_INET;
        if (!exchange(message, callback, context)) return failure("reading routes");
        return {};
    }

    static bool exchange(const nlmsghdr* message, mnl_cb_t callback, void* context) {
        return NetlinkSocket(NETLINK_ROUTE).exchange(message, callback, context);
    }
};

}  // namespace

std::unique_ptr<NetworkStack> make_network_stack() { return std::make_unique<KernelStack>(); }

}  // namespace porthole::net
