#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole::net {

class NetlinkSocket;

/// An element of a set or map in the kernel's form: numbers in network byte order, each part of a concatenation padded to a multiple of
/// four bytes.
struct NftElement {
    std::string key;
    std::string key_end;  ///< of an interval in a concatenation: its last key; else empty
    std::string data;     ///< of a map; else empty
    std::string verdict;  ///< of a map of verdicts: "drop", "goto x"; else empty
};

/// The kernel's content of a table.
struct NftTable {
    std::map<std::string, std::vector<NftElement>> elements;  ///< by set or map
    std::map<std::string, std::size_t> rules;                 ///< by chain; 0 for empty chains
};

/// Reads a table of the family ip, with the elements of the named sets and maps, through a netfilter socket instead of the program nft,
/// whose listing of 100,000 elements takes seconds. Blocks. Errors: NotFound for a set that does not exist, Io.
Result<NftTable> read_nft_table(NetlinkSocket& socket, const std::string& table, const std::vector<std::string>& sets);

/// Elements to remove from and to add to a set or map.
struct NftChange {
    std::string set;
    std::vector<NftElement> removed;  ///< without data
    std::vector<NftElement> added;
};

/// Applies the changes to the table, removals first, in one transaction: all or none. The sets and chains must exist. For some thousand
/// elements at most, which fit the socket's buffer. Blocks. Error: Io.
Result<void> change_nft_table(NetlinkSocket& socket, const std::string& table, const std::vector<NftChange>& changes);

/// Reads one message of a dump of elements. Malformed elements are left out.
void read_nft_elements(std::string_view payload, std::vector<NftElement>& into);

}  // namespace porthole::net
