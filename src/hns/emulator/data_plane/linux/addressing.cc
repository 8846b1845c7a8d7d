#include "hns/emulator/data_plane/linux/addressing.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::hns::emulator {

std::optional<IpPrefix> ipv4_range(const std::string& text) {
    if (const auto prefix = IpPrefix::parse(text)) return prefix->base().is_v4() ? std::optional(*prefix) : std::nullopt;
    const auto address = IpAddress::parse(text);
    if (!address || !address->is_v4()) return std::nullopt;
    return IpPrefix(*address, 32);
}

std::vector<IpPrefix> disjoint_ranges(const std::vector<std::string>& texts) {
    std::vector<IpPrefix> all, kept;
    for (const std::string& text : texts) {
        if (const auto range = ipv4_range(text)) all.push_back(*range);
    }
    std::ranges::sort(all, {}, [](const IpPrefix& range) { return std::pair(range.length(), range.base()); });
    for (const IpPrefix& range : all) {
        if (std::ranges::none_of(kept, [&](const IpPrefix& wider) { return wider.overlaps(range); })) kept.push_back(range);
    }
    return kept;
}

std::string ipv4_or_nothing(const std::string& text) {
    const auto address = IpAddress::parse(text);
    return address && address->is_v4() ? text : "";
}

std::string ipv4_of(const Endpoint& endpoint) {
    for (const auto& configuration : endpoint.document.ip_configurations) {
        if (!ipv4_or_nothing(configuration.ip_address).empty()) return configuration.ip_address;
    }
    return "";
}

std::string linux_mac(const std::string& mac) {
    std::string text = to_lower(mac);
    std::replace(text.begin(), text.end(), '-', ':');
    return text;
}

}  // namespace porthole::hns::emulator
