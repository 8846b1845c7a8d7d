#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/event_loop.h"

namespace porthole::apiserver {

/// The cost of a request.
struct Work {
    std::uint32_t seats = 1;  ///< that it occupies while it is served
    double later = 0;         ///< seat-seconds of work that follows its answer, such as notifying watchers
    bool in_pieces = false;   ///< it may let others have the thread before it ends: a list
};

/// The queues of one priority level and the seats that its requests occupy.
///
/// Fair queuing for server requests (KEP-1040): a progress meter R counts the seat-seconds that every busy queue would have received if all
/// had received the same. A queue's next request starts, on this scale, where its last one ended, and not before it arrived; the request
/// that would end first is served next. A request counts as `EstimatedService` seconds until it ends, and then as long as it took.
///
///     A's requests take 100 ms, B's 10 ms. After one of each, A's queue has been served up to 0.1 s and B's up to 0.01 s, so nine of B
///     are next (0.02, 0.03, ... 0.1), and then one of A again.
///
/// Differs from Kubernetes: R grows by the seats that are occupied, not by those that could be. One thread serves all requests here, so
/// requests often wait for the processor and not for a seat; R would then grow much faster than the queues are served, and they would be
/// served in order of arrival. Pure: the caller passes the time, and resumes the result of start_next(). The caller owns entries; queued
/// and served ones are referenced until they leave.
class FairQueues {
public:
    struct Configuration {
        std::uint32_t queues = 0;  ///< 0: a request that cannot be served immediately is refused
        std::uint32_t hand_size = 1, queue_length = 0;
    };
    struct Queue;
    struct Entry {
        Work work;
        std::uint64_t flow = 0;  ///< hash of its flow
        MonotonicTime arrived{}, started{};
        // The rest is for FairQueues.
        bool in_pieces = false;  ///< goes on in pieces
        double arrival = 0;      ///< R at its arrival
        Queue* queue = nullptr;
        Entry *previous = nullptr, *next = nullptr;
    };
    struct Queue {
        Entry *first = nullptr, *last = nullptr;  ///< that wait
        std::uint32_t waiting = 0, executing = 0;
        std::uint32_t seats_in_use = 0, seats_waiting = 0;
        double work_waiting = 0;  ///< seat-seconds
        double next_start = 0;    ///< R at which its next request starts
        std::uint64_t served = 0;
        std::size_t place = 0;  ///< among the queues in which requests wait
        bool busy() const { return waiting > 0 || executing > 0; }
    };
    static constexpr double EstimatedService = 0.003;  ///< seconds

    /// Waiting requests stay in their queues; surplus queues are removed once they are empty.
    void configure(const Configuration& configuration);
    const Configuration& configuration() const { return configuration_; }
    /// The number of seats. Requests beyond it that are being served continue.
    void set_limit(std::uint32_t seats) { limit_ = seats; }
    std::uint32_t limit() const { return limit_; }

    /// Queues the request in the shortest queue of its flow's hand. False if that is full. Requires: there are queues.
    bool enqueue(Entry& entry, MonotonicTime now);
    /// The request that is to be served next; null if none waits or its seats are not free.
    Entry* next() const;
    /// The same, which now counts as served.
    Entry* start_next(MonotonicTime now);
    /// Serves a request without a queue, up to the limit. False when its seats are not free.
    bool start_unqueued(Entry& entry, MonotonicTime now);
    /// Serves it regardless of the limit.
    void start_exempt(Entry& entry, MonotonicTime now);
    /// A request that is served goes on in pieces, and keeps one seat for them. No other such request of its flow begins before it ends:
    /// they would all be half done at a time. Requires: entry.work.in_pieces.
    void go_on_in_pieces(Entry& entry, MonotonicTime now);
    /// A request that was served ends.
    void finish(Entry& entry, MonotonicTime now);
    /// A request that waits leaves.
    void remove(Entry& entry, MonotonicTime now);

    std::uint32_t waiting() const { return waiting_; }
    std::uint32_t executing() const { return executing_; }
    std::uint32_t seats_in_use() const { return seats_in_use_; }
    std::uint32_t seats_waiting() const { return seats_waiting_; }
    bool idle() const { return waiting_ == 0 && executing_ == 0; }
    bool can_start() const { return waiting_ > 0 && seats_in_use_ < limit_; }
    const std::deque<Queue>& queues() const { return queues_; }

private:
    static double work_of(const Entry& entry) { return entry.work.seats * EstimatedService + entry.work.later; }
    void advance(MonotonicTime now);
    bool fits(std::uint32_t seats) const;
    Queue& choose_queue(std::uint64_t flow);
    bool may_begin(const Entry& entry) const;
    void unlink(Entry& entry);
    void take_seats(Entry& entry, MonotonicTime now);
    void drop_empty_queues();

    Configuration configuration_;
    std::uint32_t limit_ = 0;
    std::deque<Queue> queues_;
    std::vector<Queue*> waited_in_;         ///< the queues in which requests wait
    std::vector<std::uint64_t> in_pieces_;  ///< the flows of requests that go on in pieces; a flow may be there more than once
    double progress_ = 0;                   ///< R
    MonotonicTime advanced_{};
    std::uint32_t busy_queues_ = 0, queued_seats_in_use_ = 0;
    std::uint32_t waiting_ = 0, executing_ = 0, seats_in_use_ = 0, seats_waiting_ = 0;
    std::uint64_t enqueued_ = 0, served_ = 0;
};

}  // namespace porthole::apiserver
