#pragma once
#include <memory>
#include <vector>

#include "runtime/random.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::store {

/// Works that are in progress at the same time, in an order that `random` draws: each has a stack, and one of them runs, up to a pause().
/// Between two pauses the loop has its turn, and may submit further works. All on one thread; equal seeds give equal orders.
class TurnsPool final : public WorkerPool {
public:
    /// `loop` and `random` must outlive it. The loop runs until all works have ended before this object is destroyed.
    TurnsPool(sim::SimLoop& loop, Random& random);
    ~TurnsPool() override;

    void submit(Callback work) override;
    /// Called in a work: the loop and other works may go on before it returns. Does nothing outside of works.
    void pause();

private:
    struct Work;
    void arm();
    void turn();

    sim::SimLoop& loop_;
    Random& random_;
    std::vector<std::unique_ptr<Work>> works_;
    Work* running_ = nullptr;
    std::uint64_t pauses_left_ = 0;  ///< of the running work, before others have their turn
    bool armed_ = false;
};

}  // namespace porthole::store
