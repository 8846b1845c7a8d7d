#pragma once
#include <string>

#include "base/progress_report.h"

namespace porthole::local_cluster {

/// The supervisor's end of the pipe to the command that has started it: one line per step, "begin|done|failed TAB step [TAB why]", and
/// "ready" last. Without a reader it has no effect: the cluster continues.
class ProgressPipe final : public ProgressReport {
public:
    /// Owns `fd`; -1 for no reader.
    explicit ProgressPipe(int fd) : fd_(fd) {}
    ~ProgressPipe() override { close(); }
    ProgressPipe(const ProgressPipe&) = delete;
    ProgressPipe& operator=(const ProgressPipe&) = delete;

    void begin(const std::string& step) override { send("begin\t" + step); }
    void done(const std::string& step) override { send("done\t" + step); }
    void failed(const std::string& step, const std::string& why) override { send("failed\t" + step + "\t" + why); }
    /// All is up; closes the pipe.
    void ready();

private:
    void send(std::string line);
    void close();
    int fd_;
};

/// The command's end: reports the steps to `progress` until the supervisor is ready, or has ended: false. Blocks. Owns `fd`.
bool follow_progress(int fd, ProgressReport& progress);

}  // namespace porthole::local_cluster
