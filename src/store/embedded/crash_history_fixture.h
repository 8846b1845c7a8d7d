#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "store/engine.h"

namespace porthole::store {

/// Puts an engine with a fault between the store and the real one; empty for none.
using EngineWrapper = std::function<std::unique_ptr<Engine>(std::unique_ptr<Engine>)>;

struct CrashRun {
    std::size_t points = 0;       ///< crashes that were followed by a reopen and a comparison
    std::size_t compactions = 0;  ///< that the history held
    std::size_t recoveries = 0;   ///< points at which more than what was acknowledged was found
    std::size_t failures = 0;     ///< calls of the disk that were made to fail
    std::string violation;        ///< what is wrong, and where; "" when nothing is
};

/// Runs histories of writes, deletions, re-creations, leases and compactions on a simulated disk (CrashDisk), all drawn from `seed`, cuts
/// the power at `points` random calls of the disk, and compares what is found then with what had been acknowledged:
///   - every acknowledged transaction is there, at its revision, and can be read and watched at every revision that is not compacted;
///   - nothing that was deleted is back;
///   - of what was not acknowledged, the last group of transactions is wholly there or not at all;
///   - the revision never goes back, and the next write gets a greater one than any before;
///   - everything with a lease goes when the lease has had its time.
/// The power fails again while a store that is being opened recovers from the failure before. Stops at the first violation.
/// `directory` exists; only lock files are written there.
CrashRun run_crash_history(std::uint64_t seed, std::size_t points, const std::string& directory, const EngineWrapper& wrap = {});

}  // namespace porthole::store
