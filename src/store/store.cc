#include "store/store.h"

#include <algorithm>

#include "base/result.h"
#include "store/visible_state.h"

namespace porthole::store {

Store::Store(EventLoop& loop, AttributesOf attributes_of, const Options& options)
    : loop_(loop), visible_(std::make_unique<VisibleState>(std::move(attributes_of), options.whole_bytes)) {}
Store::~Store() { CHECK(!open_); }

Revision Store::revision() const { return visible_->history.revision(); }
Revision Store::compacted() const { return visible_->history.compacted(); }
RecordPtr Store::get(std::string_view key) const { return visible_->history.get(key); }
Result<RecordPtr> Store::get_at(std::string_view key, Revision revision) const { return visible_->history.get_at(key, revision); }
Result<Range> Store::range(const RangeRequest& request) const { return visible_->history.range(request); }
Result<bool> Store::read_on(const RangeRequest& request, Range& range, std::size_t keys) const {
    return visible_->history.read_on(request, range, keys);
}
std::size_t Store::count(std::string_view prefix) const { return visible_->history.count(prefix); }

Result<Watch> Store::watch(WatchRequest request) {
    if (visible_->closing) return closing_error();
    return visible_->hub.subscribe(std::move(request));
}

Task<> Store::reach(Revision revision) {
    while (visible_->history.revision() < revision) {
        if (visible_->closing) co_return closing_error();
        CO_TRY_VOID(co_await visible_->revision_waiters.wait());
    }
    co_return {};
}

Task<> Store::wait_for_revision(Revision revision, Duration limit) {
    const Result<void> reached = co_await with_timeout(reach(revision), limit, "waiting for a revision");
    if (!reached && reached.error().reason == Reason::Timeout) {
        co_return too_large_error(revision, this->revision());
    }
    co_return reached;
}

Task<LeaseId> Store::shared_lease(Duration ttl) {
    CO_TRY(const Semaphore::Permit turn, co_await shared_lease_turn_.acquire());
    const auto found = shared_leases_.find(ttl);
    if (found != shared_leases_.end() && loop_.now() < found->second.good_until && has_lease(found->second.lease)) {
        co_return found->second.lease;
    }
    const Duration extra = std::max<Duration>(ttl / 20, std::min<Duration>(ttl, std::chrono::minutes(1)));
    const MonotonicTime good_until = loop_.now() + extra;
    CO_TRY(const LeaseId lease, co_await grant_lease(ttl + extra));
    shared_leases_[ttl] = {lease, good_until};
    co_return lease;
}

}  // namespace porthole::store
