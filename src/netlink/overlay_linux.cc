#include "netlink/overlay.h"

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "netlink/netlink.h"

namespace porthole::net {

namespace {

using Mac = std::array<std::uint8_t, 6>;

Error failure(const std::string& what) { return Error(Reason::Io, what + ": " + std::strerror(errno)); }

Result<Mac> parse_mac(const std::string& text) {
    Mac mac{};
    unsigned parts[6];
    if (std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x", &parts[0], &parts[1], &parts[2], &parts[3], &parts[4], &parts[5]) != 6)
        return Error(Reason::BadRequest, "\"" + text + "\" is not a valid MAC address");
    for (std::size_t i = 0; i < mac.size(); ++i) mac[i] = static_cast<std::uint8_t>(parts[i]);
    return mac;
}

/// A request about links, addresses or neighbors that the kernel acknowledges.
class Request {
public:
    template <class Header>
    Request(std::uint16_t type, std::uint16_t flags, Header header)
        : request_(type, static_cast<std::uint16_t>(NLM_F_ACK | flags), header) {}

    NetlinkRequest& operator*() { return request_; }
    void put(std::uint16_t type, const IpAddress& address) { request_.put(type, htonl(address.v4_number())); }
    void put(std::uint16_t type, const Mac& mac) { request_.put(type, mac.data(), mac.size()); }
    bool send(const NetlinkSocket::Visit& visit = {}) { return NetlinkSocket(NETLINK_ROUTE).exchange(request_, visit); }

private:
    NetlinkRequest request_;
};

/// What the kernel says of a link, as far as it matters here.
struct Found {
    std::string kind;
    Mac mac{};
    std::uint32_t vni = 0, local = 0;
    std::uint16_t port = 0;
};

void read_vxlan(const NetlinkAttribute& data, Found& found) {
    for_each_attribute(data.payload(), [&](const NetlinkAttribute& attribute) {
        switch (attribute.type()) {
            case IFLA_VXLAN_ID:
                found.vni = attribute.number<std::uint32_t>();
                break;
            case IFLA_VXLAN_LOCAL:
                found.local = ntohl(attribute.number<std::uint32_t>());
                break;
            case IFLA_VXLAN_PORT:
                found.port = ntohs(attribute.number<std::uint16_t>());
                break;
        }
    });
}

Found read_link(std::string_view payload) {
    Found found;
    for_each_attribute(NetlinkMessage<ifinfomsg>(payload).attributes(), [&](const NetlinkAttribute& attribute) {
        if (attribute.type() == IFLA_ADDRESS && attribute.payload().size() == found.mac.size())
            std::memcpy(found.mac.data(), attribute.payload().data(), found.mac.size());
        if (attribute.type() != IFLA_LINKINFO) return;
        for_each_attribute(attribute.payload(), [&](const NetlinkAttribute& info) {
            if (info.type() == IFLA_INFO_KIND) found.kind = info.text();
            if (info.type() == IFLA_INFO_DATA) read_vxlan(info, found);
        });
    });
    return found;
}

class KernelOverlay final : public Overlay {
public:
    Result<void> ensure(const OverlayDevice& device) override {
        TRY(const Mac mac, parse_mac(device.mac));
        unsigned index = if_nametoindex(device.name.c_str());
        if (index != 0 && !is_right(index, device, mac)) {
            Request removal(RTM_DELLINK, 0, ifinfomsg{.ifi_index = static_cast<int>(index)});
            if (!removal.send()) return failure("removing the network device " + device.name);
            index = 0;
        }
        if (index == 0) {
            TRY_VOID(make(device, mac));
            index = if_nametoindex(device.name.c_str());
        }
        Request up(RTM_NEWLINK, 0, ifinfomsg{.ifi_index = static_cast<int>(index), .ifi_flags = IFF_UP, .ifi_change = IFF_UP});
        (*up).put(IFLA_MTU, static_cast<std::uint32_t>(device.mtu));
        if (!up.send()) return failure("bringing up " + device.name);
        Request address(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE,
                        ifaddrmsg{.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = index});
        address.put(IFA_LOCAL, device.address);
        address.put(IFA_ADDRESS, device.address);
        if (!address.send()) return failure("giving " + device.name + " its address");
        return {};
    }

    Result<void> set_peer(const std::string& device, const OverlayPeer& peer) override {
        TRY(const Mac mac, parse_mac(peer.mac));
        const int index = static_cast<int>(if_nametoindex(device.c_str()));
        constexpr std::uint16_t Replace = NLM_F_CREATE | NLM_F_REPLACE;
        Request neighbor(RTM_NEWNEIGH, Replace, ndmsg{.ndm_family = AF_INET, .ndm_ifindex = index, .ndm_state = NUD_PERMANENT});
        neighbor.put(NDA_DST, peer.hop);
        neighbor.put(NDA_LLADDR, mac);
        if (!neighbor.send()) return failure("naming the router of " + peer.hop.to_string());
        Request forwarding(
            RTM_NEWNEIGH, Replace,
            ndmsg{.ndm_family = AF_BRIDGE, .ndm_ifindex = index, .ndm_state = NUD_PERMANENT | NUD_NOARP, .ndm_flags = NTF_SELF});
        forwarding.put(NDA_LLADDR, mac);
        forwarding.put(NDA_DST, peer.node);
        if (!forwarding.send()) return failure("naming the node of " + peer.hop.to_string());
        return {};
    }

    Result<void> remove_peer(const std::string& device, const OverlayPeer& peer) override {
        TRY(const Mac mac, parse_mac(peer.mac));
        const int index = static_cast<int>(if_nametoindex(device.c_str()));
        if (index == 0) return {};
        Request neighbor(RTM_DELNEIGH, 0, ndmsg{.ndm_family = AF_INET, .ndm_ifindex = index});
        neighbor.put(NDA_DST, peer.hop);
        if (!neighbor.send() && errno != ENOENT) return failure("forgetting the router of " + peer.hop.to_string());
        Request forwarding(RTM_DELNEIGH, 0, ndmsg{.ndm_family = AF_BRIDGE, .ndm_ifindex = index, .ndm_flags = NTF_SELF});
        forwarding.put(NDA_LLADDR, mac);
        forwarding.put(NDA_DST, peer.node);
        if (!forwarding.send() && errno != ENOENT) return failure("forgetting the node of " + peer.hop.to_string());
        return {};
    }

private:
    static bool is_right(unsigned index, const OverlayDevice& device, const Mac& mac) {
        Found found;
        Request query(RTM_GETLINK, 0, ifinfomsg{.ifi_index = static_cast<int>(index)});
        return query.send([&](std::string_view payload) { found = read_link(payload); }) && found.kind == "vxlan" &&
               found.vni == device.vni && found.port == device.port && found.local == device.node.v4_number() && found.mac == mac;
    }

    static Result<void> make(const OverlayDevice& device, const Mac& mac) {
        Request request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, ifinfomsg{});
        (*request).put(IFLA_IFNAME, device.name);
        request.put(IFLA_ADDRESS, mac);
        (*request).put_nested(IFLA_LINKINFO, [&] {
            (*request).put(IFLA_INFO_KIND, std::string("vxlan"));
            (*request).put_nested(IFLA_INFO_DATA, [&] {
                (*request).put(IFLA_VXLAN_ID, device.vni);
                request.put(IFLA_VXLAN_LOCAL, device.node);
                (*request).put(IFLA_VXLAN_PORT, htons(device.port));
                (*request).put(IFLA_VXLAN_LEARNING, std::uint8_t{0});
            });
        });
        if (!request.send()) return failure("making the network device " + device.name);
        return {};
    }
};

}  // namespace

std::unique_ptr<Overlay> make_overlay() { return std::make_unique<KernelOverlay>(); }

}  // namespace porthole::net
