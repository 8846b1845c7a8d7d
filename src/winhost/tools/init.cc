// The first process of every emulated Windows container (and of every pod's sandbox): starts Windows programs by Wine, reaps
// everything, writes the container's log and serves the runtime over a Unix socket (frames.h). It outlives the runtime, which finds it
// again by that socket. A static program without dependencies; it runs alone in its pid namespace, so its end is everybody's end.
//
//   init --socket PATH [--log PATH] [--main SPEC [--tty] [--input] [--input-once]] [--data-limit BYTES] [--exit-file PATH]
//        [--keep-registry]
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "winhost/tools/frames.h"
#include "winhost/tools/log_lines.h"

using namespace porthole::winhost;

namespace {

constexpr std::size_t Backlog = 1 << 20;  ///< bytes that may wait for a slow reader before its source is not read any more
constexpr const char* Loader = "/usr/lib/wine/wine64";
constexpr const char* Server = "/usr/lib/wine/wineserver64";
constexpr const char* Launcher = "/porthole/launch.exe";

struct Options {
    std::string socket, log, main_spec, exit_file;
    bool tty = false, input = false, input_once = false, keep_registry = false;
    rlim_t data_limit = RLIM_INFINITY;
};

Options options;
sigset_t original_signals;

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

std::string now_text() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    tm parts{};
    ::gmtime_r(&now.tv_sec, &parts);
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%09ldZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                  parts.tm_hour, parts.tm_min, parts.tm_sec, now.tv_nsec);
    return text;
}

bool write_file(const std::string& path, std::string_view content) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    const bool whole = ::write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size());
    ::close(fd);
    return whole;
}

/// The container's log in CRI's format.
class Log {
public:
    void open() {
        if (options.log.empty()) return;
        const int fd = ::open(options.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
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

class Connection;

/// A Windows program under launch.exe (or a forwarded connection: then only input and output are there).
struct Program {
    pid_t pid = 0;
    std::string folder;
    int input = -1, output = -1, errors = -1, report = -1;
    bool tty = false, is_main = false;
    std::string pending_input;
    bool end_input = false;
    std::string report_text;
    bool started = false, failed = false, exited = false, reaped = false;
    std::uint32_t code = 0;
    std::string failure;

    bool ended() const { return failed || exited; }
};

class Connection {
public:
    explicit Connection(int fd) : fd_(fd) {}
    ~Connection() { ::close(fd_); }
    Connection(const Connection&) = delete;

    void send(FrameType type, std::string_view payload) {
        if (gone) return;
        const auto size = static_cast<std::uint32_t>(payload.size());
        out_.push_back(static_cast<char>(type));
        out_.append(reinterpret_cast<const char*>(&size), sizeof size);
        out_.append(payload);
    }
    void send_number(FrameType type, std::uint32_t number) { send(type, {reinterpret_cast<const char*>(&number), sizeof number}); }
    bool congested() const { return out_.size() > Backlog; }
    bool idle() const { return out_.empty(); }
    int fd() const { return fd_; }

    void flush() {
        while (!out_.empty()) {
            const ssize_t count = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count < 0) {
                if (errno != EAGAIN && errno != EINTR) gone = true;
                return;
            }
            out_.erase(0, static_cast<std::size_t>(count));
        }
        if (finished) gone = true;
    }
    /// False when the client has gone.
    bool receive() {
        char buffer[65536];
        const ssize_t count = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
        if (count > 0) in_.append(buffer, static_cast<std::size_t>(count));
        return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
    }
    bool next_frame(FrameType& type, std::string& payload) {
        std::uint32_t size = 0;
        if (in_.size() < 5) return false;
        std::memcpy(&size, in_.data() + 1, sizeof size);
        if (size > LargestFrame) {
            gone = true;
            return false;
        }
        if (in_.size() < 5 + size) return false;
        type = static_cast<FrameType>(in_[0]);
        payload = in_.substr(5, size);
        in_.erase(0, 5 + size);
        return true;
    }

    Program* program = nullptr;  ///< whose output, input and end it is about
    bool wants_output = false, gives_input = false, owns_program = false, asked = false;
    bool finished = false, gone = false;

private:
    int fd_;
    std::string in_, out_;
};

Log container_log;
std::list<std::unique_ptr<Program>> programs;
std::list<std::unique_ptr<Connection>> connections;
Program* main_program = nullptr;
bool stopping = false;

void close_descriptor(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
}

template <class F>
void for_each_listener(const Program& program, F visit) {
    for (const auto& connection : connections) {
        if (connection->program == &program && !connection->gone) visit(*connection);
    }
}

void announce(Program& program) {
    for_each_listener(program, [&](Connection& connection) {
        if (connection.finished) return;
        if (program.failed) connection.send(FrameType::Failed, program.failure);
        if (program.exited) connection.send_number(FrameType::Exit, program.code);
        connection.finished = true;
    });
}

/// Runs in the child: from here on only async-signal-safe calls, then the loader.
[[noreturn]] void become_loader(const Program& program, int input, int output, int errors) {
    ::setsid();
    if (program.tty) ::ioctl(input, TIOCSCTTY, 0);
    ::dup2(input, 0);
    ::dup2(output, 1);
    ::dup2(errors, 2);
    for (int fd = 3; fd < 1024; ++fd) ::close(fd);
    if (options.data_limit != RLIM_INFINITY) {
        const rlimit limit{options.data_limit, options.data_limit};
        ::setrlimit(RLIMIT_DATA, &limit);
    }
    (void)!::chdir("/wine/drive_c");
    ::sigprocmask(SIG_SETMASK, &original_signals, nullptr);
    const char* const words[] = {Loader, Launcher, program.folder.c_str(), nullptr};
    ::execv(Loader, const_cast<char* const*>(words));
    ::_exit(127);
}

/// The program's ends of its streams.
struct ChildEnds {
    int input = -1, output = -1, errors = -1;
};

bool open_terminal(Program& program, ChildEnds& ends) {
    const int master = ::open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    int unlock = 0, number = 0;
    if (master < 0 || ::ioctl(master, TIOCSPTLCK, &unlock) != 0 || ::ioctl(master, TIOCGPTN, &number) != 0) return false;
    const std::string name = "/dev/pts/" + std::to_string(number);
    ends.input = ::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ends.input < 0) return false;
    ends.output = ::dup(ends.input);
    ends.errors = ::dup(ends.input);
    const winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(master, TIOCSWINSZ, &size);
    program.output = master;
    program.input = ::fcntl(master, F_DUPFD_CLOEXEC, 3);
    return true;
}

bool open_pipes(Program& program, ChildEnds& ends, bool with_input) {
    int pair[2];
    if (with_input) {
        if (::pipe2(pair, O_CLOEXEC) != 0) return false;
        ends.input = pair[0];
        program.input = pair[1];
    } else {
        ends.input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    if (::pipe2(pair, O_CLOEXEC) != 0) return false;
    program.output = pair[0];
    ends.output = pair[1];
    if (::pipe2(pair, O_CLOEXEC) != 0) return false;
    program.errors = pair[0];
    ends.errors = pair[1];
    return true;
}

void fail(Program& program, std::uint32_t error, const std::string& text) {
    program.failed = true;
    program.failure = std::to_string(error) + " " + text;
    announce(program);
}

/// Errors are the program's: it then has failed.
Program* start_program(const std::string& spec, bool tty, bool with_input) {
    static unsigned next_number = 0;
    programs.push_back(std::make_unique<Program>());
    Program& program = *programs.back();
    program.tty = tty;
    program.folder = "/run/porthole/" + std::to_string(next_number++);
    const std::string report = program.folder + "/report";
    ::mkdir("/run/porthole", 0700);
    ::mkdir(program.folder.c_str(), 0700);
    ChildEnds ends;
    if (!write_file(program.folder + "/spec", spec) || !write_file(program.folder + "/event", "") || ::mkfifo(report.c_str(), 0600) != 0 ||
        (program.report = ::open(report.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0 ||
        !(tty ? open_terminal(program, ends) : open_pipes(program, ends, with_input))) {
        fail(program, 0, std::string("preparing the program's streams: ") + std::strerror(errno));
        return &program;
    }
    program.pid = ::fork();
    if (program.pid == 0) become_loader(program, ends.input, ends.output, ends.errors);
    const int error = errno;
    close_descriptor(ends.input);
    close_descriptor(ends.output);
    close_descriptor(ends.errors);
    for (int fd : {program.input, program.output, program.errors})
        if (fd >= 0) set_nonblocking(fd);
    if (program.pid < 0) fail(program, 1455, std::string("starting a process: ") + std::strerror(error));  // ERROR_COMMITMENT_LIMIT
    return &program;
}

void raise_event(Program& program, const std::string& name) {
    if (program.pid <= 0 || program.reaped) return;
    write_file(program.folder + "/event", name);
    ::kill(program.pid, SIGINT);
}

void deliver(Program& program, bool errors, std::string_view bytes) {
    if (program.is_main) container_log.add(errors, bytes);
    for_each_listener(program, [&](Connection& connection) {
        if (connection.wants_output && !connection.finished) connection.send(errors ? FrameType::Errors : FrameType::Output, bytes);
    });
}

/// One reading; false when there is nothing (more) just now.
bool pump(Program& program, int& fd, bool errors) {
    if (fd < 0) return false;
    char buffer[65536];
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count > 0) {
        deliver(program, errors, {buffer, static_cast<std::size_t>(count)});
        return true;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) close_descriptor(fd);  // EIO: the terminal's last user has gone
    return false;
}

void feed(Program& program) {
    while (program.input >= 0 && !program.pending_input.empty()) {
        const ssize_t count = ::write(program.input, program.pending_input.data(), program.pending_input.size());
        if (count < 0) {
            if (errno != EAGAIN && errno != EINTR) {
                program.pending_input.clear();
                close_descriptor(program.input);
            }
            return;
        }
        program.pending_input.erase(0, static_cast<std::size_t>(count));
    }
    if (program.end_input && program.pending_input.empty()) {
        if (program.tty && program.input >= 0) (void)!::write(program.input, "\x1a\r", 2);  // Ctrl+Z ends a console's input
        if (program.pid == 0) ::shutdown(program.output, SHUT_WR);
        program.end_input = false;
        close_descriptor(program.input);
    }
}

void read_report(Program& program) {
    char buffer[256];
    const ssize_t count = ::read(program.report, buffer, sizeof buffer);
    if (count <= 0) return;
    program.report_text.append(buffer, static_cast<std::size_t>(count));
    for (std::size_t end; (end = program.report_text.find('\n')) != std::string::npos; program.report_text.erase(0, end + 1)) {
        const std::string line = program.report_text.substr(0, end);
        const std::size_t blank = line.find(' ');
        const auto number =
            static_cast<std::uint32_t>(std::strtoul(line.c_str() + (blank == line.npos ? line.size() : blank + 1), nullptr, 10));
        if (line.starts_with("started")) {
            program.started = true;
            for_each_listener(program, [&](Connection& connection) { connection.send_number(FrameType::Started, number); });
        } else if (line.starts_with("exit")) {
            program.code = number;
            program.exited = true;
        } else if (line.starts_with("error")) {
            program.failed = true;
            program.failure = std::to_string(number) + " the program could not be started";
        }
    }
}

/// What the program wrote before its end is passed on before its end is told.
void finish(Program& program) {
    while (pump(program, program.output, false)) {
    }
    while (pump(program, program.errors, true)) {
    }
    announce(program);
    for (int* fd : {&program.input, &program.output, &program.errors, &program.report}) close_descriptor(*fd);
    if (program.folder.empty()) return;
    for (const char* name : {"/spec", "/event", "/report"}) ::unlink((program.folder + name).c_str());
    ::rmdir(program.folder.c_str());
}

void reap() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        for (const auto& program : programs) {
            if (program->pid != pid) continue;
            program->reaped = true;
            if (program->report >= 0) read_report(*program);
            if (program->ended()) continue;
            if (!program->started) {  // launch.exe itself did not get that far: Wine could not start
                program->failed = true;
                program->failure = "1450 Wine could not be started (status " + std::to_string(status) + ")";
            } else {
                program->exited = true;
                program->code =
                    WIFSIGNALED(status) ? 128u + static_cast<unsigned>(WTERMSIG(status)) : static_cast<unsigned>(WEXITSTATUS(status));
            }
        }
    }
}

/// Connects to the pod's own port, as a program inside would.
int dial(int port) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&v4), sizeof v4) == 0) return fd;
    ::close(fd);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = v4.sin_port;
    v6.sin6_addr = in6addr_loopback;
    fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&v6), sizeof v6) == 0) return fd;
    const int error = errno;
    ::close(fd);
    errno = error;
    return -1;
}

void begin_dial(Connection& connection, int port) {
    const int fd = dial(port);
    if (fd < 0) {
        connection.send(FrameType::Failed, "10061 connecting to port " + std::to_string(port) + ": " + std::strerror(errno));
        connection.finished = true;
        return;
    }
    programs.push_back(std::make_unique<Program>());
    Program& program = *programs.back();
    set_nonblocking(fd);
    program.output = fd;
    program.input = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
    connection.program = &program;
    connection.wants_output = connection.gives_input = connection.owns_program = true;
    connection.send_number(FrameType::Started, 0);
}

void answer_done(Connection& connection) {
    connection.send_number(FrameType::Exit, 0);
    connection.finished = true;
}

void listen_to_main(Connection& connection) {
    if (!main_program) {
        connection.send(FrameType::Failed, "0 there is no program");
        connection.finished = true;
        return;
    }
    connection.program = main_program;
    if (main_program->started) connection.send_number(FrameType::Started, 0);
    if (main_program->ended()) announce(*main_program);
}

void serve_request(Connection& connection, const std::string& text) {
    std::vector<std::string> words;
    std::size_t start = 0;
    const auto next_word = [&] {
        const std::size_t end = std::min(text.find('\0', start), text.size());
        std::string word = text.substr(start, end - start);
        start = std::min(end + 1, text.size());
        return word;
    };
    const std::string verb = next_word();
    if (verb == "wait") {
        listen_to_main(connection);
    } else if (verb == "attach") {
        connection.wants_output = true;
        connection.gives_input = next_word() == "1";
        listen_to_main(connection);
    } else if (verb == "exec") {
        const bool tty = next_word() == "1";
        connection.gives_input = next_word() == "1";
        connection.wants_output = connection.owns_program = true;
        Program* program = start_program(text.substr(start), tty, connection.gives_input);
        connection.program = program;
        if (program->ended()) announce(*program);
    } else if (verb == "event") {
        if (main_program) raise_event(*main_program, next_word());
        answer_done(connection);
    } else if (verb == "reopen") {
        container_log.open();
        answer_done(connection);
    } else if (verb == "dial") {
        begin_dial(connection, std::atoi(next_word().c_str()));
    } else {
        connection.gone = true;
    }
}

void resize(const Program& program, const std::string& payload) {
    unsigned columns = 0, rows = 0;
    if (!program.tty || std::sscanf(payload.c_str(), "%u %u", &columns, &rows) != 2) return;
    const winsize size{
        .ws_row = static_cast<unsigned short>(rows), .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(program.output, TIOCSWINSZ, &size);
}

void serve_frame(Connection& connection, FrameType type, const std::string& payload) {
    if (type == FrameType::Request && !connection.asked) {
        connection.asked = true;
        return serve_request(connection, payload);
    }
    if (!connection.program) return;
    Program& program = *connection.program;
    if (type == FrameType::Input && connection.gives_input) program.pending_input += payload;
    if (type == FrameType::EndInput && connection.gives_input) program.end_input = true;
    if (type == FrameType::Resize) resize(program, payload);
    if (type == FrameType::Event && connection.owns_program) raise_event(program, payload);
    feed(program);
}

/// The client of an exec has gone: nobody wants its program any more.
void abandon(Connection& connection) {
    Program* program = connection.program;
    if (!program || program->ended()) return;
    if (connection.owns_program && program->pid > 0) raise_event(*program, "kill");
    if (connection.owns_program && program->pid == 0) {
        close_descriptor(program->output);
        close_descriptor(program->input);
        program->exited = true;
    }
    if (program->is_main && connection.gives_input && options.input_once) program->end_input = true;
}

void remove_gone() {
    for (auto it = connections.begin(); it != connections.end();) {
        if (!(*it)->gone) {
            ++it;
            continue;
        }
        abandon(**it);
        it = connections.erase(it);
    }
    for (auto it = programs.begin(); it != programs.end();) {
        Program& program = **it;
        const bool done = program.ended() && (program.reaped || program.pid <= 0) && !program.is_main;
        if (done) {
            for (const auto& connection : connections)
                if (connection->program == &program) connection->program = nullptr;
        }
        it = done ? programs.erase(it) : std::next(it);
    }
}

int listen_socket() {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, options.socket.c_str(), sizeof address.sun_path - 1);
    ::unlink(options.socket.c_str());
    ::umask(0077);
    if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(fd, 64) != 0) {
        std::perror("init: socket");
        std::exit(1);
    }
    ::umask(0022);
    return fd;
}

int take_signals() {
    sigset_t all;
    sigemptyset(&all);
    for (int signal : {SIGCHLD, SIGTERM, SIGPIPE}) sigaddset(&all, signal);
    ::sigprocmask(SIG_BLOCK, &all, &original_signals);
    return ::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

void parse_options(int count, char** words) {
    for (int i = 1; i < count; ++i) {
        const std::string name = words[i];
        const auto value = [&] { return i + 1 < count ? words[++i] : ""; };
        if (name == "--socket")
            options.socket = value();
        else if (name == "--log")
            options.log = value();
        else if (name == "--main")
            options.main_spec = value();
        else if (name == "--exit-file")
            options.exit_file = value();
        else if (name == "--tty")
            options.tty = true;
        else if (name == "--input")
            options.input = true;
        else if (name == "--input-once")
            options.input_once = true;
        else if (name == "--keep-registry")
            options.keep_registry = true;
        else if (name == "--data-limit")
            options.data_limit = std::strtoull(value(), nullptr, 10);
    }
}

std::string read_whole(const std::string& path) {
    std::string content;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    char buffer[4096];
    for (ssize_t count; fd >= 0 && (count = ::read(fd, buffer, sizeof buffer)) > 0;)
        content.append(buffer, static_cast<std::size_t>(count));
    if (fd >= 0) ::close(fd);
    return content;
}

/// "CODE NANOSECONDS" or "failed TEXT", for a runtime that was not there when it happened.
void write_exit_file(const Program& program) {
    if (options.exit_file.empty()) return;
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const std::string time = std::to_string(now.tv_sec * 1'000'000'000LL + now.tv_nsec);
    const std::string temporary = options.exit_file + ".new";
    write_file(temporary, program.failed ? "failed " + time + " " + program.failure : std::to_string(program.code) + " " + time);
    ::rename(temporary.c_str(), options.exit_file.c_str());
}

/// Wine's server writes its registry to disk when it is told to end; killed with the pid namespace it would not.
void save_registry() {
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::execl(Server, Server, "-k", nullptr);
        ::_exit(127);
    }
    for (int round = 0; round < 500 && pid > 0; ++round) {
        if (::waitpid(pid, nullptr, WNOHANG) == pid) return;
        ::usleep(10'000);
    }
}

/// Gives the last frames a moment to go out, then ends, and all processes with it.
[[noreturn]] void end_container(const Program& program) {
    container_log.end();
    if (options.keep_registry) save_registry();
    write_exit_file(program);
    for (int round = 0; round < 20; ++round) {
        bool waiting = false;
        for (const auto& connection : connections) {
            connection->flush();
            waiting |= !connection->gone && !connection->idle();
        }
        if (!waiting) break;
        ::usleep(10'000);
    }
    std::exit(0);
}

struct Watch {
    enum class What { Signals, Listener, Connection, Output, Errors, Report, Input } what;
    Connection* connection = nullptr;
    Program* program = nullptr;
};

bool congested(const Program& program) {
    bool any = false;
    for_each_listener(program, [&](Connection& connection) { any |= connection.wants_output && connection.congested(); });
    return any;
}

void collect(std::vector<pollfd>& fds, std::vector<Watch>& watches, int signals, int listener) {
    const auto add = [&](int fd, short events, Watch watch) {
        if (fd < 0) return;
        fds.push_back({fd, events, 0});
        watches.push_back(watch);
    };
    add(signals, POLLIN, {Watch::What::Signals});
    add(listener, POLLIN, {Watch::What::Listener});
    for (const auto& connection : connections) {
        const bool full = connection->program && connection->program->pending_input.size() > Backlog;
        add(connection->fd(), static_cast<short>((full ? 0 : POLLIN) | (connection->idle() ? 0 : POLLOUT)),
            {Watch::What::Connection, connection.get(), nullptr});
    }
    for (const auto& program : programs) {
        if (!congested(*program)) {
            add(program->output, POLLIN, {Watch::What::Output, nullptr, program.get()});
            add(program->errors, POLLIN, {Watch::What::Errors, nullptr, program.get()});
        }
        if (!program->ended()) add(program->report, POLLIN, {Watch::What::Report, nullptr, program.get()});
        if (!program->pending_input.empty()) add(program->input, POLLOUT, {Watch::What::Input, nullptr, program.get()});
    }
}

void handle(const Watch& watch, int signals, int listener) {
    switch (watch.what) {
        case Watch::What::Signals: {
            signalfd_siginfo info{};
            while (::read(signals, &info, sizeof info) == sizeof info)
                if (info.ssi_signo == SIGTERM) stopping = true;
            return reap();
        }
        case Watch::What::Listener:
            if (const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); fd >= 0)
                connections.push_back(std::make_unique<Connection>(fd));
            return;
        case Watch::What::Connection: {
            if (!watch.connection->receive()) watch.connection->gone = true;
            FrameType type{};
            for (std::string payload; !watch.connection->gone && watch.connection->next_frame(type, payload);)
                serve_frame(*watch.connection, type, payload);
            return;
        }
        case Watch::What::Output:
            pump(*watch.program, watch.program->output, false);
            if (watch.program->output < 0 && watch.program->pid == 0 && !watch.program->ended()) {
                watch.program->exited = true;
                finish(*watch.program);
            }
            return;
        case Watch::What::Errors:
            pump(*watch.program, watch.program->errors, true);
            return;
        case Watch::What::Report:
            read_report(*watch.program);
            return;
        case Watch::What::Input:
            feed(*watch.program);
            return;
    }
}

}  // namespace

int main(int count, char** words) {
    parse_options(count, words);
    const int signals = take_signals();
    const int listener = listen_socket();
    container_log.open();
    if (!options.main_spec.empty()) {
        main_program = start_program(read_whole(options.main_spec), options.tty, options.input);
        main_program->is_main = true;
    }
    for (;;) {
        std::vector<pollfd> fds;
        std::vector<Watch> watches;
        collect(fds, watches, signals, listener);
        if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return 1;
        for (std::size_t i = 0; i < fds.size(); ++i)
            if (fds[i].revents) handle(watches[i], signals, listener);
        for (const auto& program : programs)
            if (program->ended() && program->report >= 0) finish(*program);
        if (main_program && main_program->ended()) end_container(*main_program);  // the exit file first: whoever is told reads it
        for (const auto& connection : connections) connection->flush();
        if (stopping && (!main_program || main_program->reaped)) return 0;
        if (std::exchange(stopping, false)) raise_event(*main_program, "kill");
        remove_gone();
    }
}
