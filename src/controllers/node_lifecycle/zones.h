#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/core_v1.h"
#include "runtime/event_loop.h"

namespace porthole::controllers {

/// A region and zone from a node's labels; nodes without such labels form one zone.
std::string zone_of(const api::core::v1::Node& node);

enum class ZoneState { Normal, PartialDisruption, FullDisruption };

/// The nodes of a zone by readiness.
struct ZoneCount {
    std::size_t ready = 0, not_ready = 0;
    std::size_t nodes() const { return ready + not_ready; }
};

/// Partial when at least three nodes, and a share of at least `threshold`, are not ready; full when none is ready.
ZoneState zone_state(const ZoneCount& count, double threshold);

/// The nodes of a zone whose pods are to be evicted, one after the other and at a limited rate.
class EvictionQueue {
public:
    /// Nodes a second; 0 stops.
    void set_rate(double rate, MonotonicTime now);
    void add(const std::string& node);
    void remove(const std::string& node);
    void clear();
    /// The next node, if its time has come.
    std::optional<std::string> take(MonotonicTime now);
    /// Returns a node after a failed attempt: it is the next, within a second.
    void put_back(const std::string& node, MonotonicTime now);
    /// Until take() returns the next; nullopt if waiting would not change anything.
    std::optional<Duration> wait(MonotonicTime now) const;

private:
    void put(std::int64_t place, const std::string& node);

    std::map<std::int64_t, std::string> nodes_;             ///< by their places, the first of which is the next
    std::unordered_map<std::string, std::int64_t> places_;  ///< of each of `nodes_`
    double rate_ = 0;
    MonotonicTime next_{};  ///< not before
};

}  // namespace porthole::controllers
