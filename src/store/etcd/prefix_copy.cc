#include "store/etcd/prefix_copy.h"

#include <algorithm>

#include "base/result.h"
#include "runtime/scope.h"
#include "store/etcd/paged_range.h"

namespace porthole::store::etcd {
namespace {

constexpr std::size_t WritesInFlight = 128;  ///< etcd writes them to its disk together

Compare unchanged(const std::string& key, std::int64_t mod_revision) {
    return {.target = Compare::Target::Mod, .key = key, .mod_revision = mod_revision};
}

}  // namespace

PrefixCopy::PrefixCopy(Client& client, std::string prefix, std::string mark_key, std::string source)
    : client_(client), prefix_(std::move(prefix)), mark_key_(std::move(mark_key)), source_(std::move(source)) {}

RequestOp PrefixCopy::removal(std::string from, std::string end) const {
    return {.request_delete_range = DeleteRangeRequest{.key = std::move(from), .range_end = std::move(end)}};
}

/// Its mod revision is 0 where there is none.
Task<KeyValue> PrefixCopy::find_mark() {
    CO_TRY(RangeResponse found, co_await client_.range({.key = mark_key_}));
    co_return found.kvs.empty() ? KeyValue() : std::move(found.kvs.front());
}

Task<> PrefixCopy::begin() {
    CO_TRY(const RangeResponse first,
           co_await client_.range({.key = prefix_ + "/", .range_end = end_of_prefix(prefix_), .limit = 1, .keys_only = true}));
    CO_TRY(const KeyValue mark, co_await find_mark());
    if (mark.mod_revision > 0 && mark.value != source_)
        co_return Error(Reason::AlreadyExists, prefix_ + " in etcd has an unfinished copy of another cluster");
    if (mark.mod_revision == 0 && !first.kvs.empty())
        co_return Error(Reason::AlreadyExists, prefix_ + " in etcd is not empty: it has " + std::to_string(first.count) +
                                                   " keys, such as " + first.kvs.front().key);
    co_return co_await lay_mark(mark.mod_revision);
}

Task<> PrefixCopy::lay_mark(std::int64_t marked_at) {
    TxnRequest request{.compare = {unchanged(mark_key_, marked_at)}};
    // Where the mark is new, what is there by now was written by others after begin() has looked; comparing the copy finds it.
    if (marked_at > 0) request.success = {removal(prefix_ + "/", mark_key_), removal(mark_key_ + '\0', end_of_prefix(prefix_))};
    request.success.push_back({.request_put = PutRequest{.key = mark_key_, .value = source_}});
    CO_TRY(const TxnResponse done, co_await client_.txn(std::move(request)));
    if (!done.succeeded) co_return Error(Reason::Conflict, "another copy into " + prefix_ + " of etcd has begun at the same time");
    marked_at_ = revision_ = done.header.revision;
    co_return {};
}

Task<TxnResponse> PrefixCopy::write(std::vector<RequestOp> operations) {
    TxnRequest request{.compare = {unchanged(mark_key_, marked_at_)}, .success = std::move(operations)};
    CO_TRY(TxnResponse done, co_await client_.txn(std::move(request)));
    revision_ = std::max(revision_, done.header.revision);
    co_return std::move(done);
}

Task<> PrefixCopy::put(std::vector<PutRequest> puts) {
    CHECK(!puts.empty() && puts.size() <= MostKeys);
    const std::string first = puts.front().key;
    std::vector<RequestOp> operations;
    for (PutRequest& put : puts) operations.push_back({.request_put = std::move(put)});
    const auto done = co_await write(std::move(operations));
    if (!done) co_return Error(done.error()).with_context("writing " + first);
    if (!done->succeeded) co_return Error(Reason::Conflict, "another copy into " + prefix_ + " of etcd has begun meanwhile");
    co_return {};
}

Task<> PrefixCopy::raise_some(std::int64_t target, const std::function<void()>& progress) {
    while (revision_ < target) {
        CO_TRY_VOID(co_await put({PutRequest{.key = mark_key_ + "/raised"}}));
        progress();
    }
    co_return {};
}

Task<> PrefixCopy::raise_revision(std::int64_t target, std::function<void()> progress) {
    std::vector<Task<>> writers;
    for (std::size_t i = 0; i < WritesInFlight && revision_ + static_cast<std::int64_t>(i) < target; ++i)
        writers.push_back(raise_some(target, progress));
    CO_TRY(const auto done, co_await when_all(std::move(writers)));
    for (const Result<void>& one : done) CO_TRY_VOID(one);
    co_return {};
}

Task<> PrefixCopy::finish() {
    CO_TRY(const TxnResponse done, co_await write({removal(mark_key_, ""), removal(mark_key_ + "/raised", "")}));
    if (done.succeeded) co_return {};
    // An answer may have been lost, and the request been carried out twice.
    CO_TRY(const KeyValue mark, co_await find_mark());
    if (mark.mod_revision == 0) co_return {};
    co_return Error(Reason::Conflict, "another copy into " + prefix_ + " of etcd has begun meanwhile");
}

}  // namespace porthole::store::etcd
