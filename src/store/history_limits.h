#pragma once
#include <deque>

#include "store/history.h"
#include "store/store.h"

namespace porthole::store {

/// Decides how much of the history is kept in memory: by age, by number and by bytes.
class HistoryLimits {
public:
    explicit HistoryLimits(const Store::Options& options) : options_(options) {}

    /// Records that `revision` is current now. Called first after loading.
    void mark(MonotonicTime now, Revision revision) { marks_.emplace_back(now, revision); }
    /// How often to call target() while the limits are not exceeded.
    Duration period() const;
    /// Whether a limit is exceeded.
    bool exceeded(const History& history) const;
    /// The revision to compact to now; records the present revision of `history`. `all`: compact as much as possible.
    Revision target(MonotonicTime now, const History& history, bool all);

private:
    const Store::Options options_;
    std::deque<std::pair<MonotonicTime, Revision>> marks_;  // which revision was current when
};

}  // namespace porthole::store
