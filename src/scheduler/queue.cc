#include "scheduler/queue.h"

#include <algorithm>

namespace porthole::scheduler {

namespace {

using namespace std::chrono_literals;
constexpr Duration LongestWait = 5min;

/// What may change in a pending pod and matter to its placement.
bool placement_changed(const PodInfo& before, const PodInfo& after) {
    return before.labels != after.labels || before.requests != after.requests || before.node_selector != after.node_selector ||
           before.tolerations != after.tolerations || before.scheduling_gates != after.scheduling_gates ||
           before.affinity_text != after.affinity_text || before.device_claims != after.device_claims;
}

/// A pod is not looked at before someone else has changed it: taken its gates away, or made the claims that it asks for by template.
bool is_gated(const PodInfo& pod) {
    return !pod.scheduling_gates.empty() ||
           std::ranges::any_of(pod.device_claims, [](const PodDeviceClaim& entry) { return entry.claim.empty(); });
}

}  // namespace

SchedulingQueue::ActiveKey SchedulingQueue::active_key(const Entry& entry) const {
    return {entry.pod->priority, entry.sequence, entry.pod->uid};
}

void SchedulingQueue::put(Entry& entry, Place place) {
    entry.place = place;
    switch (place) {
        case Place::Active:
            active_.insert(active_key(entry));
            break;
        case Place::Backoff:
            backoff_.emplace(entry.ready, entry.pod->uid);
            break;
        case Place::Unschedulable:
            unschedulable_.emplace(entry.parked, entry.pod->uid);
            break;
        case Place::Gated:
            ++gated_;
            break;
        case Place::InFlight:
            break;
    }
}

void SchedulingQueue::take(Entry& entry) {
    switch (entry.place) {
        case Place::Active:
            active_.erase(active_key(entry));
            break;
        case Place::Backoff:
            backoff_.erase({entry.ready, entry.pod->uid});
            break;
        case Place::Unschedulable:
            unschedulable_.erase({entry.parked, entry.pod->uid});
            break;
        case Place::Gated:
            --gated_;
            break;
        case Place::InFlight:
            break;
    }
}

void SchedulingQueue::set(PodRef pod) {
    const auto [found, added] = entries_.try_emplace(pod->uid);
    Entry& entry = found->second;
    if (added) {
        entry.sequence = next_sequence_++;
        entry.pod = std::move(pod);
        put(entry, is_gated(*entry.pod) ? Place::Gated : Place::Active);
        return;
    }
    const bool matters = placement_changed(*entry.pod, *pod);
    const Place place = entry.place;
    take(entry);
    entry.pod = std::move(pod);
    put(entry, place);
    if (place == Place::Gated && !is_gated(*entry.pod)) {
        take(entry);
        put(entry, Place::Active);
    } else if (matters && place == Place::Unschedulable) {
        wake(entry);
    } else if (matters && place == Place::InFlight) {
        entry.event_while_in_flight = true;
    }
}

void SchedulingQueue::remove(const std::string& uid) {
    const auto found = entries_.find(uid);
    if (found == entries_.end()) return;
    take(found->second);
    entries_.erase(found);
}

SchedulingQueue::Entry* SchedulingQueue::find_in_flight(const std::string& uid) {
    const auto found = entries_.find(uid);
    return found != entries_.end() && found->second.place == Place::InFlight ? &found->second : nullptr;
}

PodRef SchedulingQueue::pop() {
    Entry* entry = nullptr;
    if (!active_.empty()) {
        entry = &entries_.at(active_.begin()->uid);
    } else {
        for (const auto& [ready, uid] : backoff_) {
            Entry& waiting = entries_.at(uid);
            if (!waiting.failed_by_error) {
                entry = &waiting;
                break;
            }
        }
    }
    if (!entry) return nullptr;
    take(*entry);
    put(*entry, Place::InFlight);
    ++entry->attempts;
    entry->event_while_in_flight = false;
    return entry->pod;
}

Duration SchedulingQueue::backoff_of(const Entry& entry) const {
    const auto& [initial, longest] = backoff_times_;
    Duration backoff = initial;
    for (int i = 1; i < entry.attempts && backoff < longest; ++i) backoff += std::min(backoff, longest - backoff);
    return backoff;
}

void SchedulingQueue::retry_after_rejection(const std::string& uid, PluginSet rejected_by, bool event_may_have_come) {
    Entry* entry = find_in_flight(uid);
    if (!entry) return;
    entry->rejected_by = rejected_by;
    entry->failed_by_error = false;
    entry->parked = clock_.now();
    entry->ready = entry->parked + backoff_of(*entry);
    put(*entry, entry->event_while_in_flight || event_may_have_come ? Place::Backoff : Place::Unschedulable);
}

void SchedulingQueue::retry_after_error(const std::string& uid) {
    Entry* entry = find_in_flight(uid);
    if (!entry) return;
    entry->rejected_by = 0;
    entry->failed_by_error = true;
    entry->ready = clock_.now() + backoff_of(*entry);
    put(*entry, Place::Backoff);
}

void SchedulingQueue::wake(Entry& entry) {
    take(entry);
    put(entry, entry.ready > clock_.now() ? Place::Backoff : Place::Active);
}

void SchedulingQueue::on_event(const ClusterEvent& event) {
    std::vector<Entry*> helped;
    for (const auto& [parked, uid] : unschedulable_) {
        Entry& entry = entries_.at(uid);
        bool helps = entry.rejected_by == 0;
        for (std::size_t position = 0; position < plugins_.size() && !helps; ++position) {
            helps = (entry.rejected_by >> position & 1) && plugins_[position]->queueing_hint(event, *entry.pod);
        }
        if (helps) helped.push_back(&entry);
    }
    for (Entry* entry : helped) wake(*entry);
}

std::optional<MonotonicTime> SchedulingQueue::flush() {
    const MonotonicTime now = clock_.now();
    while (!backoff_.empty() && backoff_.begin()->first <= now) {
        Entry& entry = entries_.at(backoff_.begin()->second);
        take(entry);
        put(entry, Place::Active);
    }
    while (!unschedulable_.empty() && unschedulable_.begin()->first + LongestWait <= now) {
        wake(entries_.at(unschedulable_.begin()->second));
    }
    return next_flush();
}

std::optional<MonotonicTime> SchedulingQueue::next_flush() const {
    std::optional<MonotonicTime> next;
    if (!backoff_.empty()) next = backoff_.begin()->first;
    if (!unschedulable_.empty()) {
        const MonotonicTime end = unschedulable_.begin()->first + LongestWait;
        next = next ? std::min(*next, end) : end;
    }
    return next;
}

SchedulingQueue::Sizes SchedulingQueue::sizes() const { return {active_.size(), backoff_.size(), unschedulable_.size(), gated_}; }

}  // namespace porthole::scheduler
