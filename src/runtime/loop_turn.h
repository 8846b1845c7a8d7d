#pragma once
#include <functional>
#include <memory>
#include <utility>

#include "runtime/event_loop.h"

namespace porthole {

/// How long work for peers may keep a loop's thread before it looks at its connections again. A turn begins with the first work after the
/// loop has looked at all of them, and ends when it has done so again. If work waits for the next turn, that begins only after what the
/// loop found at its connections has come: otherwise it would wait a whole turn longer than what was there before. Lives on the loop.
class LoopTurn {
public:
    /// `clock` measures turns; it may be the loop. `next` is called when a turn has ended that work waits for; it may destroy this.
    LoopTurn(EventLoop& loop, const Clock& clock, Duration length, std::function<void()> next)
        : loop_(loop), clock_(clock), length_(length), next_(std::move(next)) {}
    ~LoopTurn() { *alive_ = nullptr; }
    LoopTurn(const LoopTurn&) = delete;
    LoopTurn& operator=(const LoopTurn&) = delete;

    /// Whether the present turn has time for more work. Begins a turn if there is none.
    bool has_time() {
        const MonotonicTime now = clock_.now();
        if (!open_) {
            open_ = true;
            began_ = now;
            look();
        }
        return now - began_ < length_;
    }
    /// Work waits: has `next` called once the loop has looked at its connections.
    void call_next() {
        awaited_ = true;
        look();
    }

private:
    void look() {
        if (!std::exchange(looking_, true)) post(&LoopTurn::looked);
    }
    /// The loop has found out which connections have something to read, and calls those that read it after this.
    void looked() {
        if (awaited_) return post(&LoopTurn::end);
        end();
    }
    void end() {
        looking_ = open_ = false;
        if (std::exchange(awaited_, false)) next_();
    }
    void post(void (LoopTurn::*step)()) {
        loop_.post([alive = alive_, step] {
            if (LoopTurn* const self = *alive) (self->*step)();
        });
    }

    EventLoop& loop_;
    const Clock& clock_;
    const Duration length_;
    const std::function<void()> next_;
    bool open_ = false, looking_ = false, awaited_ = false;
    MonotonicTime began_{};
    /// For posted callbacks, which cannot be taken back.
    std::shared_ptr<LoopTurn*> alive_ = std::make_shared<LoopTurn*>(this);
};

}  // namespace porthole
