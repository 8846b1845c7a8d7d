#pragma once
#include "runtime/sim/sim_loop.h"
#include "runtime/worker_pool.h"

namespace porthole::sim {

/// Runs submitted work on the simulation's own loop, at its next turn.
class SimWorkerPool final : public WorkerPool {
public:
    explicit SimWorkerPool(SimLoop& loop) : loop_(loop) {}
    void submit(Callback work) override { loop_.post(std::move(work)); }

private:
    SimLoop& loop_;
};

}  // namespace porthole::sim
