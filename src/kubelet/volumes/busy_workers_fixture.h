#pragma once
#include <utility>
#include <vector>

#include "runtime/sim/sim_loop.h"
#include "runtime/worker_pool.h"

namespace porthole::kubelet {

/// Workers that are busy until release().
struct BusyWorkers final : WorkerPool {
    explicit BusyWorkers(porthole::sim::SimLoop& of) : loop(of) {}
    void submit(Callback work) override { held.push_back(std::move(work)); }
    void release() {
        for (Callback& work : std::exchange(held, {})) loop.post(std::move(work));
    }
    porthole::sim::SimLoop& loop;
    std::vector<Callback> held;
};

}  // namespace porthole::kubelet
