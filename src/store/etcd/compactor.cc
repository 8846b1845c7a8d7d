#include "store/etcd/compactor.h"

#include "base/result.h"

namespace porthole::store::etcd {
namespace {

constexpr char CompactKey[] = "compact_rev_key";

}  // namespace

Task<> Compactor::run() {
    for (;;) {
        CO_TRY_VOID(co_await loop_.sleep(period_));
        const auto done = co_await step();
        if (is_cancelled(done)) co_return done.error();
        if (!done && done.error().reason != Reason::Expired) log_.warn("compaction of etcd postponed", {{"error", done.error().message}});
    }
}

Task<> Compactor::step() {
    TxnRequest request;
    request.compare.push_back({.target = Compare::Target::Version, .key = CompactKey, .version = version_});
    request.success.push_back({.request_put = PutRequest{.key = CompactKey, .value = std::to_string(revision_)}});
    request.failure.push_back({.request_range = RangeRequest{.key = CompactKey}});
    CO_TRY(const TxnResponse response, co_await client_.txn(std::move(request)));
    const std::int64_t compacted = revision_;
    revision_ = response.header.revision;
    if (!response.succeeded) {
        const bool found = !response.responses.empty() && response.responses.front().response_range &&
                           !response.responses.front().response_range->kvs.empty();
        version_ = found ? response.responses.front().response_range->kvs.front().version : 0;
        co_return {};
    }
    ++version_;
    if (compacted > 0) CO_TRY_VOID(co_await client_.compact({.revision = compacted}));
    co_return {};
}

}  // namespace porthole::store::etcd
