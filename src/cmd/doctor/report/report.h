#pragma once
#include <string_view>

#include "cmd/doctor/report/findings.h"
#include "schema/value.h"

namespace porthole::cmd::doctor {

/// How a report is printed. A plain value.
struct ReportStyle {
    bool color = false;
    bool everything = true;                           ///< including passes and items that do not apply
    std::string_view other = "Beyond the benchmark";  ///< the section of items without a number
};

/// For people: by the benchmark's sections, each finding with its remedy, and the counts at the end.
std::string to_text(const std::vector<Finding>& findings, const ReportStyle& style);
/// {"benchmark": …, "summary": {"pass": n, …}, "findings": [{"item", "title", "verdict", "detail", "remedy", "objects"}]}
schema::Value to_value(const std::vector<Finding>& findings, std::string_view benchmark = "CIS Kubernetes Benchmark 1.12");
bool has_failed(const std::vector<Finding>& findings);

}  // namespace porthole::cmd::doctor
