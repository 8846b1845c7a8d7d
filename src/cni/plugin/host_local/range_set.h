#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "schema/value.h"

namespace porthole::cni {

/// Addresses of one subnet that may be given out.
struct Range {
    IpPrefix subnet;
    IpAddress first, last;  ///< both may be given out
    IpAddress gateway;      ///< never given out

    bool contains(const IpAddress& address) const { return first <= address && address <= last; }
    std::string to_string() const { return first.to_string() + "-" + last.to_string(); }
    bool operator==(const Range&) const = default;
};

/// Ranges of one family, from which a container gets one address.
using RangeSet = std::vector<Range>;

/// `{"subnet":…,"rangeStart":…,"rangeEnd":…,"gateway":…}`: the gateway is the first address unless given, and the range all
/// but the network's and the broadcast address. Error: InvalidConfig of the CNI, naming the field.
Result<Range> read_range(const schema::Value& value);
/// Of `ranges` (a list of lists), of a single `subnet` next to it, and of the runtime's `ipRanges`. Errors also for families mixed in
/// a set and for ranges that overlap.
Result<std::vector<RangeSet>> read_range_sets(const schema::Value& ipam, const schema::Value& runtime_ranges);

const Range* find_range(const RangeSet& set, const IpAddress& address);
/// The address after `address`, in the order in which a set is gone through; wraps. The first one for nothing.
IpAddress next_address(const RangeSet& set, const std::optional<IpAddress>& address);
bool is_gateway(const RangeSet& set, const IpAddress& address);
/// "10.22.0.2-10.22.0.254,…"
std::string to_string(const RangeSet& set);

}  // namespace porthole::cni
