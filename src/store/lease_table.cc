#include "store/lease_table.h"

#include <algorithm>
#include <charconv>

#include "base/result.h"

namespace porthole::store {
namespace {

std::uint64_t parse_number(std::string_view text, int base) {
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number, base);
    return number;
}

}  // namespace

std::string lease_key(LeaseId lease) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string key(LeasePrefix);
    for (int shift = 60; shift >= 0; shift -= 4) key += digits[lease.value >> shift & 15];
    return key;
}

void LeaseTable::apply(const Event& event) {
    const std::string& key = event.record->key;
    if (key.starts_with(LeasePrefix)) {
        apply_to_lease(LeaseId(parse_number(std::string_view(key).substr(LeasePrefix.size()), 16)), event);
        return;
    }
    if (event.previous && event.previous->lease) detach(*event.previous);
    if (event.type == Event::Type::Put && event.record->lease) attach(*event.record);
}

void LeaseTable::attach(const Record& record) {
    const auto [place, missing] = leases_.try_emplace(record.lease);
    if (missing) {
        // The lease's record went at the same moment, and at a start: a crash came before this one had gone after it.
        last_id_ = std::max(last_id_, record.lease.value);
        place->second.granted = false;
        set_deadline(record.lease, place->second, clock_.now());
    }
    place->second.keys.insert(record.key);
}

void LeaseTable::apply_to_lease(LeaseId id, const Event& event) {
    last_id_ = std::max(last_id_, id.value);
    if (event.type == Event::Type::Put) {
        Lease& lease = leases_[id];
        lease.ttl = Duration(static_cast<Duration::rep>(parse_number(*event.record->value.bytes(), 10)));
        set_deadline(id, lease, clock_.now() + lease.ttl);
        return;
    }
    const auto found = leases_.find(id);
    if (found == leases_.end()) return;
    found->second.granted = false;
    if (found->second.keys.empty()) {
        erase(found);
    } else {
        set_deadline(id, found->second, clock_.now());
    }
}

void LeaseTable::detach(const Record& record) {
    const auto found = leases_.find(record.lease);
    if (found == leases_.end()) return;
    found->second.keys.erase(record.key);
    if (found->second.keys.empty() && !found->second.granted) erase(found);
}

void LeaseTable::erase(std::map<LeaseId, Lease>::iterator lease) {
    deadlines_.erase({lease->second.deadline, lease->first});
    leases_.erase(lease);
}

void LeaseTable::set_deadline(LeaseId id, Lease& lease, MonotonicTime deadline) {
    deadlines_.erase({lease.deadline, id});
    lease.deadline = deadline;
    deadlines_.insert({deadline, id});
}

bool LeaseTable::keep_alive(LeaseId lease) {
    const auto found = leases_.find(lease);
    if (found == leases_.end() || !found->second.granted) return false;
    set_deadline(lease, found->second, clock_.now() + found->second.ttl);
    return true;
}

void LeaseTable::postpone(LeaseId lease, Duration delay) {
    const auto found = leases_.find(lease);
    if (found != leases_.end()) set_deadline(lease, found->second, clock_.now() + delay);
}

MonotonicTime LeaseTable::next_deadline() const { return deadlines_.empty() ? MonotonicTime::max() : deadlines_.begin()->first; }

std::vector<LeaseId> LeaseTable::due() const {
    std::vector<LeaseId> due;
    for (const auto& [deadline, lease] : deadlines_) {
        if (deadline > clock_.now()) break;
        due.push_back(lease);
    }
    return due;
}

std::vector<std::string> LeaseTable::keys(LeaseId lease, std::size_t limit) const {
    std::vector<std::string> keys;
    const auto found = leases_.find(lease);
    if (found == leases_.end()) return keys;
    for (const std::string& key : found->second.keys) {
        if (keys.size() == limit) break;
        keys.push_back(key);
    }
    return keys;
}

}  // namespace porthole::store
