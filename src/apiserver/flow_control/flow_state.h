#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "apiserver/flow_control/flow_control.h"
#include "apiserver/flow_control/flow_schemas.h"
#include "apiserver/flow_control/seat_allocation.h"
#include "runtime/loop_turn.h"

/// The state of FlowControl, shared by its source files.
namespace porthole::apiserver {

/// Counts of values up to each bound, and beyond the last one.
template <std::size_t N>
struct BucketCounts {
    std::array<std::uint64_t, N + 1> counts{};
    double sum = 0;

    void observe(double value, const std::array<double, N>& bounds) {
        std::size_t i = 0;
        while (i < N && value > bounds[i]) ++i;
        ++counts[i];
        sum += value;
    }
};
inline constexpr std::array<double, 12> WaitBounds{0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30};
inline constexpr std::array<double, 8> QueueLengthBounds{0, 10, 25, 50, 100, 250, 500, 1000};

enum class Refusal : std::uint8_t { QueueFull, ConcurrencyLimit, TimeOut, Cancelled };
inline constexpr std::array<const char*, 4> RefusalNames{"queue-full", "concurrency-limit", "time-out", "cancelled"};

/// The requests of one schema at one level.
struct FlowControl::Flows {
    Level& level;
    std::string schema;
    std::shared_ptr<const FlowIds> ids{};
    std::uint64_t dispatched = 0;
    std::array<std::uint64_t, RefusalNames.size()> refused{};
    std::uint32_t waiting = 0, executing = 0, seats = 0;
    BucketCounts<WaitBounds.size()> wait_of_served{}, wait_of_refused{};
    BucketCounts<QueueLengthBounds.size()> queue_lengths{};
};

/// Tickets in the order in which they were added; borrows them. A ticket is removed before it is destroyed.
template <FlowControl::Ticket::Links FlowControl::Ticket::* Member>
class FlowControl::Ticket::List {
public:
    Ticket* first() const { return first_; }
    static Ticket* next(const Ticket& ticket) { return (ticket.*Member).next; }
    void add(Ticket& ticket) {
        (ticket.*Member) = {.previous = last_, .next = nullptr};
        (last_ ? (last_->*Member).next : first_) = &ticket;
        last_ = &ticket;
    }
    void remove(Ticket& ticket) {
        const Links links = std::exchange(ticket.*Member, {});
        (links.previous ? (links.previous->*Member).next : first_) = links.next;
        (links.next ? (links.next->*Member).previous : last_) = links.previous;
    }

private:
    Ticket *first_ = nullptr, *last_ = nullptr;
};

/// A priority level, its seats and its requests.
struct FlowControl::Level {
    std::string name, uid;
    bool exempt = false;
    bool desired = true;  ///< false: removed when its last request has left
    FairQueues queues;
    SeatDemand demand;
    SeatLimits limits;
    double shares = 0;
    std::int32_t lendable_percent = 0, borrowing_limit_percent = -1;
    std::uint32_t widest = 10;  ///< seats of one request, at most
    double processor = 0;       ///< seconds for which the thread has served its requests, divided by its seats
    std::uint64_t blocked_in_turn = 0;
    std::map<std::string, std::unique_ptr<Flows>> flows;  ///< by schema
    Ticket::List<&Ticket::of_level_> tickets;

    Flows& flows_of(const std::string& schema, const std::string& schema_uid);
    void note_demand(MonotonicTime now) { demand.set(queues.seats_in_use() + queues.seats_waiting(), now); }
};

/// All of FlowControl; on the server's loop like it. Owns the levels, borrows the tickets.
struct FlowControl::State {
    State(EventLoop& on, const Clock& with, Options chosen) : loop(on), clock(with), options(std::move(chosen)) {}
    ~State();

    void configure(const std::vector<PriorityLevel>& given, std::vector<FlowSchema> schemas_given);
    void configure_level(const PriorityLevel& object);
    void drop_unused_levels();
    void adjust();

    Result<bool> begin(Ticket& ticket, bool exempt);
    Result<bool> begin_queued(Ticket& ticket, const FlowSchema& schema, MonotonicTime now);
    Work estimate(const Ticket& ticket) const;
    void serve(Ticket& ticket, MonotonicTime now);
    void let_wait(Ticket& ticket);
    void go_on_in_pieces(Ticket& ticket);
    void finish(Ticket& ticket);
    void withdraw(Ticket& ticket, Refusal why);
    Error refuse(Flows& flows, Refusal why);

    bool may_start_at_once(const Ticket& ticket, bool others_waited);
    void serve_waiting();
    Ticket* next_to_serve(MonotonicTime now);

    void arm_wait_timer();
    void refuse_those_that_waited_too_long();
    void arm_adjustment();
    std::uint32_t watchers_of(const RequestInfo& info) const;
    /// "" if the level has no queues over which flows are distributed.
    std::string_view distinguisher_of(const Ticket& ticket) const;

    EventLoop& loop;
    const Clock& clock;
    const Options options;
    std::map<std::string, std::unique_ptr<Level>, std::less<>> levels;
    std::unique_ptr<FlowSchemas> schemas;
    std::vector<Flows*> flows;  ///< of the schemas, in their order
    Flows* exempt_flows = nullptr;

    Ticket::List<&Ticket::by_arrival_> waiting;
    std::array<std::uint32_t, 2> waiting_by_kind{};  ///< mutating, reading
    std::unordered_map<std::uint64_t, std::uint32_t> watchers;

    LoopTurn turn{loop, clock, options.turn, [this] { serve_waiting(); }};
    std::uint64_t turn_number = 0;
    double processor_now = 0;  ///< of the level that was served last
    std::optional<TimerId> wait_timer, adjust_timer;
};

}  // namespace porthole::apiserver
