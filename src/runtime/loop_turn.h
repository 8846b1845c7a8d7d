#pragma once
#include <functional>
#include <memory>
#include <utility>

#include "runtime/event_loop.h"

namespace porthole {

/// How long work for peers may keep a loop's thread before it looks at its connections again. A turn begins with the first work after the
/// loop has looked at all of them, and ends when it has done so again. Lives on the loop.
class LoopTurn {
public:
    /// `clock` measures turns; it may be the loop. `next` is called when a turn has ended, for what waits; it may destroy this.
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
            call_next();
        }
        return now - began_ < length_;
    }
    /// Has `next` called once the loop has looked at its connections.
    void call_next() {
        if (std::exchange(called_, true)) return;
        loop_.post([alive = alive_] {
            LoopTurn* const self = *alive;
            if (!self) return;
            self->called_ = self->open_ = false;
            self->next_();
        });
    }

private:
    EventLoop& loop_;
    const Clock& clock_;
    const Duration length_;
    const std::function<void()> next_;
    bool open_ = false, called_ = false;
    MonotonicTime began_{};
    /// For posted callbacks, which cannot be taken back.
    std::shared_ptr<LoopTurn*> alive_ = std::make_shared<LoopTurn*>(this);
};

}  // namespace porthole
