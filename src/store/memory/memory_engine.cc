#include "store/memory/memory_engine.h"

#include <algorithm>

namespace porthole::store {

bool MemoryDisk::take_fault(Fault& fault) {
    if (faults_left_ == 0) return false;
    --faults_left_;
    fault = fault_;
    return fault != Fault::None;
}

void MemoryDisk::keep(const Commit& commit) {
    for (const Row& row : commit.rows) rows_[{row.revision, row.index}] = row;
}

void MemoryDisk::crash(Random& random) {
    const std::size_t kept = random.below(unsynced_.size() + 1);
    for (std::size_t i = 0; i < kept; ++i) keep(unsynced_[i]);
    unsynced_.clear();
    faults_left_ = 0;
}

Result<Revision> MemoryEngine::load(const std::function<void(Row)>& visit) {
    for (const auto& [place, row] : disk_.rows_) visit(row);
    return disk_.compacted_;
}

Result<void> MemoryEngine::append(std::span<const Commit> commits) {
    ++disk_.appends_;
    MemoryDisk::Fault fault{};
    disk_.unsynced_.clear();  // written over
    if (disk_.take_fault(fault)) {
        if (fault == MemoryDisk::Fault::Full) return Error(Reason::Io, "no space left on the simulated disk");
        disk_.unsynced_.assign(commits.begin(), commits.end());
        return Error(Reason::Io, "the simulated disk failed to sync");
    }
    for (const Commit& commit : commits) disk_.keep(commit);
    return {};
}

Result<void> MemoryEngine::compact(Revision compacted, std::span<const Row> superseded) {
    if (disk_.faults_left_ > 0) return Error(Reason::Io, "no space left on the simulated disk");
    disk_.compacted_ = std::max(disk_.compacted_, compacted);
    for (const Row& row : superseded) {
        auto i = disk_.rows_.lower_bound({row.revision, 0});
        while (i != disk_.rows_.end() && i->first.first == row.revision) {
            i = i->second.key == row.key ? disk_.rows_.erase(i) : std::next(i);
        }
    }
    return {};
}

}  // namespace porthole::store
