#pragma once
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "winhost/tools/init/connection.h"
#include "winhost/tools/log_lines.h"
#include "winhost/tools/processors.h"

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
    /// Also used to open it again after the file was renamed. Without a path nothing is written.
    void open(const std::string& path) {
        if (path.empty()) return;
        const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
        if (fd < 0) return;
        if (fd_ >= 0) ::close(fd_);
        fd_ = fd;
    }
    void add(bool errors, std::string_view bytes) { write(lines_[errors], errors, lines_[errors].add(bytes)); }
    /// Lines of EventLine.
    void add_events(std::string_view bytes) { write(events_, true, events_.add(bytes)); }
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
    LogLines lines_[2], events_;
};

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

/// The program that runs a Windows program and reports on it (tools/launch_folder_windows.h).
inline constexpr const char* Launcher = "/porthole/launch.exe";

/// The command line of init.
struct Options {
    std::string socket, log, main_spec, exit_file;
    std::string main_launcher = Launcher;  ///< of the main program; one that is the program itself spares a process
    bool tty = false, input = false, input_once = false, keep_registry = false;
    bool held = false;           ///< the main program is started when a client requests it
    bool one_processor = false;  ///< Wine boots on one (processors.h)
    rlim_t data_limit = RLIM_INFINITY;
};

/// The program's ends of its streams.
struct ChildEnds {
    int input = -1, output = -1, errors = -1;
};

/// A Windows program under launch.exe, or directly under Wine (or a forwarded connection: then only input and output are there).
struct Program {
    pid_t pid = 0;
    std::string launcher, folder;        ///< of one that is directly under Wine: itself, and no folder
    std::vector<std::string> variables;  ///< "NAME=value", of one that is directly under Wine
    int input = -1, output = -1, errors = -1, report = -1;
    ChildEnds ends;    ///< kept while Wine's loader may be started again, so that no output is lost
    int attempts = 0;  ///< of Wine's loader
    bool tty = false, is_main = false;
    bool has_written = false;    ///< to its output
    bool one_processor = false;  ///< it and Wine's server are kept on one, until it has started; a program without launch.exe until its end
    std::string pending_input;
    bool end_input = false;
    std::string report_text;
    bool started = false, failed = false, exited = false, reaped = false;
    pid_t process = 0;         ///< its own, on Linux (wine_processes.h); 0 once that has ended
    std::uint32_t killed = 0;  ///< its exit code if Linux killed it, which Wine does not know
    std::uint32_t code = 0;
    std::string failure;
    std::string console_size;  ///< "90 30", last set by a client; "" before
    bool told_of_its_end = false;

    bool ended() const { return failed || exited; }
    bool is_direct() const { return folder.empty() && pid != 0; }
};

/// The one container that this process is.
struct Container {
    Options options;
    sigset_t original_signals;
    ContainerLog log;
    std::list<std::unique_ptr<Program>> programs;
    std::list<std::unique_ptr<Connection>> connections;
    Program* main_program = nullptr;
    pid_t wine_server = 0;  ///< since a program has started
    Processors processors;
    bool stopping = false;
};
extern Container container;

template <class F>
void for_each_listener(const Program& program, F visit) {
    for (const auto& connection : container.connections) {
        if (connection->program == &program && !connection->gone) visit(*connection);
    }
}

/// Errors are the program's: it then has failed.
Program* start_program(const std::string& spec, bool tty, bool with_input, const std::string& launcher = Launcher,
                       bool one_processor = false);
/// Without launch.exe: for short programs, as another process of Wine takes longer to start than they run.
Program* run_directly(std::vector<std::string> program_and_variables);
/// Starts the main program, if there is one and it was not started before.
void start_main();
/// Sets the size of the program's console to `console_size`.
void resize_console(Program& program);
/// "0" to "6", or "kill".
void raise_event(Program& program, const std::string& name);
/// Reports its end to all clients that wait for it.
void announce(Program& program);
/// Reads from `fd` once; false if there is nothing (more) at present.
bool pump(Program& program, int& fd, bool errors);
/// Writes pending input.
void feed(Program& program);
void read_report(Program& program);
/// Forwards the program's remaining output before its end is reported.
void finish(Program& program);
void reap();

}  // namespace porthole::winhost
