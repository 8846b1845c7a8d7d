#include "store/etcd/fence.h"

#include "base/result.h"

namespace porthole::store::etcd {

Compare Fence::compare(std::int64_t revision) const { return {.target = Compare::Target::Mod, .key = key_, .mod_revision = revision}; }

std::int64_t Fence::revision_of(const ResponseOp& answer) {
    if (!answer.response_range || answer.response_range->kvs.empty()) return 0;
    return answer.response_range->kvs.front().mod_revision;
}

void Fence::learn(std::int64_t revision, std::int64_t at) {
    if (at <= learned_at_) return;
    revision_ = revision;
    learned_at_ = at;
}

Task<> Fence::raise(std::int64_t used) {
    CO_TRY(const Semaphore::Permit turn, co_await turn_.acquire());
    if (revision_ > used) co_return {};  // it has been raised for another one
    TxnRequest request;
    request.success.push_back({.request_put = PutRequest{.key = key_}});
    CO_TRY(const TxnResponse response, co_await client_.txn(std::move(request)));
    learn(response.header.revision, response.header.revision);
    co_return {};
}

}  // namespace porthole::store::etcd
