#include "local_cluster/processes/progress_pipe.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace porthole::local_cluster {

void ProgressPipe::ready() {
    send("ready");
    close();
}

void ProgressPipe::send(std::string line) {
    std::ranges::replace(line, '\n', ' ');
    line += '\n';
    if (fd_ >= 0 && ::write(fd_, line.data(), line.size()) < 0) close();
}

void ProgressPipe::close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool follow_progress(int fd, ProgressReport& progress) {
    std::FILE* lines = ::fdopen(fd, "r");
    char buffer[4096];
    bool ready = false;
    while (!ready && std::fgets(buffer, sizeof buffer, lines)) {
        const std::string line(buffer, std::strcspn(buffer, "\n"));
        const auto tab = line.find('\t');
        const std::string verb = line.substr(0, tab);
        const std::string step = tab == line.npos ? "" : line.substr(tab + 1);
        if (verb == "begin") progress.begin(step);
        if (verb == "done") progress.done(step);
        if (verb == "failed") progress.failed(step.substr(0, step.find('\t')), step.substr(step.find('\t') + 1));
        ready = verb == "ready";
    }
    std::fclose(lines);
    return ready;
}

}  // namespace porthole::local_cluster
