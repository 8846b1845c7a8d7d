#include "net/linux/overlay.h"

#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "net/linux/netlink.h"

namespace porthole::net {

namespace {

using Mac = std::array<std::uint8_t, 6>;

Error failure(const std::string& what) { return Error(Reason::Io, what + ": " + std::strerror(errno)); }

Result<Mac> parse_mac(const std::string& text) {
    Mac mac{};
    unsigned parts[6];
    if (std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x", &parts[0], &parts[1], &parts[2], &parts[3], &parts[4], &parts[5]) != 6)
        return Error(Reason::BadRequest, "\"" + text + "\" is no MAC");
    for (std::size_t i = 0; i < mac.size(); ++i) mac[i] = static_cast<std::uint8_t>(parts[i]);
    return mac;
}

/// A request to the kernel with room for its attributes.
class Request {
public:
    template <class Header>
    Request(std::uint16_t type, std::uint16_t flags, Header header) : message_(mnl_nlmsg_put_header(buffer_)) {
        message_->nlmsg_type = type;
        message_->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
        message_->nlmsg_seq = 1;
        *static_cast<Header*>(mnl_nlmsg_put_extra_header(message_, sizeof(Header))) = header;
    }
    Request(const Request&) = delete;

    nlmsghdr* message() { return message_; }
    void put(std::uint16_t type, const IpAddress& address) { mnl_attr_put_u32(message_, type, htonl(address.v4_number())); }
    void put(std::uint16_t type, const Mac& mac) { mnl_attr_put(message_, type, mac.size(), mac.data()); }
    bool send(mnl_cb_t callback = nullptr, void* context = nullptr) {
        return NetlinkSocket(NETLINK_ROUTE).exchange(message_, callback, context);
    }

private:
    char buffer_[1024];
    nlmsghdr* message_;
};

/// What the kernel says of a link, as far as it matters here.
struct Found {
    std::string kind;
    Mac mac{};
    std::uint32_t vni = 0, local = 0;
    std::uint16_t port = 0;
};

void read_vxlan(const nlattr* data, Found& found) {
    for_each_nested(data, [&](const nlattr* attribute) {
        switch (mnl_attr_get_type(attribute)) {
            case IFLA_VXLAN_ID:
                found.vni = mnl_attr_get_u32(attribute);
                break;
            case IFLA_VXLAN_LOCAL:
                found.local = ntohl(mnl_attr_get_u32(attribute));
                break;
            case IFLA_VXLAN_PORT:
                found.port = ntohs(mnl_attr_get_u16(attribute));
                break;
        }
    });
}

int read_link(const nlmsghdr* message, void* into) {
    auto& found = *static_cast<Found*>(into);
    for_each_attribute<ifinfomsg>(message, [&](const nlattr* attribute) {
        const auto type = mnl_attr_get_type(attribute);
        if (type == IFLA_ADDRESS && mnl_attr_get_payload_len(attribute) == found.mac.size())
            std::memcpy(found.mac.data(), mnl_attr_get_payload(attribute), found.mac.size());
        if (type != IFLA_LINKINFO) return;
        for_each_nested(attribute, [&](const nlattr* info) {
            if (mnl_attr_get_type(info) == IFLA_INFO_KIND) found.kind = mnl_attr_get_str(info);
            if (mnl_attr_get_type(info) == IFLA_INFO_DATA) read_vxlan(info, found);
        });
    });
    return MNL_CB_STOP;
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
        mnl_attr_put_u32(up.message(), IFLA_MTU, static_cast<std::uint32_t>(device.mtu));
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
        Request neighbour(RTM_NEWNEIGH, Replace, ndmsg{.ndm_family = AF_INET, .ndm_ifindex = index, .ndm_state = NUD_PERMANENT});
        neighbour.put(NDA_DST, peer.hop);
        neighbour.put(NDA_LLADDR, mac);
        if (!neighbour.send()) return failure("naming the router of " + peer.hop.to_string());
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
        Request neighbour(RTM_DELNEIGH, 0, ndmsg{.ndm_family = AF_INET, .ndm_ifindex = index});
        neighbour.put(NDA_DST, peer.hop);
        if (!neighbour.send() && errno != ENOENT) return failure("forgetting the router of " + peer.hop.to_string());
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
        return query.send(read_link, &found) && found.kind == "vxlan" && found.vni == device.vni && found.port == device.port &&
               found.local == device.node.v4_number() && found.mac == mac;
    }

    static Result<void> make(const OverlayDevice& device, const Mac& mac) {
        Request request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, ifinfomsg{});
        nlmsghdr* message = request.message();
        mnl_attr_put_strz(message, IFLA_IFNAME, device.name.c_str());
        request.put(IFLA_ADDRESS, mac);
        nlattr* info = mnl_attr_nest_start(message, IFLA_LINKINFO);
        mnl_attr_put_strz(message, IFLA_INFO_KIND, "vxlan");
        nlattr* data = mnl_attr_nest_start(message, IFLA_INFO_DATA);
        mnl_attr_put_u32(message, IFLA_VXLAN_ID, device.vni);
        request.put(IFLA_VXLAN_LOCAL, device.node);
        mnl_attr_put_u16(message, IFLA_VXLAN_PORT, htons(device.port));
        mnl_attr_put_u8(message, IFLA_VXLAN_LEARNING, 0);
        mnl_attr_nest_end(message, data);
        mnl_attr_nest_end(message, info);
        if (!request.send()) return failure("making the network device " + device.name);
        return {};
    }
};

}  // namespace

std::unique_ptr<Overlay> make_overlay() { return std::make_unique<KernelOverlay>(); }

}  // namespace porthole::net
