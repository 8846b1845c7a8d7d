#include "store/etcd/paged_range.h"

#include <algorithm>

#include "base/result.h"

namespace porthole::store::etcd {
namespace {

constexpr std::int64_t PageSize = 500;

/// Whether a smaller page may be had.
bool is_too_much(const Error& error) { return error.reason == Reason::RequestEntityTooLarge || error.reason == Reason::Timeout; }

}  // namespace

std::string end_of_prefix(const std::string& prefix) { return prefix + static_cast<char>('/' + 1); }

PagedRange::PagedRange(Client& client, const std::string& prefix, bool keys_only)
    : client_(client), request_{.key = prefix + "/", .range_end = end_of_prefix(prefix), .limit = PageSize, .keys_only = keys_only} {}

Task<std::vector<KeyValue>> PagedRange::next() {
    for (;;) {
        auto page = co_await client_.range(request_, Client::PageTime);
        if (!page && is_too_much(page.error()) && request_.limit > 1) {
            request_.limit = std::max<std::int64_t>(request_.limit / 8, 1);
            continue;
        }
        CO_TRY_VOID(page);
        if (request_.revision == 0) header_ = page->header;
        request_.revision = header_.revision;
        if (page->header.cluster_id != header_.cluster_id)
            co_return Error(Reason::Unavailable, "etcd has become another one between two pages");
        more_ = page->more && !page->kvs.empty();
        if (more_) request_.key = page->kvs.back().key + '\0';
        co_return std::move(page->kvs);
    }
}

}  // namespace porthole::store::etcd
