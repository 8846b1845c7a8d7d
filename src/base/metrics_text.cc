#include "base/metrics_text.h"

#include <cstdio>
#include <utility>

namespace porthole {

MetricFamily::MetricFamily(std::string& out, std::string name, std::string_view type, std::string_view help)
    : out_(out), name_(std::move(name)) {
    out_.append("# HELP ").append(name_).append(" ").append(help);
    out_.append("\n# TYPE ").append(name_).append(" ").append(type).append("\n");
}

void MetricFamily::add(std::string_view labels, double value) const { add(labels, std::string_view(metric_number(value))); }

void MetricFamily::add_part(std::string_view suffix, std::string_view labels, std::string_view value) const {
    out_.append(name_).append(suffix);
    if (!labels.empty()) out_.append("{").append(labels).append("}");
    out_.append(" ").append(value).append("\n");
}

std::string metric_label(std::string_view name, std::string_view value) {
    return std::string(name).append("=\"").append(value).append("\"");
}

std::string metric_number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

void MetricHistogram::add(double value) {
    for (std::size_t i = 0; i < bounds_.size(); ++i)
        if (value <= bounds_[i]) ++counts_[i];
    ++count_;
    sum_ += value;
}

void MetricHistogram::append(const MetricFamily& family, const std::string& labels) const {
    for (std::size_t i = 0; i < bounds_.size(); ++i)
        family.add_part("_bucket", labels + ',' + metric_label("le", metric_number(bounds_[i])), std::to_string(counts_[i]));
    family.add_part("_bucket", labels + ',' + metric_label("le", "+Inf"), std::to_string(count_));
    family.add_part("_sum", labels, metric_number(sum_));
    family.add_part("_count", labels, std::to_string(count_));
}

}  // namespace porthole
