#pragma once
#include <optional>
#include <string>
#include <vector>

#include "hns/emulator/data_plane/linux/kernel_state.h"

namespace porthole::net {
struct NftChange;
}

namespace porthole::hns::emulator {

/// Our nftables table. What is the same for every host is in its constant chains; objects only add elements to named sets and
/// maps, and the few chains that those refer to, so that a change costs the same however many objects there are.
///
/// Links are told apart by name: hnsep* are ports of endpoints, hnssw* represent the unused part of a subnet, hnsvx* are
/// VXLANs; the set "uplinks" has the virtual adapters of external switches.
inline constexpr const char* RuleTable = "porthole-hns";

/// Marks of packets: the low bits choose a routing table of a tunnel network or of a backend that takes packets unchanged.
inline constexpr unsigned TunnelMark = 0x1000000, KeptDestinationMark = 0x2000000;

/// Replaces the whole table. Works whatever was there.
std::string whole_table(const KernelState& state);
/// Turns the table from before `delta` into that after it; "" for nothing.
std::string table_change(const StateDelta& delta);
std::string remove_table();
/// What table_change() says, as the kernel takes it without the program nft, whose run is most of what a change of one load balancer costs.
/// Nothing for a change that also needs chains, or sets of names of links, marks or ranges, or that is large.
std::optional<std::vector<net::NftChange>> element_changes(const StateDelta& delta);

/// The chain that sends a packet to one of `slots` backends, as its name says. Packets of connections with the same hash go to the
/// same one: 0 all of addresses and ports, 1 client and protocol, 2 client.
struct Balancer {
    enum class Kind { Frontend, NodePort, KeptDestination };
    Kind kind = Kind::Frontend;
    std::size_t slots = 1;
    std::uint32_t distribution = 0;
};
Chain balancer_chain(const Balancer& balancer);

}  // namespace porthole::hns::emulator
