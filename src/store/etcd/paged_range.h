#pragma once
#include <string>
#include <vector>

#include "store/etcd/client.h"

namespace porthole::store::etcd {

/// The end of the range of all keys that begin with `prefix` + "/".
std::string end_of_prefix(const std::string& prefix);

/// Reads all keys below a prefix, in their order and at one revision, page by page.
class PagedRange {
public:
    /// `client` must outlive it; `prefix` has no trailing slash.
    PagedRange(Client& client, const std::string& prefix, bool keys_only = false);

    bool more() const { return more_; }
    /// Requires: more(). Errors: those of Client; Unavailable if etcd was replaced by another cluster between two pages.
    Task<std::vector<KeyValue>> next();
    /// Of the first page, whose revision is that of all pages. Requires: next() has succeeded once.
    const ResponseHeader& header() const { return header_; }

private:
    Client& client_;
    RangeRequest request_;
    ResponseHeader header_;
    bool more_ = true;
};

}  // namespace porthole::store::etcd
