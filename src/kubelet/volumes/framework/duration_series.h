#pragma once
#include <map>
#include <string>

#include "base/metrics_text.h"
#include "runtime/event_loop.h"

namespace porthole::kubelet {

/// Durations of volume operations: a histogram for each set of labels, with upstream's bounds. Lives on the kubelet's loop.
class DurationSeries {
public:
    static constexpr std::size_t Most = 1024;  ///< further ones are not counted: drivers choose their names

    void add(const std::string& labels, Duration time);
    /// Appends nothing if there are none.
    void append(std::string& out, const char* name, const char* help) const;

private:
    std::map<std::string, MetricHistogram> series_;  ///< by labels
};

}  // namespace porthole::kubelet
