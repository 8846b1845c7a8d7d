#pragma once
#include <cstdint>
#include <string>

#include "base/progress_report.h"
#include "base/result.h"
#include "runtime/event_loop.h"

namespace porthole::cmd {

/// How steps are shown.
enum class ProgressStyle : std::uint8_t {
    Text,
    Quiet,  ///< failures only
    Json,   ///< for programs: an object a line, see Progress::end()
    Yaml,   ///< the same objects, each a document of YAML
};

/// Steps with check marks and times on standard output; without a terminal only lines. `clock` must outlive it.
///
///     ✓ control plane ready                       0.3 s
///     ✓ node linux-1 Ready                        1.9 s
class Progress final : public ProgressReport {
public:
    Progress(const Clock& clock, ProgressStyle style);
    Progress(const Clock& clock, bool quiet) : Progress(clock, quiet ? ProgressStyle::Quiet : ProgressStyle::Text) {}

    /// Reports that `step` has begun (shown on a terminal until it ends).
    void begin(const std::string& step) override;
    void done(const std::string& step) override;
    void failed(const std::string& step, const std::string& why) override;
    void note(const std::string& text);
    void warn(const std::string& text);
    /// The command is over: its exit code, 0 or 1. An error is printed as fail() does. Every object is
    /// {"event":"begin"|"done"|"note"|"warning"|"failed"|"end","text":…,"seconds":…}, with "error" for failed, and for end when it failed;
    /// the last one is end, with "exitCode".
    int end(const Result<void>& outcome);

private:
    bool is_for_programs() const { return style_ == ProgressStyle::Json || style_ == ProgressStyle::Yaml; }
    void event(const char* event, const std::string& text, const std::string& error = "", int exit_code = -1);
    void line(const char* color, const char* mark, const std::string& text, bool with_time);

    const Clock& clock_;
    MonotonicTime start_;
    ProgressStyle style_;
    bool terminal_, color_;
};

}  // namespace porthole::cmd
