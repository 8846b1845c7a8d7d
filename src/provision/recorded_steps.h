#pragma once
#include <string>
#include <vector>

#include "base/progress_report.h"

namespace porthole::provision {

/// The ends of all steps, in order: "step", or "step: why it failed". For tests.
struct RecordedSteps final : ProgressReport {
    void begin(const std::string&) override {}
    void done(const std::string& step) override { lines.push_back(step); }
    void failed(const std::string& step, const std::string& why) override { lines.push_back(step + ": " + why); }
    std::vector<std::string> lines;
};

}  // namespace porthole::provision
