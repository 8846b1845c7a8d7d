#include "cmd/program/progress.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace porthole::cmd {

Progress::Progress(const Clock& clock, bool quiet)
    : clock_(clock),
      start_(clock.now()),
      quiet_(quiet),
      terminal_(::isatty(STDOUT_FILENO) == 1),
      color_(terminal_ && !std::getenv("NO_COLOR")) {}

void Progress::begin(const std::string& step) {
    if (quiet_ || !terminal_) return;
    std::printf("\r\033[K  … %s", step.c_str());
    std::fflush(stdout);
}

void Progress::done(const std::string& step) { line("\033[32m", "✓", step, true); }

void Progress::failed(const std::string& step, const std::string& why) {
    if (terminal_) std::printf("\r\033[K");
    std::fflush(stdout);
    std::fprintf(stderr, "%s✗%s %s: %s\n", color_ ? "\033[31m" : "", color_ ? "\033[0m" : "", step.c_str(), why.c_str());
}

void Progress::note(const std::string& text) { line("", " ", text, false); }

void Progress::line(const char* color, const char* mark, const std::string& text, bool with_time) {
    if (quiet_) return;
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
