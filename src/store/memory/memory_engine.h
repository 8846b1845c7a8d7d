#pragma once
#include <map>
#include <vector>

#include "runtime/random.h"
#include "store/engine.h"

namespace porthole::store {

/// The disk of a simulated server, with its faults. It survives the MemoryEngine.
class MemoryDisk {
public:
    enum class Fault {
        None,
        Full,       ///< nothing is written
        SyncFails,  ///< written, but it is unknown whether it survives a crash
    };
    /// The next `appends` appends fail with `fault`, and so do compactions until then.
    void fail_next(Fault fault, std::size_t appends = 1) {
        fault_ = fault;
        faults_left_ = appends;
    }
    /// Simulates a power failure: of the data never synced, an arbitrary prefix remains (whole transactions, as with a checksummed log).
    /// The engine that was open must not be used again.
    void crash(Random& random);
    std::size_t row_count() const { return rows_.size(); }
    std::size_t append_count() const { return appends_; }

private:
    friend class MemoryEngine;
    using Place = std::pair<Revision, std::uint32_t>;
    bool take_fault(Fault& fault);
    void keep(const Commit& commit);

    std::map<Place, Row> rows_;
    std::vector<Commit> unsynced_;
    Revision compacted_;
    Fault fault_ = Fault::None;
    std::size_t faults_left_ = 0;
    std::size_t appends_ = 0;
};

/// An engine for simulation, as durable as `disk`, which outlives it and is opened again after a crash.
class MemoryEngine final : public Engine {
public:
    explicit MemoryEngine(MemoryDisk& disk) : disk_(disk) {}
    Result<Revision> load(const std::function<void(Row)>& visit) override;
    Result<void> append(std::span<const Commit> commits) override;
    Result<void> compact(Revision compacted, std::span<const Row> superseded) override;
    void close() override {}

private:
    MemoryDisk& disk_;
};

}  // namespace porthole::store
