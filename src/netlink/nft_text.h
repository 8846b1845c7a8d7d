#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netlink/nft_table.h"

namespace porthole::net {

/// Converts elements of a set or map between the text form of the program nft and the kernel's bytes.
///
/// Supported are IPv4 addresses and their ranges, protocols, ports and numbers ("numgen"), concatenated or (addresses only) alone. A value;
/// the text of one without types is "".
class NftTypes {
public:
    /// From a declaration: "type ipv4_addr . inet_proto . inet_service : verdict", "typeof ip daddr . tcp dport . numgen random mod 2 : ip
    /// daddr . tcp dport". Nullopt if any part has an unsupported type.
    static std::optional<NftTypes> parse(std::string_view declaration, bool interval = false);

    /// "10.96.0.20 . tcp . 80 : goto x"; "" if the bytes have the wrong size.
    std::string text(const NftElement& element) const;
    /// `data` is empty for sets and for elements to be removed. Nullopt for a text of another form.
    std::optional<NftElement> element(std::string_view key, std::string_view data) const;

private:
    enum class Column : std::uint8_t { Address, Protocol, Port, Slot };
    using Columns = std::vector<Column>;

    static std::optional<Columns> columns(std::string_view declared);
    static std::string column_text(Column column, std::string_view first, std::string_view last);
    static std::string columns_text(const Columns& columns, std::string_view first, std::string_view last);
    static bool append_bytes(Column column, std::string_view text, bool last, std::string& bytes);
    static bool append_bytes(const Columns& columns, std::string_view text, bool last, std::string& bytes);

    Columns key_, data_;
    bool interval_ = false;
};

}  // namespace porthole::net
