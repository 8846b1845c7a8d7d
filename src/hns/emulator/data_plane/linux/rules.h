#pragma once
#include <optional>
#include <string>
#include <vector>

#include "hns/emulator/data_plane/linux/kernel_state.h"

namespace porthole::net {
struct NftChange;
}

namespace porthole::hns::emulator {

/// Our nftables table. Rules that are the same for every host are in its constant chains; objects only add elements to named sets and maps,
/// and the few chains that these refer to, so that the cost of a change does not depend on the number of objects.
///
/// Links are distinguished by name: hnsep* are ports of endpoints, hnssw* represent the unused part of a subnet, hnsvx* are VXLANs; the set
/// "uplinks" has the virtual adapters of external switches.
inline constexpr const char* RuleTable = "porthole-hns";

/// Marks of packets: the low bits choose a routing table of a tunnel network or of a backend that takes packets unchanged.
inline constexpr unsigned TunnelMark = 0x1000000, KeptDestinationMark = 0x2000000;

/// Replaces the whole table. Works whatever was there.
std::string whole_table(const KernelState& state);
/// The text that changes the table from before `delta` to after it; "" if nothing changes.
std::string table_change(const StateDelta& delta);
std::string remove_table();
/// The changes of table_change() in the kernel's form, without the program nft, whose run is most of the cost of changing one load
/// balancer. Nullopt for a change that also needs chains, or sets of names of links, marks or ranges, or that is large.
std::optional<std::vector<net::NftChange>> element_changes(const StateDelta& delta);

/// The chain that sends a packet to one of `slots` backends. Packets of connections with the same hash go to the same one: 0 all of
/// addresses and ports, 1 client and protocol, 2 client.
struct Balancer {
    enum class Kind { Frontend, NodePort, KeptDestination };
    Kind kind = Kind::Frontend;
    std::size_t slots = 1;
    std::uint32_t distribution = 0;
};
Chain balancer_chain(const Balancer& balancer);

}  // namespace porthole::hns::emulator
