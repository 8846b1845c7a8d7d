#include "apiserver/flow_control/fair_queues.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "apiserver/flow_control/shuffle_sharding.h"
#include "base/result.h"

namespace porthole::apiserver {
namespace {

/// No hand of more is within the bits of a hash.
constexpr std::size_t LargestHand = MaxHashBits;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// Dispatch may not precede arrival: a queue that did not use its share has no claim to it later.
void bound_start(FairQueues::Queue& queue) {
    if (queue.first) queue.next_start = std::max(queue.next_start, queue.first->arrival);
}

}  // namespace

void FairQueues::configure(const Configuration& configuration) {
    configuration_ = configuration;
    while (queues_.size() < configuration_.queues) queues_.emplace_back();
    drop_empty_queues();
}

void FairQueues::drop_empty_queues() {
    while (queues_.size() > configuration_.queues && !queues_.back().busy()) queues_.pop_back();
}

void FairQueues::advance(MonotonicTime now) {
    if (busy_queues_ > 0) progress_ += seconds(now - advanced_) * queued_seats_in_use_ / busy_queues_;
    advanced_ = now;
}

FairQueues::Queue& FairQueues::choose_queue(std::uint64_t flow) {
    if (configuration_.queues == 1) return queues_.front();
    std::array<std::uint32_t, LargestHand> cards;
    const std::span<std::uint32_t> hand(cards.data(), std::min<std::size_t>(configuration_.hand_size, LargestHand));
    deal(flow, configuration_.queues, hand);
    // From another card each time, so that flows whose hands overlap do not prefer the same queue.
    const std::size_t offset = enqueued_++ % hand.size();
    Queue* best = nullptr;
    for (std::size_t i = 0; i < hand.size(); ++i) {
        Queue& queue = queues_[hand[(offset + i) % hand.size()]];
        if (!best || queue.work_waiting < best->work_waiting) best = &queue;
        if (best->waiting == 0) break;
    }
    return *best;
}

bool FairQueues::enqueue(Entry& entry, MonotonicTime now) {
    advance(now);
    Queue& queue = choose_queue(entry.flow);
    if (queue.waiting >= configuration_.queue_length) return false;
    entry.queue = &queue;
    entry.arrived = now;
    entry.arrival = progress_;
    entry.next = nullptr;
    entry.previous = queue.last;
    if (!queue.busy()) {
        queue.next_start = progress_;
        ++busy_queues_;
    }
    (queue.last ? queue.last->next : queue.first) = &entry;
    queue.last = &entry;
    if (queue.waiting++ == 0) {
        queue.place = waited_in_.size();
        waited_in_.push_back(&queue);
        bound_start(queue);
    }
    queue.seats_waiting += entry.work.seats;
    queue.work_waiting += work_of(entry);
    ++waiting_;
    seats_waiting_ += entry.work.seats;
    return true;
}

void FairQueues::unlink(Entry& entry) {
    Queue& queue = *entry.queue;
    (entry.previous ? entry.previous->next : queue.first) = entry.next;
    (entry.next ? entry.next->previous : queue.last) = entry.previous;
    queue.seats_waiting -= entry.work.seats;
    queue.work_waiting -= work_of(entry);
    --waiting_;
    seats_waiting_ -= entry.work.seats;
    if (--queue.waiting > 0) return;
    queue.work_waiting = 0;  // without what rounding has left
    waited_in_.back()->place = queue.place;
    waited_in_[queue.place] = waited_in_.back();
    waited_in_.pop_back();
}

bool FairQueues::fits(std::uint32_t seats) const {
    if (limit_ == 0) return false;
    if (seats > limit_) return executing_ == 0;  // alone, as it will never fit
    return seats_in_use_ + seats <= limit_;
}

bool FairQueues::may_begin(const Entry& entry) const {
    return !entry.work.in_pieces || std::ranges::find(in_pieces_, entry.flow) == in_pieces_.end();
}

FairQueues::Entry* FairQueues::next() const {
    Queue* best = nullptr;
    double best_end = std::numeric_limits<double>::max();
    for (Queue* queue : waited_in_) {
        if (!may_begin(*queue->first)) continue;
        const double end = queue->next_start + work_of(*queue->first);
        if (end > best_end || (end == best_end && best && best->served < queue->served)) continue;
        best = queue;
        best_end = end;
    }
    // A wide request at the head is waited for: narrow ones would pass it for ever.
    return best && fits(best->first->work.seats) ? best->first : nullptr;
}

FairQueues::Entry* FairQueues::start_next(MonotonicTime now) {
    Entry* const entry = next();
    if (!entry) return nullptr;
    Queue& queue = *entry->queue;
    advance(now);
    unlink(*entry);
    take_seats(*entry, now);
    queue.served = ++served_;
    ++queue.executing;
    queue.seats_in_use += entry->work.seats;
    queued_seats_in_use_ += entry->work.seats;
    queue.next_start += work_of(*entry);
    bound_start(queue);
    return entry;
}

void FairQueues::take_seats(Entry& entry, MonotonicTime now) {
    entry.started = now;
    ++executing_;
    seats_in_use_ += entry.work.seats;
}

bool FairQueues::start_unqueued(Entry& entry, MonotonicTime now) {
    if (!fits(entry.work.seats)) return false;
    start_exempt(entry, now);
    return true;
}

void FairQueues::start_exempt(Entry& entry, MonotonicTime now) {
    entry.queue = nullptr;
    entry.arrived = now;
    take_seats(entry, now);
}

void FairQueues::go_on_in_pieces(Entry& entry, MonotonicTime now) {
    advance(now);
    const std::uint32_t returned = entry.work.seats - 1;
    entry.work.seats = 1;
    seats_in_use_ -= returned;
    if (!entry.queue) return;
    Queue& queue = *entry.queue;
    queue.seats_in_use -= returned;
    queued_seats_in_use_ -= returned;
    queue.next_start += (seconds(now - entry.started) - EstimatedService) * returned;
    bound_start(queue);
    if (!std::exchange(entry.in_pieces, true)) in_pieces_.push_back(entry.flow);
}

void FairQueues::finish(Entry& entry, MonotonicTime now) {
    advance(now);
    if (std::exchange(entry.in_pieces, false)) in_pieces_.erase(std::ranges::find(in_pieces_, entry.flow));
    --executing_;
    seats_in_use_ -= entry.work.seats;
    if (!entry.queue) return;
    Queue& queue = *entry.queue;
    --queue.executing;
    queue.seats_in_use -= entry.work.seats;
    queued_seats_in_use_ -= entry.work.seats;
    queue.next_start += (seconds(now - entry.started) - EstimatedService) * entry.work.seats;
    bound_start(queue);
    if (queue.busy()) return;
    --busy_queues_;
    drop_empty_queues();
}

void FairQueues::remove(Entry& entry, MonotonicTime now) {
    advance(now);
    unlink(entry);
    Queue& queue = *entry.queue;
    bound_start(queue);
    if (queue.busy()) return;
    --busy_queues_;
    drop_empty_queues();
}

}  // namespace porthole::apiserver
