#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "hns/emulator/operations/transaction.h"

namespace porthole::hns::emulator {

/// A subnet of a network with what follows from its document.
struct SubnetPlan {
    IpPrefix prefix;
    std::optional<IpAddress> gateway;  ///< next hop of its default route
    bool gateway_reserved = false;     ///< no endpoint may have it
    std::string id;
};

/// The subnets of a stored network, whose prefixes are known to be good.
std::vector<SubnetPlan> subnets_of(const hcn::HostComputeNetwork& network);
/// The subnet that holds an address; nullptr where none does.
const SubnetPlan* find_subnet(const std::vector<SubnetPlan>& subnets, const IpAddress& address);

/// A whole prefix: no bits beyond its length. Error: Hresult::InvalidPrefix.
Result<IpPrefix> parse_prefix(const std::string& text);
/// Error: Hresult::InvalidIp.
Result<IpAddress> parse_address(const std::string& text);
/// "10.0.0.0/8", "10.0.0.1" or "::/0"? Used for lists in policies.
bool is_address_or_prefix(const std::string& text);

/// Fills in addresses, prefix lengths and default routes of a new endpoint, allocating what it does not give. Endpoints of other
/// hosts need an address but no subnet.
/// Errors: Hresult::InvalidIp (outside every subnet), AddressInvalidOrReserved (the network's own), ObjectAlreadyExists (in use).
Result<void> assign_addresses(const Transaction& transaction, const Network& network, hcn::HostComputeEndpoint& endpoint);
/// The MAC given, or the next of the network's pool. Error: Hresult::InvalidEndpoint.
Result<void> assign_mac(const Transaction& transaction, const Network& network, hcn::HostComputeEndpoint& endpoint);
/// A pool of 4,096 MACs of 00-15-5D that no other network uses.
hcn::MacPool make_mac_pool(const Transaction& transaction);
/// A MAC of 00-15-5D from outside the pools.
std::string make_router_mac(const Transaction& transaction);
/// A prefix for a NAT network that names none: the first /20 of 172.16.0.0/12 that overlaps nothing.
Result<std::string> make_nat_prefix(const Transaction& transaction);

}  // namespace porthole::hns::emulator
