#include "cmd/program/progress.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/terminal_text.h"
#include "cmd/program/runtime_setup.h"
#include "schema/json/json.h"
#include "schema/yaml/yaml.h"

namespace porthole::cmd {

Progress::Progress(const Clock& clock, ProgressStyle style)
    : clock_(clock),
      start_(clock.now()),
      style_(style),
      terminal_(::isatty(STDOUT_FILENO) == 1),
      color_(terminal_ && !std::getenv("NO_COLOR")) {}

void Progress::begin(const std::string& step) {
    if (is_for_programs()) return event("begin", step);
    if (style_ == ProgressStyle::Quiet || !terminal_) return;
    std::printf("\r\033[K  … %s", for_terminal(step).c_str());
    std::fflush(stdout);
}

void Progress::done(const std::string& step) {
    if (is_for_programs()) return event("done", step);
    line("\033[32m", "✓", step, true);
}

void Progress::failed(const std::string& step, const std::string& why) {
    if (is_for_programs()) return event("failed", step, why);
    if (terminal_) std::printf("\r\033[K");
    std::fflush(stdout);
    std::fprintf(stderr, "%s✗%s %s: %s\n", color_ ? "\033[31m" : "", color_ ? "\033[0m" : "", for_terminal(step).c_str(),
                 for_terminal(why).c_str());
}

void Progress::note(const std::string& text) {
    if (is_for_programs()) return event("note", text);
    line("", " ", text, false);
}

void Progress::warn(const std::string& text) {
    if (is_for_programs()) return event("warning", text);
    note(text);
}

int Progress::end(const Result<void>& outcome) {
    if (!is_for_programs()) return outcome ? 0 : fail(outcome.error().message);
    event("end", outcome ? "done" : "failed", outcome ? "" : outcome.error().message, outcome ? 0 : 1);
    return outcome ? 0 : 1;
}

void Progress::event(const char* event, const std::string& text, const std::string& error, int exit_code) {
    const double seconds = std::chrono::duration<double>(clock_.now() - start_).count();
    schema::Value one = schema::Value::object({{"event", event}, {"text", text}, {"seconds", std::round(seconds * 10) / 10}});
    if (!error.empty()) one["error"] = error;
    if (exit_code >= 0) one["exitCode"] = exit_code;
    std::fputs((style_ == ProgressStyle::Yaml ? "---\n" + schema::to_yaml(one) : schema::to_json(one) + "\n").c_str(), stdout);
    std::fflush(stdout);
}

void Progress::line(const char* color, const char* mark, const std::string& given, bool with_time) {
    if (style_ == ProgressStyle::Quiet) return;
    const std::string text = for_terminal(given);
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
