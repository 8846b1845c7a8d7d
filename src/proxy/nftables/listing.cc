#include "proxy/nftables/listing.h"

#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/values/ip.h"
#include "proxy/nftables/elements.h"
#include "proxy/nftables/layout.h"
#include "proxy/service_table.h"

namespace porthole::proxy::nftables {
namespace {

/// A part of a key or of data, with the words that declarations have for it.
enum class Column : std::uint8_t { Address, Protocol, Port, Slot };
struct ColumnWord {
    std::string_view word;
    Column column;
};
constexpr ColumnWord ColumnWords[] = {
    {"ipv4_addr", Column::Address}, {"ip daddr", Column::Address}, {"inet_proto", Column::Protocol}, {"inet_service", Column::Port},
    {"tcp dport", Column::Port},    {"udp dport", Column::Port},   {"sctp dport", Column::Port},     {"numgen random mod 2", Column::Slot},
};
constexpr std::pair<std::uint32_t, Protocol> ProtocolNumbers[] = {
    {IPPROTO_TCP, Protocol::Tcp}, {IPPROTO_UDP, Protocol::Udp}, {IPPROTO_SCTP, Protocol::Sctp}};
constexpr std::string_view VerdictType = "verdict";
constexpr std::size_t Register = 4;  // bytes: what each column takes here

std::vector<Column> columns_of(std::string_view declared) {
    std::vector<Column> columns;
    while (!declared.empty()) {
        const std::size_t end = std::min(declared.find(PartSeparator), declared.size());
        const auto known = std::ranges::find(ColumnWords, declared.substr(0, end), &ColumnWord::word);
        CHECK(known != std::end(ColumnWords));
        columns.push_back(known->column);
        declared.remove_prefix(std::min(end + PartSeparator.size(), declared.size()));
    }
    return columns;
}

/// The types of a set's key and of a map's data.
struct Types {
    std::vector<Column> key, data;
};

Types types_of(const TableObject& object) {
    std::string_view declared = object.type;
    for (const std::string_view word : {"typeof ", "type "})
        if (declared.starts_with(word)) declared.remove_prefix(word.size());
    const std::size_t separator = declared.find(DataSeparator);
    if (separator == declared.npos) return {columns_of(declared), {}};
    const std::string_view data = declared.substr(separator + DataSeparator.size());
    return {columns_of(declared.substr(0, separator)), data == VerdictType ? std::vector<Column>() : columns_of(data)};
}

std::uint32_t number(std::string_view bytes, std::size_t size) {
    std::uint32_t value = 0;
    for (std::size_t at = 0; at < size; ++at) value = value << 8 | static_cast<std::uint8_t>(bytes[at]);
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

std::string column_text(Column column, std::string_view first, std::string_view last) {
    switch (column) {
        case Column::Address:
            return address_text(first, last);
        case Column::Protocol: {
            const auto known = std::ranges::find(ProtocolNumbers, number(first, 1), &std::pair<std::uint32_t, Protocol>::first);
            return known == std::end(ProtocolNumbers) ? std::to_string(number(first, 1)) : to_string(known->second);
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

/// "" where the bytes are of another size.
std::string text_of(const std::vector<Column>& columns, std::string_view first, std::string_view last) {
    if (first.size() != columns.size() * Register || last.size() != first.size()) return "";
    std::string text;
    for (std::size_t at = 0; at < columns.size(); ++at) {
        if (at > 0) text.append(PartSeparator);
        text.append(column_text(columns[at], first.substr(at * Register, Register), last.substr(at * Register, Register)));
    }
    return text;
}

std::string text_of(const Types& types, const net::NftElement& element) {
    std::string text = text_of(types.key, element.key, element.key_end.empty() ? element.key : element.key_end);
    const std::string data = element.verdict.empty() ? text_of(types.data, element.data, element.data) : element.verdict;
    return data.empty() ? text : text.append(DataSeparator).append(data);
}

/// The bytes of a column; of a range of addresses the first or the last.
std::string column_bytes(Column column, std::string_view text, bool last) {
    std::uint32_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    const auto bytes = [](std::uint32_t number) {
        return std::string{static_cast<char>(number >> 24), static_cast<char>(number >> 16), static_cast<char>(number >> 8),
                           static_cast<char>(number)};
    };
    switch (column) {
        case Column::Address: {
            const auto address = IpAddress::parse(text.substr(0, text.find('/')));
            const auto prefix = text.contains('/') ? IpPrefix::parse(text) : IpPrefix(address.value(), 32);
            const std::uint32_t others = prefix.value().length() == 0 ? ~0u : (1u << (32 - prefix->length())) - 1;
            return bytes(prefix->base().v4_number() | (last ? others : 0));
        }
        case Column::Protocol: {
            const auto known = std::ranges::find(ProtocolNumbers, text, [](const auto& entry) { return to_string(entry.second); });
            CHECK(known != std::end(ProtocolNumbers));
            return bytes(known->first << 24);
        }
        case Column::Port:
            return bytes(value << 16);
        case Column::Slot:
            return {reinterpret_cast<const char*>(&value), sizeof value};  // in the machine's byte order
    }
    return "";
}

std::string bytes_of(const std::vector<Column>& columns, std::string_view text, bool last) {
    std::string bytes;
    for (const Column column : columns) {
        const std::size_t end = std::min(text.find(PartSeparator), text.size());
        bytes += column_bytes(column, text.substr(0, end), last);
        text.remove_prefix(std::min(end + PartSeparator.size(), text.size()));
    }
    return bytes;
}

/// The types of a set or map, found once for all of its elements.
class Encoder {
public:
    explicit Encoder(std::string_view set)
        : object_(*std::ranges::find(table_objects(), set, &TableObject::name)), types_(types_of(object_)) {}

    net::NftElement operator()(const Element& element, bool with_data) const {
        net::NftElement encoded{.key = bytes_of(types_.key, element.key, false)};
        if (object_.flags.contains("interval")) encoded.key_end = bytes_of(types_.key, element.key, true);
        if (!with_data || element.data.empty()) return encoded;
        if (types_.data.empty())
            encoded.verdict = element.data;
        else
            encoded.data = bytes_of(types_.data, element.data, false);
        return encoded;
    }

private:
    const TableObject& object_;
    Types types_;
};

}  // namespace

std::vector<net::NftChange> kernel_changes(const std::vector<Element>& removed, const std::vector<Element>& added) {
    std::map<std::string_view, net::NftChange> by_set;
    const auto encode = [&](const std::vector<Element>& elements, std::vector<net::NftElement> net::NftChange::* into) {
        std::map<std::string_view, Encoder> encoders;
        for (const Element& element : elements) {
            const Encoder& encoder = encoders.try_emplace(element.set, element.set).first->second;
            net::NftChange& change = by_set.try_emplace(element.set, net::NftChange{.set = element.set}).first->second;
            (change.*into).push_back(encoder(element, into == &net::NftChange::added));
        }
    };
    encode(removed, &net::NftChange::removed);
    encode(added, &net::NftChange::added);
    std::vector<net::NftChange> changes;
    for (auto& [set, change] : by_set) changes.push_back(std::move(change));
    return changes;
}

Listing read_listing(const net::NftTable& table) {
    Listing listing{.rules = table.rules};
    for (const TableObject& object : table_objects()) {
        const auto found = table.elements.find(std::string(object.name));
        if (object.kind == TableObject::Kind::Chain || found == table.elements.end()) continue;
        const Types types = types_of(object);
        std::set<std::string>& texts = listing.elements[found->first];
        for (const net::NftElement& element : found->second) texts.insert(text_of(types, element));
    }
    return listing;
}

std::vector<std::string> sets_of_services() {
    std::vector<std::string> names;
    for (const TableObject& object : table_objects())
        if (object.filled == TableObject::Filled::ByServices) names.emplace_back(object.name);
    return names;
}

}  // namespace porthole::proxy::nftables
