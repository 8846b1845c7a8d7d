#pragma once
#include <map>
#include <string>

#include "base/metrics_text.h"
#include "runtime/event_loop.h"

namespace porthole::apiserver {

/// A histogram of durations for each text of labels. `Bounds` are its buckets, in seconds.
template <const auto& Bounds>
class LabelledDurations {
public:
    void add(const std::string& labels, Duration taken) {
        durations_.try_emplace(labels, Bounds).first->second.add(std::chrono::duration<double>(taken).count());
    }
    void append(std::string& out, const std::string& name, std::string_view help) const {
        const MetricFamily family(out, name, "histogram", help);
        for (const auto& [labels, durations] : durations_) durations.append(family, labels);
    }

private:
    std::map<std::string, MetricHistogram> durations_;
};

}  // namespace porthole::apiserver
