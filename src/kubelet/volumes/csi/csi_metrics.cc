#include "kubelet/volumes/csi/csi_metrics.h"

namespace porthole::kubelet {

void CsiMetrics::add(const std::string& driver, std::string_view method, std::string_view status, Duration time) {
    series_.add(metric_label("driver_name", driver) + "," + metric_label("grpc_status_code", status) + "," +
                    metric_label("method_name", method) + "," + metric_label("migrated", "false"),
                time);
}

void CsiMetrics::append(std::string& out) const {
    series_.append(out, "csi_operations_seconds", "Container Storage Interface operation duration with gRPC error code status total");
}

}  // namespace porthole::kubelet
