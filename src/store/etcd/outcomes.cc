#include "store/etcd/outcomes.h"

#include <algorithm>
#include <map>

#include "base/result.h"
#include "store/etcd/repetition.h"
#include "store/visible_state.h"

namespace porthole::store::etcd {
namespace {

/// How long a revision that etcd has acknowledged may take to arrive before the watch is begun anew.
constexpr Duration ArrivalTime = std::chrono::seconds(5);

const std::string& key_of(const Operation& operation) {
    return std::visit([](const auto& one) -> const std::string& { return one.key; }, operation);
}

bool has_deleted(const TxnResponse& response, std::size_t operation) {
    if (operation >= response.responses.size()) return false;
    const auto& deletion = response.responses[operation].response_delete_range;
    return deletion && deletion->deleted > 0;
}

}  // namespace

bool has_puts(const Transaction& transaction) {
    return std::ranges::any_of(transaction.operations, [](const Operation& one) { return std::holds_alternative<Put>(one); });
}

Error unknown_outcome(const Error& error) {
    return Error(Reason::Timeout,
                 "etcd has not answered at first, and whether the request was carried out is unknown (" + error.message + ")");
}

template <class Wait>
Task<> Outcomes::until_delivered(Wait wait, Revision revision) const {
    const Result<void> arrived = co_await wait(ArrivalTime);
    if (arrived || arrived.error().reason != Reason::Timeout) co_return arrived;
    seams_.reflector.reconnect("revision " + to_string(revision) + ", which etcd has acknowledged, did not arrive");
    co_return co_await wait(LongestArrival - ArrivalTime);
}

Task<> Outcomes::of_ended_attempts(const Transaction& transaction, Revision sent_after, std::size_t loads) const {
    const Revision raised(static_cast<std::uint64_t>(seams_.fence.revision()));
    const auto wait = [&](Duration limit) { return seams_.store.wait_for_revision(raised, limit); };
    const auto arrived = co_await until_delivered(wait, raised);
    if (!arrived) co_return unknown_outcome(arrived.error());
    const std::string changed =
        seams_.reflector.loads() == loads ? change_since(seams_.visible.history, transaction, sent_after) : "all was loaded again";
    if (!changed.empty()) co_return unknown_outcome(Error(Reason::Conflict, changed));
    co_return {};
}

Task<> Outcomes::until_visible(std::string key, KeyState state, Revision asked) const {
    for (;;) {
        const RecordPtr record = seams_.visible.history.get(key);
        const Revision needed = state.exists ? state.modified : asked;
        if (seams_.visible.history.revision() >= needed || (!state.exists && !record)) co_return {};
        if (seams_.visible.closing) co_return closing_error();
        CO_TRY_VOID(co_await seams_.visible.revision_waiters.wait());
    }
}

Task<Committed> Outcomes::of_refusal(const Transaction& transaction, const TxnResponse& response, Revision sent_after,
                                     bool tried_before) const {
    const Revision asked(static_cast<std::uint64_t>(response.header.revision));
    for (std::size_t i = 0; i < transaction.guards.size(); ++i) {
        const auto& found = response.responses[i + 1].response_range;
        KeyState state;
        if (found && !found->kvs.empty())
            state = {.exists = true, .modified = Revision(static_cast<std::uint64_t>(found->kvs.front().mod_revision))};
        const Guard& guard = transaction.guards[i];
        if (holds(guard, state)) continue;
        // An attempt before this one may itself have done what now stands against it.
        if (tried_before && !(state.exists && state.modified <= sent_after)) co_return unknown_outcome(refusal_of(guard, state));
        const auto wait = [&](Duration limit) { return with_timeout(until_visible(guard.key, state, asked), limit, "waiting"); };
        const auto seen = co_await until_delivered(wait, state.exists ? state.modified : asked);
        if (!seen && seen.error().reason == Reason::Timeout)
            co_return Error(Reason::ServiceUnavailable,
                            refusal_of(guard, state).message + ", which etcd has not sent yet: nothing was done");
        CO_TRY_VOID(seen);
        co_return refusal_of(guard, state);
    }
    co_return Error(Reason::InternalError, "etcd has refused a transaction whose guards hold");
}

Task<Committed> Outcomes::of_success(const Transaction& transaction, const TxnResponse& response) const {
    bool deletes = false;
    for (std::size_t i = 0; i < response.responses.size(); ++i) deletes = deletes || has_deleted(response, i);
    const Revision revision(static_cast<std::uint64_t>(response.header.revision));
    if (!has_puts(transaction) && !deletes)
        co_return Committed{.revision = revision, .events = std::vector<EventPtr>(transaction.operations.size())};
    const auto wait = [&](Duration limit) { return seams_.store.wait_for_revision(revision, limit); };
    const auto arrived = co_await until_delivered(wait, revision);
    if (!arrived)
        co_return Error(Reason::Timeout,
                        "the request was carried out as revision " + to_string(revision) +
                            (arrived.error().reason == Reason::Timeout ? ", which etcd has not sent yet: it will be visible later"
                                                                       : ", and the store is closing"));
    co_return committed_at(transaction, response, revision);
}

Result<Committed> Outcomes::committed_at(const Transaction& transaction, const TxnResponse& response, Revision revision) const {
    std::map<std::string_view, EventPtr> events;
    for (std::uint64_t i = seams_.visible.history.first_after(revision.previous()); i < seams_.visible.history.log_end(); ++i) {
        const EventPtr& event = seams_.visible.history.event(i);
        if (event->revision != revision) break;
        events.emplace(event->record->key, event);
    }
    Committed committed{.revision = revision, .events = {}};
    for (std::size_t i = 0; i < transaction.operations.size(); ++i) {
        const Operation& operation = transaction.operations[i];
        const auto found = events.find(key_of(operation));
        const bool must_be = std::holds_alternative<Put>(operation) || has_deleted(response, i);
        if (found == events.end() && must_be)
            return Error(Reason::Timeout,
                         "the request was carried out as revision " + to_string(revision) + ", but etcd is in another state by now");
        committed.events.push_back(found == events.end() ? nullptr : found->second);
    }
    return committed;
}

}  // namespace porthole::store::etcd
