#pragma once
#include <functional>
#include <string>
#include <vector>

#include "store/record.h"

namespace porthole::store {

/// Which records to read, and one page of them.
struct RangeRequest {
    std::string prefix;  ///< every key that starts with it
    /// Where to go on: the first key that may be returned; "" from the beginning. A page's `next_key`.
    std::string start_key;
    std::size_t limit = 0;                            ///< records in the answer; 0 for all
    Revision revision;                                ///< as of then; 0 for now
    std::function<bool(const Record&)> matches = {};  ///< if set, only these are returned and counted for `limit`
};

/// One page of records, all of one revision. Ask for the next with `start_key` = `next_key` and the same `revision`.
struct Range {
    std::vector<RecordPtr> records;  ///< by key
    Revision revision;               ///< what the answer shows
    std::string next_key;            ///< "" when nothing follows
    std::size_t remaining = 0;       ///< records after this page; 0 if `matches` was set
};

}  // namespace porthole::store
