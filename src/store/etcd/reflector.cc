#include "store/etcd/reflector.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "base/result.h"
#include "store/etcd/paged_range.h"

namespace porthole::store::etcd {
namespace {

/// A watch that says nothing for so long is compared with etcd; the time grows up to the longest while nothing comes of it, as where
/// only keys outside of the prefix are written. What etcd has may take so long to arrive.
constexpr Duration SilentTime = std::chrono::seconds(5), LongestSilence = std::chrono::minutes(2), DelayTime = std::chrono::seconds(2);
/// etcd is lost two seconds after its last answer. Clients of this server have to find another one within five, of which the node's
/// balancer needs up to 2.7. A member that does not answer the attempt leaves time for another one.
constexpr Duration PulsePeriod = std::chrono::milliseconds(750), PulseTime = std::chrono::milliseconds(1250);
constexpr Duration PulseAttempt = std::chrono::milliseconds(600);
constexpr Duration FirstPause = std::chrono::milliseconds(100), LongestPause = std::chrono::seconds(2);

Revision revision_of(std::int64_t number) { return Revision(static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0))); }

}  // namespace

Reflector::Reflector(Seams seams, std::string prefix, std::size_t largest_revision, Callback arrived)
    : seams_(std::move(seams)),
      prefix_(std::move(prefix)),
      range_end_(end_of_prefix(prefix_)),
      largest_revision_(largest_revision),
      arrived_(std::move(arrived)),
      watching_(seams_.loop) {}

std::optional<std::string> Reflector::key_of(const std::string& etcd_key) const {
    if (!etcd_key.starts_with(prefix_) || etcd_key.size() == prefix_.size()) return std::nullopt;
    return seams_.form.key_of(std::string_view(etcd_key).substr(prefix_.size()));
}

Task<Revision> Reflector::compare() {
    const History& history = seams_.visible.history;
    const Revision visible = history.revision();
    PagedRange pages(seams_.client, prefix_, true);
    std::size_t same = 0;
    while (pages.more()) {
        CO_TRY(const std::vector<KeyValue> page, co_await pages.next());
        for (const KeyValue& stored : page) {
            const auto key = key_of(stored.key);
            if (!key) continue;
            const RecordPtr record = history.get(*key);
            if (!record || record->modified != revision_of(stored.mod_revision)) co_return history.revision();
            ++same;
        }
    }
    const bool all = history.revision() == visible && history.count("") == same;
    co_return all ? revision_of(pages.header().revision) : history.revision();
}

// Loading

Row Reflector::row_of(std::string key, KeyValue stored) const {
    StoredForm::Value value = seams_.form.open(key, std::move(stored.value));
    return {.revision = revision_of(stored.mod_revision),
            .key = std::move(key),
            .value = std::move(value.bytes),
            .revision_at = value.revision_at,
            .created = revision_of(stored.create_revision),
            .lease = LeaseId(static_cast<std::uint64_t>(stored.lease))};
}

std::vector<Row> Reflector::rows_of(std::vector<KeyValue> stored) const {
    std::vector<Row> rows;
    for (KeyValue& one : stored)
        if (auto key = key_of(one.key)) rows.push_back(row_of(*std::move(key), std::move(one)));
    return rows;
}

/// Tells the form what is not among `rows` any more.
Result<void> Reflector::forget_vanished(const std::vector<Row>& rows) const {
    std::unordered_set<std::string_view> present;
    for (const Row& row : rows) present.insert(row.key);
    TRY(const Range before, seams_.visible.history.range({}));
    for (const RecordPtr& record : before.records)
        if (!present.contains(record->key)) seams_.form.removed(record->key);
    return {};
}

Task<> Reflector::load() {
    must_load_ = true;  // what fails in between is begun anew, even if it is the same etcd by then
    std::vector<Row> rows;
    PagedRange pages(seams_.client, prefix_);
    while (pages.more()) {
        CO_TRY(auto page, co_await pages.next());
        CO_TRY(auto some,
               co_await run_blocking<std::vector<Row>>(seams_.pool, [&] { return Result<std::vector<Row>>(rows_of(std::move(page))); }));
        std::ranges::move(some, std::back_inserter(rows));
    }
    CO_TRY_VOID(forget_vanished(rows));
    must_load_ = false;
    cluster_id_ = pages.header().cluster_id;
    ++loads_;
    const auto newest = std::ranges::max_element(rows, {}, &Row::revision);
    marker_ = {};
    if (newest != rows.end()) marker_ = {etcd_key(newest->key), static_cast<std::int64_t>(newest->revision.value)};
    seams_.visible.restart(std::move(rows), revision_of(pages.header().revision));
    arrived_();
    co_return {};
}

// Following

Task<> Reflector::run() {
    Duration pause = FirstPause;
    while (!closing_) {
        const auto ended = co_await follow();
        if (closing_) break;
        if (is_cancelled(ended) && why_reconnect_.empty()) co_return ended.error();
        if (why_behind_.empty()) pause = FirstPause;
        disconnected(ended.error());
        CO_TRY_VOID(co_await seams_.loop.sleep(pause));
        pause = std::min(2 * pause, LongestPause);
    }
    co_return {};
}

void Reflector::close() {
    closing_ = true;
    watching_.cancel();
}

void Reflector::reconnect(std::string why) {
    if (!watching_.running() || !why_reconnect_.empty()) return;
    why_reconnect_ = std::move(why);
    watching_.cancel();
}

Task<> Reflector::notice_silence() {
    const History& history = seams_.visible.history;
    for (Duration period = SilentTime;;) {
        const std::size_t heard = heard_;
        const Revision seen = history.revision();
        CO_TRY_VOID(co_await seams_.loop.sleep(period));
        if (history.revision() != seen) period = SilentTime;
        if (heard_ != heard || !watching_.running()) continue;
        const auto head = co_await seams_.client.range({.key = prefix_ + "/", .keys_only = true});
        if (is_cancelled(head)) co_return head.error();
        const auto is_missing = [&] { return !head || revision_of(head->header.revision) > history.revision(); };
        if (head && is_missing()) CO_TRY_VOID(co_await seams_.loop.sleep(DelayTime));
        if (heard_ != heard || !is_missing()) continue;
        reconnect(head ? "nothing arrives, and etcd is at revision " + std::to_string(head->header.revision) : head.error().message);
        period = std::min(2 * period, LongestSilence);
    }
}

Task<> Reflector::notice_loss() {
    for (;;) {
        const std::size_t heard = heard_;
        CO_TRY_VOID(co_await seams_.loop.sleep(PulsePeriod));
        const auto head = co_await with_timeout(seams_.client.range({.key = prefix_ + "/", .keys_only = true}, PulseAttempt), PulseTime,
                                                "an answer of etcd");
        if (is_cancelled(head)) co_return head.error();
        note_pulse(head);
        if (!head) continue;  // no other member is better
        const bool watch_is_silent = heard_ == heard;
        seams_.client.drop_silent(watch_is_silent ? "" : watched_member_);
        const std::string& answering = seams_.client.member_name();
        if (watch_is_silent && watched_member_ != answering) reconnect("it is silent, and requests are answered by " + answering);
    }
}

void Reflector::note_pulse(const Result<RangeResponse>& answer) {
    // A refusal is an answer, too.
    const bool lost = !answer && (answer.error().reason == Reason::Timeout || answer.error().reason == Reason::ServiceUnavailable);
    if (lost == !why_lost_.empty()) return;
    why_lost_ = lost ? "etcd does not answer: " + answer.error().message : "";
    if (lost) return seams_.log.warn("etcd does not answer", {{"error", answer.error().message}});
    seams_.log.info("etcd answers again", {{"member", seams_.client.member_name()}});
}

void Reflector::connected() {
    if (std::exchange(why_behind_, "").empty()) return;
    seams_.log.info("changes in etcd arrive again", {{"member", seams_.client.member_name()}});
}

void Reflector::disconnected(const Error& why) {
    const std::string reason = why_reconnect_.empty() ? why.message : std::exchange(why_reconnect_, "");
    if (why_behind_.empty()) seams_.log.warn("changes in etcd do not arrive", {{"member", seams_.client.member_name()}, {"error", reason}});
    why_behind_ = reason.empty() ? "the watch has ended" : reason;
    if (!must_load_ && seams_.client.member_name() == watched_member_) seams_.client.move_on();
}

Task<> Reflector::follow() {
    CO_TRY_VOID(co_await catch_up_or_load());
    held_.clear();
    held_bytes_ = 0;
    if (closing_) co_return closing_error();  // nobody would end it
    watching_.start(watch());
    CO_TRY_VOID(co_await watching_.join());
    co_return watching_.result();
}

/// What etcd says is at least as new as all that was seen before, unless it was restored from an older state.
Task<> Reflector::catch_up_or_load() {
    if (must_load_) co_return co_await load();
    CO_TRY(const RangeResponse head,
           co_await seams_.client.range({.key = prefix_ + "/", .range_end = range_end_, .limit = 1, .keys_only = true}));
    if (head.header.cluster_id == cluster_id_ && revision_of(head.header.revision) >= seams_.visible.history.revision()) {
        CO_TRY(const bool same, co_await has_what_was_seen());
        if (same) co_return {};
    }
    seams_.log.warn("etcd was replaced or restored to an older state: everything is loaded again",
                    {{"revision", head.header.revision}, {"seen", to_string(seams_.visible.history.revision())}});
    co_return co_await load();
}

/// An etcd that was restored has the id of before where its members have, and may have passed our revision since: then it says
/// something else of the last change that was seen. Example: /a was written at 9; it was restored as of 7, where /a is of 4, and
/// is at 12 by now. At 9, /a is of 4 there.
Task<bool> Reflector::has_what_was_seen() {
    if (marker_.key.empty()) co_return true;
    const auto at = static_cast<std::int64_t>(seams_.visible.history.revision().value);
    const auto found = co_await seams_.client.range({.key = marker_.key, .revision = at, .keys_only = true});
    if (!found && found.error().reason == Reason::Expired) co_return true;  // compacted: the watch tells whether what follows is there
    CO_TRY_VOID(found);
    co_return (found->kvs.empty() ? 0 : found->kvs.front().mod_revision) == marker_.mod_revision;
}

Task<> Reflector::watch() {
    const auto next = static_cast<std::int64_t>(seams_.visible.history.revision().next().value);
    watched_member_ = seams_.client.member_name();
    CO_TRY(const auto stream,
           co_await seams_.client.watch(
               {.key = prefix_ + "/", .range_end = range_end_, .start_revision = next, .progress_notify = true, .fragment = true}));
    for (;;) {
        CO_TRY(WatchResponse response, co_await stream->next());
        if (response.canceled) {
            must_load_ = response.compact_revision > 0;
            co_return Error(Reason::Unavailable, response.compact_revision > 0 ? "the next revision has been compacted"
                                                                               : "etcd has ended the watch: " + response.cancel_reason);
        }
        connected();
        ++heard_;
        if (!response.created) CO_TRY_VOID(co_await take(std::move(response)));
    }
}

Task<> Reflector::take(WatchResponse response) {
    for (const WatchEvent& event : response.events) held_bytes_ += event.kv.key.size() + event.kv.value.size() + sizeof event;
    if (held_bytes_ > largest_revision_) {
        must_load_ = true;  // the next watch would begin with the same revision
        co_return Error(Reason::InternalError, "etcd has sent a revision that is too large");
    }
    std::ranges::move(response.events, std::back_inserter(held_));
    if (held_.empty()) {  // everything up to there has been delivered
        const Revision reached = revision_of(response.header.revision);
        if (!response.fragment && reached > seams_.visible.history.revision()) {
            seams_.visible.history.advance(reached);
            seams_.visible.announce();
        }
        co_return {};
    }
    // A revision is shown when it is complete.
    auto end = held_.end();
    if (response.fragment)
        end = std::ranges::find(held_, held_.back().kv.mod_revision, [](const WatchEvent& event) { return event.kv.mod_revision; });
    std::vector<WatchEvent> whole(std::move_iterator(held_.begin()), std::move_iterator(end));
    held_.erase(held_.begin(), end);
    if (!whole.empty()) held_bytes_ = 0;  // what is left is the beginning of one revision, as good as nothing
    if (whole.empty()) co_return {};
    co_return co_await apply(std::move(whole));
}

Result<void> Reflector::check_order(const std::vector<WatchEvent>& events) {
    Revision last = seams_.visible.history.revision();
    bool first = true;
    for (const WatchEvent& event : events) {
        const Revision revision = revision_of(event.kv.mod_revision);
        if (revision < last || (first && revision == last)) {
            must_load_ = true;
            return Error(Reason::InternalError, "etcd has sent revision " + to_string(revision) + " after " + to_string(last));
        }
        last = revision;
        first = false;
    }
    return {};
}

Task<> Reflector::apply(std::vector<WatchEvent> events) {
    CO_TRY_VOID(check_order(events));
    const WatchEvent& newest = events.back();
    const Revision last = revision_of(newest.kv.mod_revision);
    Marker marker{newest.kv.key, newest.type == WatchEvent::Type::Put ? newest.kv.mod_revision : 0};
    std::vector<Row> rows;
    const auto open_all = [&] {
        for (WatchEvent& event : events) {
            auto key = key_of(event.kv.key);
            if (!key) continue;
            if (event.type == WatchEvent::Type::Put) {
                rows.push_back(row_of(*std::move(key), std::move(event.kv)));
            } else {
                seams_.form.removed(*key);
                rows.push_back({.revision = revision_of(event.kv.mod_revision), .deleted = true, .key = *std::move(key)});
            }
        }
        return Result<void>();
    };
    const bool slow = std::ranges::any_of(events, [&](const WatchEvent& event) {
        const auto key = key_of(event.kv.key);
        return key && seams_.form.is_slow(*key);
    });
    if (slow) {
        CO_TRY_VOID(co_await run_blocking<void>(seams_.pool, open_all));
    } else {
        CO_TRY_VOID(open_all());
    }
    for (Row& row : rows) seams_.visible.apply(std::move(row), nullptr);
    seams_.visible.history.advance(last);
    marker_ = std::move(marker);
    seams_.visible.announce();
    arrived_();
    co_return {};
}

}  // namespace porthole::store::etcd
