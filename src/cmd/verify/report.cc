#include "cmd/verify/verification.h"

namespace porthole::cmd::verify {

namespace {

std::string way(const Check& check) {
    const std::string target = check.url.empty() ? check.ping : check.url;
    return std::string(check.on_host ? "node " : "pod on ") + check.from + " → " + (check.to.empty() ? "" : check.to + " ") + target;
}

const char* verdict(const Check& check, bool passed) {
    if (passed) return "pass";
    return check.limitation.empty() ? "fail" : "expected limitation";
}

struct FlowCounts {
    std::size_t passed = 0, limited = 0, failed = 0;
};

std::string summary(Flow flow, const FlowCounts& counts) {
    const std::size_t all = counts.passed + counts.limited + counts.failed;
    std::string name = title(flow);
    name.resize(36, ' ');
    std::string line = std::string(counts.failed > 0    ? "✗ "
                                   : counts.limited > 0 ? "○ "
                                                        : "✓ ") +
                       name + std::to_string(counts.passed) + " of " + std::to_string(all) + " pass";
    if (counts.limited > 0) line += ", " + std::to_string(counts.limited) + " expected limitation" + (counts.limited > 1 ? "s" : "");
    if (counts.failed > 0) line += ", " + std::to_string(counts.failed) + " fail";
    return line + "\n";
}

}  // namespace

std::string to_text(const Report& report, bool everything) {
    std::string text;
    for (int number = 0; number < FlowCount; ++number) {
        const Flow flow = static_cast<Flow>(number);
        FlowCounts counts;
        std::string details;
        for (const Check& check : report.checks) {
            if (check.flow != flow) continue;
            const bool passed = report.outcomes.at(check);
            ++(passed ? counts.passed : check.limitation.empty() ? counts.failed : counts.limited);
            if (passed && !everything) continue;
            details += "    " + std::string(verdict(check, passed)) + ": " + way(check) + "\n";
            if (passed) continue;
            details += "        " +
                       (check.limitation.empty() ? "stops at " + failing_hop(check, report.outcomes, report.nodes) : check.limitation) +
                       "\n";
        }
        if (counts.passed + counts.limited + counts.failed > 0) text += summary(flow, counts) + details;
    }
    for (const std::string& reason : report.left_out) text += "✗ not checked: " + reason + "\n";
    return text;
}

schema::Value to_value(const Report& report) {
    using schema::Value;
    Value checks = Value::array(), left_out = Value::array();
    for (const Check& check : report.checks) {
        const bool passed = report.outcomes.at(check);
        Value entry = Value::object({{"flow", title(check.flow)},
                                     {"from", check.from},
                                     {"fromNode", check.on_host},
                                     {"to", check.to},
                                     {"target", check.url.empty() ? check.ping : check.url},
                                     {"result", verdict(check, passed)}});
        if (!passed && check.limitation.empty()) entry["hop"] = failing_hop(check, report.outcomes, report.nodes);
        if (!passed && !check.limitation.empty()) entry["limitation"] = check.limitation;
        checks.as_array().push_back(std::move(entry));
    }
    for (const std::string& reason : report.left_out) left_out.as_array().push_back(reason);
    return Value::object({{"passed", report.passed()}, {"checks", checks}, {"notChecked", left_out}});
}

}  // namespace porthole::cmd::verify
