#include "cmd/program/progress.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "cmd/program/runtime_setup.h"
#include "schema/json/json.h"

namespace porthole::cmd {

Progress::Progress(const Clock& clock, ProgressStyle style)
    : clock_(clock),
      start_(clock.now()),
      style_(style),
      terminal_(::isatty(STDOUT_FILENO) == 1),
      color_(terminal_ && !std::getenv("NO_COLOR")) {}

void Progress::begin(const std::string& step) {
    if (style_ == ProgressStyle::Json) return json("begin", step);
    if (style_ == ProgressStyle::Quiet || !terminal_) return;
    std::printf("\r\033[K  … %s", step.c_str());
    std::fflush(stdout);
}

void Progress::done(const std::string& step) {
    if (style_ == ProgressStyle::Json) return json("done", step);
    line("\033[32m", "✓", step, true);
}

void Progress::failed(const std::string& step, const std::string& why) {
    if (style_ == ProgressStyle::Json) return json("failed", step, why);
    if (terminal_) std::printf("\r\033[K");
    std::fflush(stdout);
    std::fprintf(stderr, "%s✗%s %s: %s\n", color_ ? "\033[31m" : "", color_ ? "\033[0m" : "", step.c_str(), why.c_str());
}

void Progress::note(const std::string& text) {
    if (style_ == ProgressStyle::Json) return json("note", text);
    line("", " ", text, false);
}

void Progress::warn(const std::string& text) {
    if (style_ == ProgressStyle::Json) return json("warning", text);
    note(text);
}

int Progress::end(const Result<void>& outcome) {
    if (style_ != ProgressStyle::Json) return outcome ? 0 : fail(outcome.error().message);
    json("end", outcome ? "done" : "failed", outcome ? "" : outcome.error().message, outcome ? 0 : 1);
    return outcome ? 0 : 1;
}

void Progress::json(const char* event, const std::string& text, const std::string& error, int exit_code) {
    const double seconds = std::chrono::duration<double>(clock_.now() - start_).count();
    schema::Value line = schema::Value::object({{"event", event}, {"text", text}, {"seconds", std::round(seconds * 10) / 10}});
    if (!error.empty()) line["error"] = error;
    if (exit_code >= 0) line["exitCode"] = exit_code;
    std::puts(schema::to_json(line).c_str());
    std::fflush(stdout);
}

void Progress::line(const char* color, const char* mark, const std::string& text, bool with_time) {
    if (style_ == ProgressStyle::Quiet) return;
    if (terminal_) std::printf("\r\033[K");
    std::printf("%s%s%s ", color_ ? color : "", mark, color_ ? "\033[0m" : "");
    if (with_time) {
        const double seconds = std::chrono::duration<double>(clock_.now() - start_).count();
        std::printf("%-48s %6.1f s\n", text.c_str(), seconds);
    } else {
        std::printf("%s\n", text.c_str());
    }
    std::fflush(stdout);
}

}  // namespace porthole::cmd
