#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/metrics_text.h"
#include "runtime/event_loop.h"

namespace porthole::scheduler {

/// Counts what came of waiting for binding conditions of devices, under upstream's names. On the scheduler's loop.
class BindingMetrics {
public:
    enum class Outcome : std::uint8_t { Success, Failure, Timeout, Error };
    struct Device {
        std::string driver;
        bool has_conditions = false;
    };
    static constexpr std::size_t MostSeries = 1024;  ///< further ones are not counted: drivers choose their names

    /// A pod of the profile has waited for the claims that hold `devices`, at least one of which has conditions. As upstream, the time
    /// counts for each of the devices, and the allocation for those with conditions.
    void add(const std::string& profile, const std::vector<Device>& devices, Outcome outcome, Duration waited);
    /// Appends nothing before the first wait.
    void append(std::string& out) const;

private:
    std::map<std::string, MetricHistogram> waits_;      ///< by labels
    std::map<std::string, std::uint64_t> allocations_;  ///< by labels; these are labels of waits_ too
};

}  // namespace porthole::scheduler
