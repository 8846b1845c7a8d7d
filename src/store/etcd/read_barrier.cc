#include "store/etcd/read_barrier.h"

#include <algorithm>

#include "base/result.h"
#include "store/visible_state.h"

namespace porthole::store::etcd {
namespace {

/// How long a revision may take to arrive before it is taken for one of a key elsewhere; and how long in all, as a watch cache upstream.
constexpr Duration UsualDelay = std::chrono::milliseconds(50), LongestDelay = std::chrono::seconds(3);

}  // namespace

Task<> ReadBarrier::pass() {
    if (!next_) {
        next_ = std::make_shared<Round>();
        scope_.spawn(run(next_));  // of its own: it goes on without the one who was the first to come
    }
    const std::shared_ptr<Round> round = next_;
    co_return co_await round->wait();
}

Task<> ReadBarrier::run(std::shared_ptr<Round> round) {
    Result<void> passed = co_await pass_once(round);
    if (is_cancelled(passed)) passed = closing_error();
    if (next_ == round) next_.reset();
    round->set(std::move(passed));
    co_return {};
}

Task<> ReadBarrier::pass_once(std::shared_ptr<Round> round) {
    Revision newest;
    {
        CO_TRY(const Semaphore::Permit turn, co_await asking_.acquire());
        if (next_ == round) next_.reset();  // who comes from now on may ask for something newer
        CO_TRY(const RangeResponse head, co_await seams_.client.range({.key = asked_key_, .keys_only = true}));
        newest = Revision(static_cast<std::uint64_t>(std::max<std::int64_t>(head.header.revision, 0)));
    }
    co_return co_await reach(newest);
}

Task<> ReadBarrier::reach(Revision newest) {
    if (seen() >= newest) co_return {};
    const Result<void> soon = co_await seams_.store.wait_for_revision(newest, UsualDelay);
    if (soon || soon.error().reason != Reason::Timeout) co_return soon;
    // Silence is told as the revision that has not arrived.
    const Result<void> touched = co_await with_timeout(touch(newest), LongestDelay, "touching a key");
    if (!touched && touched.error().reason == Reason::Unknown) co_return co_await compare(newest);  // it is full
    if (!touched && touched.error().reason != Reason::Timeout && seams_.store.revision() < newest) co_return touched;
    co_return co_await seams_.store.wait_for_revision(newest, LongestDelay);
}

Revision ReadBarrier::seen() const {
    const Revision visible = seams_.store.revision();
    return visible == compared_at_ ? std::max(visible, compared_) : visible;
}

/// One at a time: most of those who wait need none of their own.
Task<> ReadBarrier::compare(Revision newest) {
    CO_TRY(const Semaphore::Permit turn, co_await touching_.acquire());
    const MonotonicTime last = seams_.loop.now() + LongestDelay;
    for (;;) {
        if (seen() >= newest) co_return {};
        const Revision visible = seams_.store.revision();
        CO_TRY(compared_, co_await seams_.compare());
        compared_at_ = visible;
        if (seen() >= newest) co_return {};
        const Result<void> arrived = co_await seams_.store.wait_for_revision(newest, UsualDelay);
        if (arrived || arrived.error().reason != Reason::Timeout || seams_.loop.now() >= last) co_return arrived;
    }
}

/// One at a time: the revision of one is newer than what all the others wait for that have come before.
Task<> ReadBarrier::touch(Revision newest) {
    CO_TRY(const Semaphore::Permit turn, co_await touching_.acquire());
    if (seen() >= newest) co_return {};
    TxnRequest request;
    request.success.push_back({.request_put = PutRequest{.key = touched_key_}});
    CO_TRY(const TxnResponse response, co_await seams_.client.txn(std::move(request)));
    co_return co_await seams_.store.wait_for_revision(Revision(static_cast<std::uint64_t>(response.header.revision)), LongestDelay);
}

}  // namespace porthole::store::etcd
