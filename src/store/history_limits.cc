#include "store/history_limits.h"

#include <algorithm>

namespace porthole::store {

Duration HistoryLimits::period() const { return std::max<Duration>(options_.keep_history_for / 10, std::chrono::milliseconds(1)); }

bool HistoryLimits::exceeded(const History& history) const {
    return history.log_end() - history.log_begin() > options_.keep_events || history.superseded_bytes() > options_.keep_bytes;
}

Revision HistoryLimits::target(MonotonicTime now, const History& history, bool all) {
    mark(now, history.revision());
    while (marks_.size() > 1 && marks_[1].first + options_.keep_history_for <= now) marks_.pop_front();
    Revision target = marks_.front().first + options_.keep_history_for <= now ? marks_.front().second : Revision();
    // When there is too much, a tenth more than needed goes, so that it is not always just too much.
    const std::uint64_t events = history.log_end() - history.log_begin();
    std::uint64_t surplus = 0;
    if (events > options_.keep_events) surplus = events - options_.keep_events + options_.keep_events / 10;
    if (history.superseded_bytes() > options_.keep_bytes) surplus = std::max(surplus, events / 10 + 1);
    if (all) surplus = events;
    surplus = std::min(surplus, events);
    if (surplus > 0) target = std::max(target, history.event(history.log_begin() + surplus - 1)->revision);
    return target;
}

}  // namespace porthole::store
