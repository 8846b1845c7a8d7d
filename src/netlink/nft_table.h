#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace porthole::net {

class NetlinkSocket;

/// An element of a set or map as the kernel has it: numbers in the network's byte order, each part of a concatenation filled up to a
/// multiple of four bytes.
struct NftElement {
    std::string key;
    std::string key_end;  ///< of an interval in a concatenation: its last key; else empty
    std::string data;     ///< of a map; else empty
    std::string verdict;  ///< of a map of verdicts: "drop", "goto x"; else empty
};

/// What the kernel has of a table.
struct NftTable {
    std::map<std::string, std::vector<NftElement>> elements;  ///< by set or map
    std::map<std::string, std::size_t> rules;                 ///< by chain; 0 for empty chains
};

/// Reads a table of the family ip, with the elements of those sets and maps, through a socket of netfilter. Without the program
/// nft, whose listing of 100,000 elements takes seconds. Blocks. Errors: NotFound for a set that is not there, Io.
Result<NftTable> read_nft_table(NetlinkSocket& socket, const std::string& table, const std::vector<std::string>& sets);

/// Elements of a set or map that go and come.
struct NftChange {
    std::string set;
    std::vector<NftElement> removed;  ///< without data
    std::vector<NftElement> added;
};

/// Makes the changes of elements in that table, the removals first, in one transaction: all or none. Sets and chains must be there. For
/// some thousand elements at most, which the socket's buffer holds. Blocks. Error: Io.
Result<void> change_nft_table(NetlinkSocket& socket, const std::string& table, const std::vector<NftChange>& changes);

/// Reads one message of a dump of elements. What is malformed is left out.
void read_nft_elements(std::string_view payload, std::vector<NftElement>& into);

}  // namespace porthole::net
