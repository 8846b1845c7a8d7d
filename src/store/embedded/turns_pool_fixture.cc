#include "store/embedded/turns_pool_fixture.h"

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace porthole::store {
namespace {

constexpr std::size_t StackBytes = 512 << 10;
constexpr std::uint64_t LongestTurn = 9;  // as a power of two, of pauses

}  // namespace

// Stacks and not threads: a thread that is woken for each call waits for a processor each time on a busy machine.
struct TurnsPool::Work {
    Callback callback;
    std::unique_ptr<std::byte[]> stack = std::make_unique_for_overwrite<std::byte[]>(StackBytes);
    ucontext_t own{}, loop{};
    bool ended = false;

    explicit Work(Callback work) : callback(std::move(work)) {
        CHECK(::getcontext(&own) == 0);
        own.uc_stack.ss_sp = stack.get();
        own.uc_stack.ss_size = StackBytes;
        own.uc_link = &loop;
        // Its arguments are ints: a pointer is two.
        const auto address = reinterpret_cast<std::uintptr_t>(this);
        ::makecontext(&own, reinterpret_cast<void (*)()>(&Work::run), 2, static_cast<unsigned>(address >> 32),
                      static_cast<unsigned>(address));
    }
    static void run(unsigned high, unsigned low) {
        Work& work = *reinterpret_cast<Work*>(std::uintptr_t{high} << 32 | low);
        work.callback();
        work.ended = true;
    }
    void pause() { CHECK(::swapcontext(&own, &loop) == 0); }
    /// Returns at its next pause or its end.
    void resume() { CHECK(::swapcontext(&loop, &own) == 0); }
};

TurnsPool::TurnsPool(sim::SimLoop& loop, Random& random) : loop_(loop), random_(random) {}

TurnsPool::~TurnsPool() { CHECK(works_.empty()); }

void TurnsPool::submit(Callback work) {
    works_.push_back(std::make_unique<Work>(std::move(work)));
    arm();
}

void TurnsPool::pause() {
    if (!running_ || pauses_left_-- > 0) return;
    running_->pause();
}

void TurnsPool::arm() {
    if (works_.empty() || std::exchange(armed_, true)) return;
    loop_.post([this] { turn(); });
}

void TurnsPool::turn() {
    armed_ = false;
    const std::size_t chosen = random_.below(works_.size());
    // Of every length: a whole write may fall between two calls of another work, and single calls of both may alternate.
    pauses_left_ = random_.below(std::uint64_t{1} << random_.below(LongestTurn));
    running_ = works_[chosen].get();
    running_->resume();
    if (running_->ended) works_.erase(works_.begin() + static_cast<std::ptrdiff_t>(chosen));
    running_ = nullptr;
    arm();
}

}  // namespace porthole::store
