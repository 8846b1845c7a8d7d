#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "store/engine.h"

namespace porthole::store {

/// Inserts an engine with a fault between the store and the real engine; empty for none.
using EngineWrapper = std::function<std::unique_ptr<Engine>(std::unique_ptr<Engine>)>;

struct CrashRun {
    std::size_t points = 0;       ///< crashes that were followed by a reopen and a comparison
    std::size_t compactions = 0;  ///< in the history
    std::size_t recoveries = 0;   ///< points at which more was found than had been acknowledged
    std::size_t during_checkpoint_and_write = 0, during_checkpoint_and_compaction = 0;  ///< points at which both were in progress
    std::size_t failures = 0;                                                           ///< disk calls that were made to fail
    std::string violation;                                                              ///< what is wrong, and where; "" if all is correct
};

/// Runs histories of writes, deletions, re-creations, leases and compactions on a simulated disk (CrashDisk), all drawn from `seed`. Cuts
/// the power at `points` random calls of the disk, and compares what is found afterwards with what had been acknowledged:
///   - every acknowledged transaction exists, at its revision, and can be read and watched at every revision that is not compacted;
///   - nothing that was deleted has returned;
///   - of the transactions that were not acknowledged, the last group exists completely or not at all;
///   - the revision never decreases, and the next write gets a greater one than any before;
///   - everything with a lease is deleted when the lease has expired.
/// The power fails again while a store that is being opened recovers from the previous failure. Stops at the first violation. `directory`
/// exists; only lock files are written there.
CrashRun run_crash_history(std::uint64_t seed, std::size_t points, const std::string& directory, const EngineWrapper& wrap = {});

}  // namespace porthole::store
