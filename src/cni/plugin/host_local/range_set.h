#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "schema/value.h"

namespace porthole::cni {

/// The addresses of one subnet that may be assigned.
struct Range {
    IpPrefix subnet;
    IpAddress first, last;  ///< both may be assigned
    IpAddress gateway;      ///< never assigned

    bool contains(const IpAddress& address) const { return first <= address && address <= last; }
    std::string to_string() const { return first.to_string() + "-" + last.to_string(); }
    bool operator==(const Range&) const = default;
};

/// Ranges of one family, from which a container gets one address.
using RangeSet = std::vector<Range>;

/// `{"subnet":…,"rangeStart":…,"rangeEnd":…,"gateway":…}`: by default the gateway is the first address, and the range is all but the
/// network and the broadcast address. Error: InvalidConfig of the CNI, with the field's name.
Result<Range> read_range(const schema::Value& value);
/// Of `ranges` (a list of lists), of a single `subnet` next to it, and of the runtime's `ipRanges`. Errors also for families mixed in
/// a set and for ranges that overlap.
Result<std::vector<RangeSet>> read_range_sets(const schema::Value& ipam, const schema::Value& runtime_ranges);

const Range* find_range(const RangeSet& set, const IpAddress& address);
/// The address after `address`, in the order in which a set is used; wraps around. The first one for nullopt.
IpAddress next_address(const RangeSet& set, const std::optional<IpAddress>& address);
bool is_gateway(const RangeSet& set, const IpAddress& address);
/// "10.22.0.2-10.22.0.254,…"
std::string to_string(const RangeSet& set);

}  // namespace porthole::cni
