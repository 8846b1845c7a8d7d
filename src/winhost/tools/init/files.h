#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace porthole::winhost {

inline void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

inline void close_descriptor(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
}

inline bool write_file(const std::string& path, std::string_view content) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    const bool whole = ::write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size());
    ::close(fd);
    return whole;
}

inline std::string read_whole(const std::string& path) {
    std::string content;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    char buffer[4096];
    for (ssize_t count; fd >= 0 && (count = ::read(fd, buffer, sizeof buffer)) > 0;)
        content.append(buffer, static_cast<std::size_t>(count));
    if (fd >= 0) ::close(fd);
    return content;
}

}  // namespace porthole::winhost
