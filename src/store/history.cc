#include "store/history.h"

#include <algorithm>

namespace porthole::store {
namespace {

/// The value with its revision, in exactly as much room as it needs.
Bytes finish(std::string value, std::optional<std::uint32_t> revision_at, Revision revision) {
    if (!revision_at) {
        value.shrink_to_fit();
        return std::make_shared<const std::string>(std::move(value));
    }
    const std::string digits = to_string(revision);
    std::string whole;
    whole.reserve(value.size() + digits.size());
    whole.append(value, 0, *revision_at).append(digits).append(value, *revision_at);
    return std::make_shared<const std::string>(std::move(whole));
}

/// The last version of a deleted key, which says the deletion's revision: what watchers are shown.
RecordPtr tombstone(const Record& last, Revision revision) {
    auto record = std::make_shared<Record>(last);
    record->modified = revision;
    if (last.revision_at) {
        std::string value = *last.value.bytes();
        value.erase(*last.revision_at, to_string(last.modified).size());
        record->value = finish(std::move(value), last.revision_at, revision);
    }
    return record;
}

Row superseded_row(std::string key, Revision revision) {
    Row row;
    row.key = std::move(key);
    row.revision = revision;
    return row;
}

std::size_t size_of(const Record& record) { return record.key.size() + record.value.size(); }

/// What the history keeps beyond the current state because of `event`.
std::size_t extra_bytes(const Event& event) {
    std::size_t bytes = event.previous ? event.previous->value.size() : 0;
    // Without a revision in it, the bytes of what was deleted are those of the version before.
    if (event.type == Event::Type::Delete && event.record->revision_at) bytes += event.record->value.size();
    return bytes;
}

}  // namespace

Error expired_error(Revision wanted, Revision compacted) {
    return Error(Reason::Expired, "too old resource version: " + to_string(wanted) + " (" + to_string(compacted) + ")");
}

Error too_large_error(Revision wanted, Revision current) {
    return Error(Reason::Timeout, "Too large resource version: " + to_string(wanted) + ", current: " + to_string(current));
}

void History::begin_load(std::vector<Row> rows, Revision compacted, std::deque<Row>& superseded) {
    compacted_ = revision_ = compacted;
    for (Row& row : rows) {
        if (row.revision <= compacted) {
            load_base(std::move(row), superseded);
        } else {
            apply(std::move(row), nullptr);
        }
    }
}

void History::restart(std::vector<Row> rows, Revision revision) {
    History fresh(attributes_of_, most_whole_bytes_);
    fresh.log_begin_ = fresh.whole_begin_ = log_end() + 1;  // every place in the old log is before it
    std::deque<Row> superseded;
    fresh.begin_load(std::move(rows), revision, superseded);
    *this = std::move(fresh);
}

void History::load_base(Row row, std::deque<Row>& superseded) {
    if (const Versions* found = find(row.key)) {
        superseded.push_back(superseded_row(row.key, found->back().revision));
        live_bytes_ -= size_of(*found->back().record);
        remove(row.key);
    }
    if (row.deleted) {
        superseded.push_back(superseded_row(row.key, row.revision));
        return;
    }
    const Revision revision = row.revision;
    Versions& versions = add(row.key);
    versions.push_back({revision, make_record(std::move(row), nullptr, nullptr)});
    pack(*versions.back().record);
    live_bytes_ += size_of(*versions.back().record);
}

History::Versions* History::find(std::string_view key) {
    const auto found = keys_.find(key);
    return found == keys_.end() ? nullptr : &found->second;
}

const History::Versions* History::find(std::string_view key) const { return const_cast<History*>(this)->find(key); }

History::Versions& History::add(std::string key) {
    const auto [place, created] = keys_.try_emplace(std::move(key));
    CHECK(created);
    order_.insert(*place);
    return place->second;
}

void History::remove(std::string_view key) {
    order_.erase(key);
    keys_.erase(keys_.find(key));
}

RecordPtr History::make_record(Row row, const RecordPtr& previous, std::shared_ptr<const Attributes> attributes) const {
    auto record = std::make_shared<Record>();
    record->key = std::move(row.key);
    record->value = finish(std::move(row.value), row.revision_at, row.revision);
    record->attributes = std::move(attributes);
    if (!record->attributes && attributes_of_) record->attributes = attributes_of_(record->key, *record->value.bytes());
    record->created = previous ? previous->created : row.created;
    record->modified = row.revision;
    record->lease = row.lease;
    record->revision_at = row.revision_at;
    return record;
}

EventPtr History::apply(Row row, std::shared_ptr<const Attributes> attributes) {
    CHECK(row.revision >= revision_);
    revision_ = row.revision;
    Versions* versions = find(row.key);
    RecordPtr previous = versions ? versions->back().record : nullptr;
    if (row.deleted && !previous) return nullptr;

    auto event = std::make_shared<Event>();
    event->revision = row.revision;
    event->previous = previous;
    if (row.deleted) {
        event->type = Event::Type::Delete;
        event->record = tombstone(*previous, row.revision);
        versions->push_back({row.revision, nullptr});
    } else {
        if (!versions) versions = &add(row.key);
        event->record = make_record(std::move(row), previous, std::move(attributes));
        versions->push_back({event->revision, event->record});
    }
    if (previous) live_bytes_ -= size_of(*previous);
    if (event->type == Event::Type::Put) live_bytes_ += size_of(*event->record);
    superseded_bytes_ += extra_bytes(*event);
    log_.push_back(event);
    whole_bytes_ += event->record->value.size();
    while (whole_bytes_ > most_whole_bytes_) pack(*take_whole()->record);
    return event;
}

RecordPtr History::get(std::string_view key) const {
    const Versions* versions = find(key);
    return versions ? versions->back().record : nullptr;
}

Result<void> History::check_readable(Revision revision) const {
    if (revision < compacted_) return expired_error(revision, compacted_);
    if (revision > revision_) return too_large_error(revision, revision_);
    return {};
}

const RecordPtr& History::record_at(const Versions& versions, Revision revision) {
    static const RecordPtr absent;
    for (std::size_t i = versions.size(); i-- > 0;) {
        if (versions[i].revision <= revision) return versions[i].record;
    }
    return absent;
}

Result<RecordPtr> History::get_at(std::string_view key, Revision revision) const {
    TRY_VOID(check_readable(revision));
    const Versions* versions = find(key);
    return versions ? record_at(*versions, revision) : nullptr;
}

Result<Range> History::range(const RangeRequest& request) const {
    Range range;
    TRY_VOID(read_on(request, range, SIZE_MAX));
    return range;
}

Result<bool> History::read_on(const RangeRequest& request, Range& range, std::size_t keys) const {
    if (range.revision == Revision()) range.revision = request.revision == Revision() ? revision_ : request.revision;
    TRY_VOID(check_readable(range.revision));
    const std::string start = range.rest_key.empty() ? std::max(request.prefix, request.start_key) : std::move(range.rest_key);
    range.rest_key.clear();
    const auto* rest = order_.visit_prefix(request.prefix, start, keys, [&](const auto& place) {
        const auto& [key, versions] = place;
        const RecordPtr& record = record_at(versions, range.revision);
        if (!record || (request.matches && !request.matches(*record))) return true;
        if (request.limit == 0 || range.records.size() < request.limit) {
            range.records.push_back(record);
            return true;
        }
        if (range.next_key.empty()) range.next_key = key;
        if (request.matches) return false;
        ++range.remaining;
        return true;
    });
    if (rest) range.rest_key = rest->first;
    return !rest;
}

std::size_t History::count(std::string_view prefix) const {
    std::size_t count = 0;
    order_.visit_prefix(prefix, prefix, SIZE_MAX, [&](const auto& place) {
        if (place.second.back().record) ++count;
        return true;
    });
    return count;
}

std::uint64_t History::first_after(Revision revision) const {
    const auto found = std::ranges::upper_bound(log_, revision, {}, [](const EventPtr& event) { return event->revision; });
    return log_begin_ + static_cast<std::uint64_t>(found - log_.begin());
}

bool History::compact_some(Revision target, std::size_t events, std::deque<Row>& superseded) {
    target = std::min(target, revision_);
    for (; events > 0 && !log_.empty() && log_.front()->revision <= target; --events) {
        if (whole_begin_ == log_begin_) take_whole();
        const EventPtr event = std::move(log_.front());
        log_.pop_front();
        ++log_begin_;
        compacted_ = event->revision;
        forget(*event, superseded);
    }
    if (!log_.empty() && log_.front()->revision <= target) return false;
    compacted_ = std::max(compacted_, target);
    return true;
}

void History::pack(const Record& record) {
    if (live_bytes_ <= most_whole_bytes_) {
        const auto found = keys_.find(record.key);
        if (found != keys_.end() && found->second.back().record.get() == &record) return;
    }
    record.value = packer_.pack(record.key, record.value);
}

const EventPtr& History::take_whole() {
    const EventPtr& event = this->event(whole_begin_++);
    whole_bytes_ -= event->record->value.size();
    return event;
}

void History::forget(const Event& event, std::deque<Row>& superseded) {
    superseded_bytes_ -= extra_bytes(event);
    const std::string& key = event.record->key;
    Versions& versions = *find(key);
    if (event.previous) {
        superseded.push_back(superseded_row(key, event.previous->modified));
        versions.erase(versions.begin());
    }
    if (event.type == Event::Type::Put) {
        if (versions.size() > 1) return;
        // Most objects do not change any more after their first minute.
        versions.shrink_to_fit();
        pack(*event.record);
        return;
    }
    superseded.push_back(superseded_row(key, event.revision));
    versions.erase(versions.begin());
    if (versions.empty()) remove(key);
}

}  // namespace porthole::store
