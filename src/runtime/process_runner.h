#pragma once
#include <memory>

#include "runtime/process.h"
#include "runtime/worker_pool.h"

namespace porthole {

/// Starts real programs, each waited for by one thread of `pool` until it ends, with all that it started: a process group of
/// its own on Linux, a job object on Windows. A cancelled task and a passed limit kill the whole group. At most 8 MiB of each
/// output stream are kept.
std::unique_ptr<ProcessRunner> make_process_runner(WorkerPool& pool);

}  // namespace porthole
