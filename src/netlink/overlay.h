#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/values/ip.h"

namespace porthole::net {

/// A VXLAN of this node.
struct OverlayDevice {
    std::string name;  ///< "flannel.4096"
    std::uint32_t vni = 4096;
    std::uint16_t port = 4789;
    IpAddress node;     ///< this node's address, from which packets leave
    std::string mac;    ///< "5e:00:c0:00:02:0b", the address of this end for other nodes
    IpAddress address;  ///< of the device, alone: the source of what the node itself sends into the overlay
    int mtu = 1450;
};

/// The far end of a VXLAN: a next hop that only these entries (neighbor and forwarding) lead to.
struct OverlayPeer {
    IpAddress hop;
    std::string mac;
    IpAddress node;
    auto operator<=>(const OverlayPeer&) const = default;
};

/// The seam to a node's overlay device. Calls are short and synchronous. Errors: Io, BadRequest for an invalid MAC address.
class Overlay {
public:
    virtual ~Overlay() = default;
    /// Creates the device, and replaces one of the same name with another VNI, port, address or MAC.
    virtual Result<void> ensure(const OverlayDevice& device) = 0;
    virtual Result<void> set_peer(const std::string& device, const OverlayPeer& peer) = 0;
    /// Success if there is none.
    virtual Result<void> remove_peer(const std::string& device, const OverlayPeer& peer) = 0;
};

/// For the network namespace of this process.
std::unique_ptr<Overlay> make_overlay();

}  // namespace porthole::net
