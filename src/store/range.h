#pragma once
#include <functional>
#include <string>
#include <vector>

#include "store/record.h"

namespace porthole::store {

/// Which records to read, as one page.
struct RangeRequest {
    std::string prefix;  ///< every key that starts with it
    /// The first key that may be returned, which is a page's `next_key`; "" to start from the beginning.
    std::string start_key;
    std::size_t limit = 0;                            ///< records in the answer; 0 for all
    Revision revision;                                ///< the revision to read; 0 for the current one
    std::function<bool(const Record&)> matches = {};  ///< if set, only these are returned and counted for `limit`
};

/// One page of records, all of one revision. For the next page set `start_key` = `next_key` and the same `revision`.
struct Range {
    std::vector<RecordPtr> records;  ///< by key
    Revision revision;               ///< the revision of the answer
    std::string next_key;            ///< "" on the last page
    std::size_t remaining = 0;       ///< records after this page; 0 if `matches` was set
    std::string rest_key;            ///< where to go on with a page that is being read in pieces; "" once it is whole
};

}  // namespace porthole::store
