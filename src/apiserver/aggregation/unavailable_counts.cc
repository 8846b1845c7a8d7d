#include "apiserver/aggregation/unavailable_counts.h"

#include "base/metrics_text.h"

namespace porthole::apiserver {

void UnavailableCounts::add(const std::string& name, const std::string& reason) {
    const std::pair key(name, reason);
    if (counts_.contains(key) || counts_.size() < MostCounted) ++counts_[key];
}

void UnavailableCounts::append(std::string& out) const {
    const MetricFamily total(out, "aggregator_unavailable_apiservice_total", "counter",
                             "Counter of APIServices which are marked as unavailable broken down by APIService name and reason.");
    for (const auto& [key, times] : counts_) total.add(metric_label("name", key.first) + "," + metric_label("reason", key.second), times);
}

}  // namespace porthole::apiserver
