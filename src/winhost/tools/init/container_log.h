#pragma once
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "winhost/tools/log_lines.h"

namespace porthole::winhost {

inline std::string now_text() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    tm parts{};
    ::gmtime_r(&now.tv_sec, &parts);
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%09ldZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                  parts.tm_hour, parts.tm_min, parts.tm_sec, now.tv_nsec);
    return text;
}

/// The container's log in CRI's format.
class ContainerLog {
public:
    /// Also anew, after the file was moved away. Without a path nothing is written.
    void open(const std::string& path) {
        if (path.empty()) return;
        const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
        if (fd < 0) return;
        if (fd_ >= 0) ::close(fd_);
        fd_ = fd;
    }
    void add(bool errors, std::string_view bytes) { write(lines_[errors], errors, lines_[errors].add(bytes)); }
    void end() {
        for (bool errors : {false, true}) write(lines_[errors], errors, lines_[errors].rest());
    }

private:
    void write(LogLines&, bool errors, const std::vector<LogLine>& lines) {
        if (fd_ < 0) return;
        for (const LogLine& line : lines) {
            const std::string text = now_text() + (errors ? " stderr " : " stdout ") + (line.whole ? "F " : "P ") + line.text + "\n";
            (void)!::write(fd_, text.data(), text.size());
        }
    }
    int fd_ = -1;
    LogLines lines_[2];
};

}  // namespace porthole::winhost
