#pragma once
#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "runtime/loop_turn.h"
#include "runtime/task.h"

namespace porthole {

class LongWork;

/// The order in which work for several flows is done while the loop's thread is busy: the flows take turns, so that one with much work
/// does not delay the others by more than a piece of it. They share the thread by time: next is the flow that has had least of it among
/// those that wait, where one that comes is taken to have had as much as the flow that was served last (start-time fair queuing). So one
/// that has waited for nothing yet comes before those that go on. Decides about nothing but the order. A flow is any number, often a hash
/// of a name. In its turn, a flow may go on with one more piece: the request that has just been read need not wait for another turn. Lives
/// on the loop and outlives its places.
class Turns {
public:
    /// `clock` measures turns; it may be the loop.
    Turns(EventLoop& loop, const Clock& clock, Duration turn) : clock_(clock), turn_(loop, clock, turn, [this] { serve_waiting(); }) {}

    /// The order of a flow's own work: what is done is sent, and what has begun is ended, before anything new begins. Otherwise the flow
    /// would have much in memory at a time.
    enum class Stage { Sending, Begun, New };
    class Place;

    /// Whether work can begin without waiting.
    bool free() { return order_.empty() && turn_.has_time(); }

private:
    friend LongWork;
    /// Whether the flow whose turn it is begins another piece of work in it, for the first time.
    bool goes_on(std::uint64_t flow, Stage stage);
    using Tag = std::pair<Duration, std::uint64_t>;  ///< what the flow has had of the thread, then the order in which they came
    struct Waiting {
        std::array<std::list<Place*>, 3> places;  ///< by stage
        Tag tag;
        std::list<Place*>& next();
        bool empty() const;
    };

    void serve_waiting();
    void serve(std::uint64_t flow);
    void enter(std::uint64_t flow, Waiting& waiting, Duration had);

    const Clock& clock_;
    LoopTurn turn_;
    std::map<std::uint64_t, Waiting> waiting_;  ///< by flow; none is empty
    std::map<Tag, std::uint64_t> order_;        ///< the flows that wait; the first is next
    std::map<std::uint64_t, Duration> had_;     ///< of flows that were served lately
    Duration served_to_{};                      ///< what the flow that was served last had had
    std::uint64_t entered_ = 0;
    std::optional<std::uint64_t> served_;  ///< the flow that has its turn, and has not gone on
};

/// One piece of work. Lives in its task.
///
///     if (!place.begin(flow)) CO_TRY_VOID(co_await place);  // Error: Cancelled
class Turns::Place final : public Operation<void> {
public:
    explicit Place(Turns& turns) : turns_(turns) {}
    ~Place() { leave(); }

    /// Whether it is the turn of this work already. Otherwise await it. Call once.
    bool begin(std::uint64_t flow, Stage stage = Stage::New);
    /// If it waits, it goes on waiting as work of that flow and stage. So what waits need not do so with those for whom it turns out not
    /// to be.
    void move(std::uint64_t flow, Stage stage);

private:
    friend Turns;
    void start() override {}
    void cancel() override;
    void enter(std::uint64_t flow, Stage stage);
    void leave();

    Turns& turns_;
    std::uint64_t flow_ = 0;
    Stage stage_{};
    bool waits_ = false;
    std::list<Place*>::iterator at_{};
};

/// Long work of one flow, which lets other flows have the thread between its pieces.
///
///     for (...) {
///         if (work.turn_is_over()) CO_TRY_VOID(co_await work.next_turn());  // Error: Cancelled
class LongWork {
public:
    LongWork() = default;  ///< work that nothing waits for
    LongWork(Turns& turns, std::uint64_t flow) : turns_(&turns), flow_(flow), began_(turns.clock_.now()) {}

    /// Whether this piece of the work has been long enough, and something else waits or the thread has had its time.
    bool turn_is_over();
    /// Work that has begun goes on before what the flow begins later, so that it ends. What comes again and again, such as the events of a
    /// watch, waits as Stage::New: otherwise the latest of many such works would have all turns of the flow.
    Task<> next_turn(Turns::Stage stage = Turns::Stage::Begun);

private:
    static constexpr Duration Piece = std::chrono::microseconds(100);

    Turns* turns_ = nullptr;
    std::uint64_t flow_ = 0;
    MonotonicTime began_{};
};

}  // namespace porthole
