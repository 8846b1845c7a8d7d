#pragma once
#include <string>

#include "base/progress_report.h"
#include "runtime/event_loop.h"

namespace porthole::cmd {

/// Steps with check marks and times on standard output; without a terminal only lines. `clock` must outlive it.
///
///     ✓ control plane ready                       0.3 s
///     ✓ node linux-1 Ready                        1.9 s
class Progress final : public ProgressReport {
public:
    /// `quiet` prints failures only.
    Progress(const Clock& clock, bool quiet);

    /// Says that `step` has begun (shown on a terminal until it ends).
    void begin(const std::string& step) override;
    void done(const std::string& step) override;
    void failed(const std::string& step, const std::string& why) override;
    void note(const std::string& text);

private:
    void line(const char* color, const char* mark, const std::string& text, bool with_time);

    const Clock& clock_;
    MonotonicTime start_;
    bool quiet_, terminal_, color_;
};

}  // namespace porthole::cmd
