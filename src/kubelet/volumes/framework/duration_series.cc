#include "kubelet/volumes/framework/duration_series.h"

namespace porthole::kubelet {
namespace {

constexpr double Bounds[] = {0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600};  // upstream's

}  // namespace

void DurationSeries::add(const std::string& labels, Duration time) {
    auto found = series_.find(labels);
    if (found == series_.end()) {
        if (series_.size() == Most) return;
        found = series_.emplace(labels, MetricHistogram(Bounds)).first;
    }
    found->second.add(std::chrono::duration<double>(time).count());
}

void DurationSeries::append(std::string& out, const char* name, const char* help) const {
    if (series_.empty()) return;
    const MetricFamily family(out, name, "histogram", help);
    for (const auto& [labels, histogram] : series_) histogram.append(family, labels);
}

}  // namespace porthole::kubelet
