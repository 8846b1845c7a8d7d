#include "netlink/nft_text.h"

#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/values/ip.h"

namespace porthole::net {

namespace {

constexpr std::string_view PartSeparator = " . ", DataSeparator = " : ", VerdictType = "verdict";
constexpr std::size_t Register = 4;  // bytes: what each column takes here
constexpr std::pair<std::uint32_t, std::string_view> ProtocolNames[] = {{IPPROTO_TCP, "tcp"}, {IPPROTO_UDP, "udp"}, {IPPROTO_SCTP, "sctp"}};

/// The text up to the next separator, which is taken off `rest` with it.
std::string_view take_part(std::string_view& rest) {
    const std::size_t end = std::min(rest.find(PartSeparator), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + PartSeparator.size(), rest.size()));
    return part;
}

std::uint32_t number(std::string_view bytes, std::size_t size) {
    std::uint32_t value = 0;
    for (std::size_t at = 0; at < size; ++at) value = value << 8 | static_cast<std::uint8_t>(bytes[at]);
    return value;
}

void append_number(std::uint32_t number, std::string& bytes) {
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift);
}

std::optional<std::uint32_t> parse_number(std::string_view text, std::uint32_t largest) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > largest) return std::nullopt;
    return value;
}

std::string address_text(std::string_view first, std::string_view last) {
    const std::uint32_t low = number(first, Register), high = number(last, Register);
    const IpAddress address = IpAddress::v4(low);
    if (low == high) return address.to_string();
    const std::uint32_t differing = low ^ high;
    const bool is_prefix = (differing & (differing + 1)) == 0 && (low & differing) == 0;
    const IpPrefix prefix(address, std::countl_zero(differing));
    return is_prefix ? prefix.to_string() : address.to_string() + "-" + IpAddress::v4(high).to_string();
}

/// The first or the last of a range of addresses; of one address itself.
std::optional<std::uint32_t> parse_address(std::string_view text, bool last) {
    if (text.contains('/')) {
        const auto prefix = IpPrefix::parse(text);
        if (!prefix || !prefix->base().is_v4()) return std::nullopt;
        const std::uint32_t others = prefix->length() == 0 ? ~0u : (1u << (32 - prefix->length())) - 1;
        return prefix->base().v4_number() | (last ? others : 0);
    }
    const auto address = IpAddress::parse(text);
    if (!address || !address->is_v4()) return std::nullopt;
    return address->v4_number();
}

}  // namespace

std::optional<NftTypes::Columns> NftTypes::columns(std::string_view declared) {
    constexpr std::pair<std::string_view, Column> Words[] = {
        {"ipv4_addr", Column::Address}, {"ip daddr", Column::Address},         {"inet_proto", Column::Protocol},
        {"inet_service", Column::Port}, {"tcp dport", Column::Port},           {"udp dport", Column::Port},
        {"sctp dport", Column::Port},   {"numgen random mod 2", Column::Slot},
    };
    Columns found;
    while (!declared.empty()) {
        const auto known = std::ranges::find(Words, take_part(declared), &std::pair<std::string_view, Column>::first);
        if (known == std::end(Words)) return std::nullopt;
        found.push_back(known->second);
    }
    // Alone, a port has two bytes and a protocol one.
    if (found.empty() || (found.size() == 1 && found.front() != Column::Address)) return std::nullopt;
    return found;
}

std::optional<NftTypes> NftTypes::parse(std::string_view declaration, bool interval) {
    for (const std::string_view word : {"typeof ", "type "})
        if (declaration.starts_with(word)) declaration.remove_prefix(word.size());
    const std::size_t separator = std::min(declaration.find(DataSeparator), declaration.size());
    const std::string_view data = declaration.substr(std::min(separator + DataSeparator.size(), declaration.size()));
    const auto key = columns(declaration.substr(0, separator));
    const auto mapped = data.empty() || data == VerdictType ? Columns() : columns(data);
    if (!key || !mapped) return std::nullopt;
    NftTypes types;
    types.key_ = *key;
    types.data_ = *mapped;
    types.interval_ = interval;
    return types;
}

std::string NftTypes::column_text(Column column, std::string_view first, std::string_view last) {
    switch (column) {
        case Column::Address:
            return address_text(first, last);
        case Column::Protocol: {
            const auto known = std::ranges::find(ProtocolNames, number(first, 1), &std::pair<std::uint32_t, std::string_view>::first);
            return known == std::end(ProtocolNames) ? std::to_string(number(first, 1)) : std::string(known->second);
        }
        case Column::Port:
            return std::to_string(number(first, 2));
        case Column::Slot: {
            std::uint32_t slot = 0;  // in the machine's byte order
            std::memcpy(&slot, first.data(), sizeof slot);
            return std::to_string(slot);
        }
    }
    return "";
}

std::string NftTypes::columns_text(const Columns& columns, std::string_view first, std::string_view last) {
    if (first.size() != columns.size() * Register || last.size() != first.size()) return "";
    std::string text;
    for (std::size_t at = 0; at < columns.size(); ++at) {
        if (at > 0) text.append(PartSeparator);
        text.append(column_text(columns[at], first.substr(at * Register, Register), last.substr(at * Register, Register)));
    }
    return text;
}

std::string NftTypes::text(const NftElement& element) const {
    std::string text = columns_text(key_, element.key, element.key_end.empty() ? element.key : element.key_end);
    const std::string data = element.verdict.empty() ? columns_text(data_, element.data, element.data) : element.verdict;
    return data.empty() ? text : text.append(DataSeparator).append(data);
}

bool NftTypes::append_bytes(Column column, std::string_view text, bool last, std::string& bytes) {
    switch (column) {
        case Column::Address: {
            const auto address = parse_address(text, last);
            if (address) append_number(*address, bytes);
            return address.has_value();
        }
        case Column::Protocol: {
            const auto known = std::ranges::find(ProtocolNames, text, &std::pair<std::uint32_t, std::string_view>::second);
            if (known == std::end(ProtocolNames)) return false;
            append_number(known->first << 24, bytes);
            return true;
        }
        case Column::Port: {
            const auto port = parse_number(text, 65535);
            if (port) append_number(*port << 16, bytes);
            return port.has_value();
        }
        case Column::Slot: {
            const auto slot = parse_number(text, ~0u);
            if (slot) bytes.append(reinterpret_cast<const char*>(&*slot), sizeof *slot);  // in the machine's byte order
            return slot.has_value();
        }
    }
    return false;
}

bool NftTypes::append_bytes(const Columns& columns, std::string_view text, bool last, std::string& bytes) {
    for (const Column column : columns)
        if (!append_bytes(column, take_part(text), last, bytes)) return false;
    return text.empty();
}

std::optional<NftElement> NftTypes::element(std::string_view key, std::string_view data) const {
    NftElement element;
    if (!interval_ && key.contains('/')) return std::nullopt;
    if (!append_bytes(key_, key, false, element.key)) return std::nullopt;
    if (interval_ && !append_bytes(key_, key, true, element.key_end)) return std::nullopt;
    if (data.empty()) return element;
    if (data_.empty())
        element.verdict = data;
    else if (!append_bytes(data_, data, false, element.data))
        return std::nullopt;
    return element;
}

}  // namespace porthole::net
