#include "winhost/tools/init/program.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "winhost/tools/init/wine_processes.h"

namespace porthole::winhost {

namespace {

constexpr const char* Loader = "/usr/lib/wine/wine64";
/// On a busy machine the loader sometimes ends with 1 before it has started anything.
constexpr int MostAttempts = 3;

/// Runs in the child, which like us has one thread only.
[[noreturn]] void become_loader(const Program& program, int input, int output, int errors) {
    ::setsid();
    if (program.tty) ::ioctl(input, TIOCSCTTY, 0);
    ::dup2(input, 0);
    ::dup2(output, 1);
    ::dup2(errors, 2);
    for (int fd = 3; fd < 1024; ++fd) ::close(fd);
    if (container.options.data_limit != RLIM_INFINITY) {
        const rlimit limit{container.options.data_limit, container.options.data_limit};
        ::setrlimit(RLIMIT_DATA, &limit);
    }
    if (program.one_processor) {
        container.processors.keep_here(0);
        if (container.wine_server > 0) container.processors.keep_here(container.wine_server);
    }
    (void)!::chdir("/wine/drive_c");
    ::sigprocmask(SIG_SETMASK, &container.original_signals, nullptr);
    const char* const words[] = {Loader, program.launcher.c_str(), program.folder.empty() ? nullptr : program.folder.c_str(), nullptr};
    for (const std::string& variable : program.variables) ::putenv(const_cast<char*>(variable.c_str()));
    ::execv(Loader, const_cast<char* const*>(words));
    ::_exit(127);
}

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

void close_ends(Program& program) {
    for (int* fd : {&program.ends.input, &program.ends.output, &program.ends.errors}) close_descriptor(*fd);
}

void run_loader(Program& program) {
    program.pid = ::fork();
    if (program.pid == 0) become_loader(program, program.ends.input, program.ends.output, program.ends.errors);
    if (program.pid < 0) fail(program, 1455, std::string("starting a process: ") + std::strerror(errno));  // ERROR_COMMITMENT_LIMIT
    // A terminal is hung up when the first process on it ends.
    if (++program.attempts == MostAttempts || program.tty || program.pid < 0) close_ends(program);
}

/// Its exit code if Linux killed it; else 0.
std::uint32_t killed_by(int status) { return WIFSIGNALED(status) ? 128u + static_cast<unsigned>(WTERMSIG(status)) : 0; }

/// Wine's server sees a process end, and says that it was with 0, a moment before Linux says whether it was killed.
void await_process(Program& program) {
    constexpr int Rounds = 2000;
    for (int rounds = Rounds; program.process != 0 && rounds > 0; --rounds) {
        int status = 0;
        if (const pid_t pid = ::waitpid(program.process, &status, WNOHANG); pid != 0) {
            program.process = 0;
            program.killed = pid > 0 ? killed_by(status) : 0;
        } else {
            ::usleep(500);
        }
    }
}

/// Whether the loader that has ended with `status` had started nothing yet, and can be started once more. A program that is directly under
/// Wine has started if it has written something: what fails says why.
bool can_run_again(const Program& program, int status) {
    const bool started = program.is_direct() ? program.has_written : program.started;
    return !started && !program.ended() && !program.told_of_its_end && program.ends.output >= 0 && WIFEXITED(status) &&
           WEXITSTATUS(status) == 1;
}

/// Gives Wine's server all processors again, unless a program still needs it on its own one.
void release_server() {
    const auto needs_it = [](const std::unique_ptr<Program>& program) { return program->one_processor && !program->ended(); };
    if (container.wine_server > 0 && std::ranges::none_of(container.programs, needs_it))
        container.processors.give_all(container.wine_server);
}

void deliver(Program& program, bool errors, std::string_view bytes) {
    program.has_written |= !errors;
    if (program.is_main) container.log.add(errors, bytes);
    for_each_listener(program, [&](Connection& connection) {
        if (connection.wants_output && !connection.finished) connection.send(errors ? FrameType::Errors : FrameType::Output, bytes);
    });
}

}  // namespace

void announce(Program& program) {
    for_each_listener(program, [&](Connection& connection) {
        if (connection.finished) return;
        if (program.failed) connection.send(FrameType::Failed, program.failure);
        if (program.exited) connection.send_number(FrameType::Exit, program.code);
        connection.finished = true;
    });
}

Program* start_program(const std::string& spec, bool tty, bool with_input, const std::string& launcher, bool one_processor) {
    static unsigned next_number = 0;
    container.programs.push_back(std::make_unique<Program>());
    Program& program = *container.programs.back();
    program.tty = tty;
    program.launcher = launcher;
    program.one_processor = one_processor;
    program.folder = "/run/porthole/" + std::to_string(next_number++);
    const std::string report = program.folder + "/report";
    ::mkdir("/run/porthole", 0700);
    ::mkdir(program.folder.c_str(), 0700);
    constexpr std::string_view OnOne("processors\0all\0", 15);  // what launch.exe has to give to the program
    const std::string_view added = one_processor ? OnOne : std::string_view();
    if (!write_file(program.folder + "/spec", spec + std::string(added)) || !write_file(program.folder + "/event", "") ||
        ::mkfifo(report.c_str(), 0600) != 0 || (program.report = ::open(report.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0 ||
        !(tty ? open_terminal(program, program.ends) : open_pipes(program, program.ends, with_input))) {
        fail(program, 0, std::string("preparing the program's streams: ") + std::strerror(errno));
        return &program;
    }
    for (int fd : {program.input, program.output, program.errors})
        if (fd >= 0) set_nonblocking(fd);
    run_loader(program);
    return &program;
}

Program* run_directly(std::vector<std::string> program_and_variables) {
    container.programs.push_back(std::make_unique<Program>());
    Program& program = *container.programs.back();
    program.launcher = program_and_variables.empty() ? "" : std::move(program_and_variables.front());
    for (std::size_t i = 1; i < program_and_variables.size(); ++i) program.variables.push_back(std::move(program_and_variables[i]));
    if (!open_pipes(program, program.ends, true)) {
        fail(program, 0, std::string("preparing the program's streams: ") + std::strerror(errno));
        return &program;
    }
    for (int fd : {program.input, program.output, program.errors}) set_nonblocking(fd);
    program.one_processor = true;
    run_loader(program);
    program.started = program.pid > 0;
    return &program;
}

void start_main() {
    const Options& options = container.options;
    if (container.main_program || options.main_spec.empty()) return;
    container.main_program =
        start_program(read_whole(options.main_spec), options.tty, options.input, options.main_launcher, options.one_processor);
    container.main_program->is_main = true;
}

void raise_event(Program& program, const std::string& name) {
    if (program.pid <= 0 || program.reaped) return;
    program.told_of_its_end = true;
    if (program.is_direct()) return kill_session(program.pid);
    write_file(program.folder + "/event", name);
    ::kill(program.pid, SIGINT);
}

/// Wine reads the size of a terminal only when a console begins; later ones are told to launch.exe, once it can hear.
void resize_console(Program& program) {
    if (program.console_size.empty() || !program.started || program.told_of_its_end || program.reaped) return;
    write_file(program.folder + "/event", "size " + program.console_size);
    ::kill(program.pid, SIGINT);
}

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
            close_ends(program);
            const WineProcesses found = find_wine_processes(program.pid);
            program.process = found.program;
            container.wine_server = found.server;
            program.one_processor = false;
            release_server();
            resize_console(program);
            for_each_listener(program, [&](Connection& connection) { connection.send_number(FrameType::Started, number); });
        } else if (line.starts_with("exit")) {
            if (number == 0) await_process(program);
            program.code = number == 0 ? program.killed : number;
            program.exited = true;
        } else if (line.starts_with("error")) {
            program.failed = true;
            program.failure = std::to_string(number) + " the program could not be started";
        }
    }
}

namespace {

void pump_all(Program& program) {
    while (pump(program, program.output, false)) {
    }
    while (pump(program, program.errors, true)) {
    }
}

}  // namespace

void finish(Program& program) {
    pump_all(program);
    announce(program);
    close_ends(program);
    for (int* fd : {&program.input, &program.output, &program.errors, &program.report}) close_descriptor(*fd);
    if (program.one_processor) release_server();
    if (program.folder.empty()) return;
    for (const char* name : {"/spec", "/event", "/report"}) ::unlink((program.folder + name).c_str());
    ::rmdir(program.folder.c_str());
}

void reap() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        const std::uint32_t killed = killed_by(status);
        const bool is_server = pid == container.wine_server;
        if (is_server) container.wine_server = 0;
        for (const auto& program : container.programs) {
            if (program->process == pid) {
                program->process = 0;
                program->killed = killed;
            }
            if (is_server && killed != 0 && program->started && !program->ended()) {
                program->exited = true;
                program->code = killed;
            }
            if (program->pid != pid) continue;
            program->reaped = true;
            if (program->report >= 0) read_report(*program);
            if (program->is_direct()) pump_all(*program);
            if (program->ended()) continue;
            if (can_run_again(*program, status)) {
                program->reaped = false;
                run_loader(*program);
                break;
            }
            if (!program->started) {  // launch.exe itself did not get that far: Wine could not start
                program->failed = true;
                program->failure = "1450 Wine could not be started (status " + std::to_string(status) + ")";
            } else {
                program->exited = true;
                program->code = killed != 0 ? killed : static_cast<unsigned>(WEXITSTATUS(status));
                if (program->is_direct()) finish(*program);
            }
        }
    }
}

}  // namespace porthole::winhost
