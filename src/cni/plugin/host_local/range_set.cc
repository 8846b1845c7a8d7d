#include "cni/plugin/host_local/range_set.h"

#include <algorithm>

#include "cni/plugin/errors.h"

namespace porthole::cni {

using schema::Value;

namespace {

IpAddress last_of(const IpPrefix& subnet) {
    auto bytes = subnet.base().bytes();
    const int bits = subnet.base().bits();
    for (int bit = subnet.length(); bit < bits; ++bit)
        bytes[static_cast<std::size_t>(bit / 8)] |= static_cast<std::uint8_t>(0x80 >> (bit % 8));
    if (subnet.base().is_v6()) return IpAddress::v6(bytes);
    return IpAddress::v4(static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
                         static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3]);
}

Result<std::optional<IpAddress>> address_member(const Value& value, const char* name, const IpPrefix& subnet) {
    const std::string_view text = value.string_at({name});
    if (text.empty()) return std::optional<IpAddress>();
    auto address = IpAddress::parse(text);
    if (!address) return cni_error(CniCode::InvalidConfig, std::string(name) + ": " + address.error().message);
    if (!subnet.contains(*address))
        return cni_error(CniCode::InvalidConfig, std::string(name) + " " + address->to_string() + " not in network " + subnet.to_string());
    return std::optional<IpAddress>(*address);
}

bool overlap(const Range& a, const Range& b) { return a.first.is_v4() == b.first.is_v4() && a.first <= b.last && b.first <= a.last; }

Result<RangeSet> read_set(const Value& list) {
    RangeSet set;
    if (!list.is_array() || list.as_array().empty()) return cni_error(CniCode::InvalidConfig, "empty range set");
    for (const Value& item : list.as_array()) {
        TRY(Range range, read_range(item));
        if (!set.empty() && set.front().first.is_v4() != range.first.is_v4())
            return cni_error(CniCode::InvalidConfig,
                             "mixed address families in one range set: " + set.front().to_string() + " and " + range.to_string());
        for (const Range& other : set) {
            if (overlap(other, range))
                return cni_error(CniCode::InvalidConfig, "subnets " + other.to_string() + " and " + range.to_string() + " overlap");
        }
        set.push_back(range);
    }
    return set;
}

}  // namespace

Result<Range> read_range(const Value& value) {
    const std::string_view text = value.string_at({"subnet"});
    if (text.empty()) return cni_error(CniCode::InvalidConfig, "missing subnet in range");
    auto subnet = IpPrefix::parse(text);
    if (!subnet) return cni_error(CniCode::InvalidConfig, "subnet: " + subnet.error().message);
    if (subnet->base().bits() - subnet->length() < 2)
        return cni_error(CniCode::InvalidConfig, "network " + subnet->to_string() + " too small to allocate from");
    Range range{.subnet = *subnet, .first = subnet->base().plus(1), .last = last_of(*subnet), .gateway = subnet->base().plus(1)};
    // The last address of an IPv4 subnet is for broadcasts.
    if (subnet->base().is_v4()) range.last = IpAddress::v4(range.last.v4_number() - 1);
    TRY(const auto gateway, address_member(value, "gateway", *subnet));
    TRY(const auto start, address_member(value, "rangeStart", *subnet));
    TRY(const auto end, address_member(value, "rangeEnd", *subnet));
    range.gateway = gateway.value_or(range.gateway);
    range.first = start.value_or(range.first);
    range.last = end.value_or(range.last);
    if (range.last < range.first) return cni_error(CniCode::InvalidConfig, "rangeStart is after rangeEnd in " + range.to_string());
    return range;
}

Result<std::vector<RangeSet>> read_range_sets(const Value& ipam, const Value& runtime_ranges) {
    std::vector<RangeSet> sets;
    const auto add_sets = [&](const Value& lists) -> Result<void> {
        if (!lists.is_array()) return {};
        for (const Value& list : lists.as_array()) {
            TRY(RangeSet set, read_set(list));
            sets.push_back(std::move(set));
        }
        return {};
    };
    if (!ipam.string_at({"subnet"}).empty()) {
        TRY(RangeSet set, read_set(Value::array({ipam})));
        sets.push_back(std::move(set));
    }
    TRY_VOID(add_sets(runtime_ranges));
    TRY_VOID(add_sets(schema::at(ipam, "ranges")));
    if (sets.empty()) return cni_error(CniCode::InvalidConfig, "no IP ranges specified");
    for (std::size_t i = 0; i < sets.size(); ++i) {
        for (std::size_t j = i + 1; j < sets.size(); ++j) {
            for (const Range& range : sets[j]) {
                const auto other = std::ranges::find_if(sets[i], [&](const Range& one) { return overlap(one, range); });
                if (other != sets[i].end())
                    return cni_error(CniCode::InvalidConfig, "range set " + std::to_string(i) + " overlaps with " + std::to_string(j) +
                                                                 ": " + other->to_string() + " and " + range.to_string());
            }
        }
    }
    return sets;
}

const Range* find_range(const RangeSet& set, const IpAddress& address) {
    const auto found = std::ranges::find_if(set, [&](const Range& range) { return range.contains(address); });
    return found == set.end() ? nullptr : &*found;
}

IpAddress next_address(const RangeSet& set, const std::optional<IpAddress>& address) {
    if (!address) return set.front().first;
    for (std::size_t i = 0; i < set.size(); ++i) {
        if (!set[i].contains(*address)) continue;
        return *address == set[i].last ? set[(i + 1) % set.size()].first : address->plus(1);
    }
    return set.front().first;
}

bool is_gateway(const RangeSet& set, const IpAddress& address) {
    return std::ranges::any_of(set, [&](const Range& range) { return range.gateway == address; });
}

std::string to_string(const RangeSet& set) {
    std::string text;
    for (const Range& range : set) text.append(text.empty() ? "" : ",").append(range.to_string());
    return text;
}

}  // namespace porthole::cni
