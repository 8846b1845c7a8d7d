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

}  // namespace porthole
