#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "hns/emulator/operations/transaction.h"

namespace porthole::hns::emulator {

/// A subnet of a network, with values derived from its document.
struct SubnetPlan {
    IpPrefix prefix;
    std::optional<IpAddress> gateway;  ///< next hop of its default route
    bool gateway_reserved = false;     ///< no endpoint may have it
    std::string id;
};

/// The subnets of a stored network, whose prefixes are valid.
std::vector<SubnetPlan> subnets_of(const hcn::HostComputeNetwork& network);
/// The subnet that contains an address; nullptr if there is none.
const SubnetPlan* find_subnet(const std::vector<SubnetPlan>& subnets, const IpAddress& address);

/// A whole prefix: no bits beyond its length. Error: Hresult::InvalidPrefix.
Result<IpPrefix> parse_prefix(const std::string& text);
/// Error: Hresult::InvalidIp.
Result<IpAddress> parse_address(const std::string& text);
/// "10.0.0.0/8", "10.0.0.1" or "::/0"? Used for lists in policies.
bool is_address_or_prefix(const std::string& text);

/// Sets addresses, prefix lengths and default routes of a new endpoint, and allocates missing ones. Endpoints of other hosts need an
/// address but no subnet. Errors: Hresult::InvalidIp (outside every subnet), AddressInvalidOrReserved (the network's own),
/// ObjectAlreadyExists (in use).
Result<void> assign_addresses(const Transaction& transaction, const Network& network, hcn::HostComputeEndpoint& endpoint);
/// The given MAC, or the next of the network's pool. Error: Hresult::InvalidEndpoint.
Result<void> assign_mac(const Transaction& transaction, const Network& network, hcn::HostComputeEndpoint& endpoint);
/// A pool of 4,096 MACs of 00-15-5D that no other network uses. Error: Hresult::InvalidNetwork where all are taken.
Result<hcn::MacPool> make_mac_pool(const Transaction& transaction);
/// A MAC of 00-15-5D from outside the pools.
std::string make_router_mac(const Transaction& transaction);
/// A prefix for a NAT network without one: the first /20 of 172.16.0.0/12 that overlaps no other.
Result<std::string> make_nat_prefix(const Transaction& transaction);

}  // namespace porthole::hns::emulator
