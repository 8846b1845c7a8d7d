#pragma once
#include <deque>

#include "store/history.h"
#include "store/store.h"

namespace porthole::store {

/// How much of the history is kept in memory: by age, by number and by bytes.
class HistoryLimits {
public:
    explicit HistoryLimits(const Store::Options& options) : options_(options) {}

    /// `revision` is current now. Call first with what has been loaded.
    void mark(MonotonicTime now, Revision revision) { marks_.emplace_back(now, revision); }
    /// How often to ask for a target while there is not too much.
    Duration period() const;
    /// Whether there is too much already.
    bool exceeded(const History& history) const;
    /// What to forget now, and that `history` is at its present revision now. `all`: as much as there is.
    Revision target(MonotonicTime now, const History& history, bool all);

private:
    const Store::Options options_;
    std::deque<std::pair<MonotonicTime, Revision>> marks_;  // when which revision was current
};

}  // namespace porthole::store
