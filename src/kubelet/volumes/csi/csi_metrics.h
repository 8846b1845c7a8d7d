#pragma once
#include <map>
#include <string>

#include "base/metrics_text.h"
#include "runtime/event_loop.h"

namespace porthole::kubelet {

/// How long calls of CSI drivers took: upstream's `csi_operations_seconds`. Lives on the kubelet's loop.
class CsiMetrics {
public:
    static constexpr std::size_t MostSeries = 1024;  ///< further ones are not counted: drivers choose their names

    /// `method`: "/csi.v1.Node/NodeStageVolume". `status`: as Go's library names it, "OK" or "Internal".
    void add(const std::string& driver, std::string_view method, std::string_view status, Duration time);
    void append(std::string& out) const;

private:
    std::map<std::string, MetricHistogram> series_;  ///< by labels
};

}  // namespace porthole::kubelet
