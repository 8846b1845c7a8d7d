#pragma once
#include <deque>
#include <unordered_map>
#include <vector>

#include "store/engine.h"
#include "store/key_order.h"
#include "store/range.h"
#include "store/value_packer.h"

namespace porthole::store {

/// Hashes strings and views alike, for look-ups without a copy.
struct StringHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <class T>
using ByName = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

/// Every key's versions since the last compaction, and the log of events that made them. Of the log, only the newest events have whole
/// values, `whole_bytes` of them; the others are packed (ValuePacker), and so is a key's current value once the log has forgotten it. While
/// all current values are no more than that, they stay whole: reading a packed one takes longer.
///
/// Example, with the log's events as key@revision and `a` deleted at 5:
///     log   a@1 b@2 a@3 b@4 a@5(delete)      keys  a: 1 3 5(absent)  b: 2 4
/// after compact_some(4, ...)
///     log   a@5(delete)                      keys  a: 3 5(absent)    b: 4      superseded rows: a@1 b@2
/// Invariant: reading at any revision in [compacted(), revision()] is exact, and the log holds every event after compacted().
/// Lives on the store's loop; records and events are shared and outlive it. Reads fail with Expired below compacted(), Timeout above
/// revision().
class History {
public:
    History(AttributesOf attributes_of, std::size_t whole_bytes)
        : attributes_of_(std::move(attributes_of)), most_whole_bytes_(whole_bytes) {}

    /// Restarts with rows in order; `compacted` is the engine's. Superseded rows that a compaction left behind are added to `superseded`,
    /// oldest first.
    void begin_load(std::vector<Row> rows, Revision compacted, std::deque<Row>& superseded);

    /// Makes the row's change visible. Requires: rows come in order of (revision, index). Returns null for the deletion of an absent key.
    EventPtr apply(Row row, std::shared_ptr<const Attributes> attributes);

    /// No further rows are at or below `revision`. Requires: `revision` is not less than revision().
    void advance(Revision revision) {
        CHECK(revision >= revision_);
        revision_ = revision;
    }
    /// Replaces the content with `rows`, all of one revision, which may be any. Earlier revisions can no longer be read, or watched from.
    void restart(std::vector<Row> rows, Revision revision);

    Revision revision() const { return revision_; }
    Revision compacted() const { return compacted_; }

    RecordPtr get(std::string_view key) const;
    Result<RecordPtr> get_at(std::string_view key, Revision revision) const;
    Result<Range> range(const RangeRequest& request) const;
    Result<bool> read_on(const RangeRequest& request, Range& range, std::size_t keys) const;
    std::size_t count(std::string_view prefix) const;

    // The log, by absolute index: an event keeps its index until it is compacted.
    std::uint64_t log_begin() const { return log_begin_; }
    std::uint64_t log_end() const { return log_begin_ + log_.size(); }
    const EventPtr& event(std::uint64_t index) const { return log_[index - log_begin_]; }
    /// The index of the first event after `revision`.
    std::uint64_t first_after(Revision revision) const;
    /// Bytes of keys and values of the current records.
    std::size_t live_bytes() const { return live_bytes_; }
    /// Bytes of values held only for history.
    std::size_t superseded_bytes() const { return superseded_bytes_; }

    /// Drops at most `events` events up to `target`, and adds the rows that are no longer needed to `superseded`. The rows of one key are
    /// oldest first, a deletion after all that it deletes: deleting them in this order never makes an old version current again. True when
    /// compacted() has reached min(target, revision()).
    bool compact_some(Revision target, std::size_t events, std::deque<Row>& superseded);

private:
    struct Version {
        Revision revision;
        RecordPtr record;  ///< null: deleted
    };
    using Versions = std::vector<Version>;  // ascending, never empty

    Versions* find(std::string_view key);
    const Versions* find(std::string_view key) const;
    Versions& add(std::string key);
    void remove(std::string_view key);
    RecordPtr make_record(Row row, const RecordPtr& previous, std::shared_ptr<const Attributes> attributes) const;
    Result<void> check_readable(Revision revision) const;
    static const RecordPtr& record_at(const Versions& versions, Revision revision);
    void load_base(Row row, std::deque<Row>& superseded);
    void forget(const Event& event, std::deque<Row>& superseded);
    /// The oldest event whose value may be whole.
    const EventPtr& take_whole();
    void pack(const Record& record);

    AttributesOf attributes_of_;
    ByName<Versions> keys_;
    KeyOrder<Versions> order_;  // of keys_
    std::size_t most_whole_bytes_;
    ValuePacker packer_;
    std::deque<EventPtr> log_;
    std::uint64_t log_begin_ = 0;
    std::uint64_t whole_begin_ = 0;  // in the log: events before it are packed, where that saves something. Not less than log_begin_
    std::size_t whole_bytes_ = 0;    // values of the others
    std::size_t live_bytes_ = 0, superseded_bytes_ = 0;
    Revision revision_, compacted_;
};

/// "too old resource version: 5 (9)"
Error expired_error(Revision wanted, Revision compacted);
/// "Too large resource version: 9, current: 5"
Error too_large_error(Revision wanted, Revision current);

}  // namespace porthole::store
