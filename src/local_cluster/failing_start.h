#pragma once
#include <filesystem>
#include <string>

#include "runtime/event_loop.h"

namespace porthole::local_cluster {

/// Tells from its log that a program ends at each start, so that nobody waits for it in vain. Programs of ours write why they end as their
/// last line, below the records of the log; the supervisor starts them again after longer and longer pauses.
class FailingStart {
public:
    /// What the log says before `now` is of an earlier start.
    FailingStart(std::filesystem::path log, MonotonicTime now);

    /// Reads the log. True once the program has ended with the same words for so long that it has been started several times.
    bool is_hopeless(MonotonicTime now);
    /// Why the program has ended, as of the last is_hopeless(); "" while it runs, and where it has not said so.
    const std::string& last_words() const { return words_; }

private:
    std::filesystem::path log_;
    std::uintmax_t old_size_;
    std::string words_;
    MonotonicTime since_;
};

}  // namespace porthole::local_cluster
