#include "scheduler/framework/diagnosis.h"

#include <algorithm>

#include "base/strings.h"

namespace porthole::scheduler {

std::string nodes_available_text(std::size_t node_count, const std::vector<std::pair<std::string, std::size_t>>& reasons) {
    std::vector<std::string> parts;
    for (const auto& [reason, count] : reasons) parts.push_back(std::to_string(count) + " " + reason);
    std::ranges::sort(parts);
    return "0/" + std::to_string(node_count) + " nodes are available: " + join(parts, ", ") + ".";
}

std::string Diagnosis::text() const {
    if (!error.empty()) return error;
    if (node_count == 0) return "no nodes available to schedule pods";
    if (!pre_filter_message.empty()) {
        return "0/" + std::to_string(node_count) + " nodes are available: " + pre_filter_message + ".";
    }
    return nodes_available_text(node_count, reasons);
}

}  // namespace porthole::scheduler
