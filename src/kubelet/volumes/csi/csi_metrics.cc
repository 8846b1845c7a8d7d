#include "kubelet/volumes/csi/csi_metrics.h"

namespace porthole::kubelet {
namespace {

constexpr double Bounds[] = {0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600};  // upstream's

}  // namespace

void CsiMetrics::add(const std::string& driver, std::string_view method, std::string_view status, Duration time) {
    const std::string labels = metric_label("driver_name", driver) + "," + metric_label("grpc_status_code", status) + "," +
                               metric_label("method_name", method) + "," + metric_label("migrated", "false");
    auto found = series_.find(labels);
    if (found == series_.end()) {
        if (series_.size() == MostSeries) return;
        found = series_.emplace(labels, MetricHistogram(Bounds)).first;
    }
    found->second.add(std::chrono::duration<double>(time).count());
}

void CsiMetrics::append(std::string& out) const {
    if (series_.empty()) return;
    const MetricFamily family(out, "csi_operations_seconds", "histogram",
                              "Container Storage Interface operation duration with gRPC error code status total");
    for (const auto& [labels, histogram] : series_) histogram.append(family, labels);
}

}  // namespace porthole::kubelet
