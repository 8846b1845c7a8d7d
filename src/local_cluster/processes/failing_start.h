#pragma once
#include <filesystem>
#include <string>

#include "runtime/event_loop.h"

namespace porthole::local_cluster {

/// Detects from its log that a program exits at each start, so that callers stop waiting for it. Our programs write the reason
/// after the last record of the log; the supervisor restarts them after increasing pauses.
class FailingStart {
public:
    /// Entries of the log before `now` belong to an earlier start.
    FailingStart(std::filesystem::path log, MonotonicTime now);

    /// Reads the log. True once the program has exited with the same message for so long that it was started several times.
    bool is_hopeless(MonotonicTime now);
    /// Why the program has exited, as of the last is_hopeless(); "" while it runs, and if it has not written a reason.
    const std::string& last_words() const { return words_; }

private:
    std::filesystem::path log_;
    std::uintmax_t old_size_;
    std::string words_;
    MonotonicTime since_;
};

}  // namespace porthole::local_cluster
