#pragma once
#include <string>

#include "kubelet/volumes/framework/duration_series.h"

namespace porthole::kubelet {

/// How long calls of CSI drivers took: upstream's `csi_operations_seconds`. Lives on the kubelet's loop.
class CsiMetrics {
public:
    static constexpr std::size_t MostSeries = DurationSeries::Most;

    /// `method`: "/csi.v1.Node/NodeStageVolume". `status`: as Go's library names it, "OK" or "Internal".
    void add(const std::string& driver, std::string_view method, std::string_view status, Duration time);
    void append(std::string& out) const;

private:
    DurationSeries series_;
};

}  // namespace porthole::kubelet
