// The first process of every emulated Windows container (and of every pod's sandbox): starts Windows programs by Wine, reaps
// everything, writes the container's log and serves the runtime over a Unix socket (frames.h). It outlives the runtime, which finds it
// again by that socket. A static program without dependencies; it runs alone in its pid namespace, so its end is everybody's end.
//
//   init --socket PATH [--log PATH] [--main SPEC [--tty] [--input] [--input-once]] [--data-limit BYTES] [--exit-file PATH]
//        [--keep-registry] [--held] [--launcher EXE] [--one-processor]
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "winhost/tools/init/program.h"
#include "winhost/tools/init/requests.h"

namespace porthole::winhost {

Container container;

namespace {

constexpr const char* Server = "/usr/lib/wine/wineserver64";
constexpr const char* EventsPipe = "/run/porthole/events";  ///< event_line_windows.h

void remove_gone() {
    for (auto it = container.connections.begin(); it != container.connections.end();) {
        if (!(*it)->gone) {
            ++it;
            continue;
        }
        abandon(**it);
        it = container.connections.erase(it);
    }
    for (auto it = container.programs.begin(); it != container.programs.end();) {
        Program& program = **it;
        const bool done = program.ended() && (program.reaped || program.pid <= 0) && !program.is_main;
        if (done) {
            for (const auto& connection : container.connections)
                if (connection->program == &program) connection->program = nullptr;
        }
        it = done ? container.programs.erase(it) : std::next(it);
    }
}

int listen_socket() {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, container.options.socket.c_str(), sizeof address.sun_path - 1);
    ::unlink(container.options.socket.c_str());
    ::umask(0077);
    if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(fd, 64) != 0) {
        std::perror("init: socket");
        std::exit(1);
    }
    ::umask(0022);
    return fd;
}

/// -1 if it cannot be made: then there are no events. Open for writing, too, so that it never ends.
int open_events() {
    ::mkdir("/run/porthole", 0700);
    if (::mkfifo(EventsPipe, 0600) != 0) return -1;
    return ::open(EventsPipe, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

/// Once, so that a program that reports without end does not keep everything else waiting. A pipe of Linux holds no more.
void read_events(int events) {
    char buffer[65536];
    const ssize_t count = ::read(events, buffer, sizeof buffer);
    if (count > 0) container.log.add_events({buffer, static_cast<std::size_t>(count)});
}

int take_signals() {
    sigset_t all;
    sigemptyset(&all);
    for (int signal : {SIGCHLD, SIGTERM, SIGPIPE}) sigaddset(&all, signal);
    ::sigprocmask(SIG_BLOCK, &all, &container.original_signals);
    return ::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

void parse_options(int count, char** words) {
    for (int i = 1; i < count; ++i) {
        const std::string name = words[i];
        const auto value = [&] { return i + 1 < count ? words[++i] : ""; };
        if (name == "--socket")
            container.options.socket = value();
        else if (name == "--log")
            container.options.log = value();
        else if (name == "--main")
            container.options.main_spec = value();
        else if (name == "--exit-file")
            container.options.exit_file = value();
        else if (name == "--tty")
            container.options.tty = true;
        else if (name == "--input")
            container.options.input = true;
        else if (name == "--input-once")
            container.options.input_once = true;
        else if (name == "--keep-registry")
            container.options.keep_registry = true;
        else if (name == "--launcher")
            container.options.main_launcher = value();
        else if (name == "--held")
            container.options.held = true;
        else if (name == "--one-processor")
            container.options.one_processor = true;
        else if (name == "--data-limit")
            container.options.data_limit = std::strtoull(value(), nullptr, 10);
    }
}

/// "CODE NANOSECONDS" or "failed TEXT", for a runtime that was not there when it happened.
void write_exit_file(const Program& program) {
    if (container.options.exit_file.empty()) return;
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const std::string time = std::to_string(now.tv_sec * 1'000'000'000LL + now.tv_nsec);
    const std::string temporary = container.options.exit_file + ".new";
    write_file(temporary, program.failed ? "failed " + time + " " + program.failure : std::to_string(program.code) + " " + time);
    ::rename(temporary.c_str(), container.options.exit_file.c_str());
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
[[noreturn]] void end_container(const Program& program, int events) {
    read_events(events);
    container.log.end();
    if (container.options.keep_registry) save_registry();
    write_exit_file(program);
    for (int round = 0; round < 20; ++round) {
        bool waiting = false;
        for (const auto& connection : container.connections) {
            connection->flush();
            waiting |= !connection->gone && !connection->idle();
        }
        if (!waiting) break;
        ::usleep(10'000);
    }
    std::exit(0);
}

/// What is read for as long as init is there.
struct Sources {
    int signals, listener, events;
};

struct Watch {
    enum class What { Signals, Listener, Events, Connection, Output, Errors, Report, Input } what;
    Connection* connection = nullptr;
    Program* program = nullptr;
};

bool congested(const Program& program) {
    bool any = false;
    for_each_listener(program, [&](Connection& connection) { any |= connection.wants_output && connection.congested(); });
    return any;
}

void collect(std::vector<pollfd>& fds, std::vector<Watch>& watches, const Sources& sources) {
    const auto add = [&](int fd, short events, Watch watch) {
        if (fd < 0) return;
        fds.push_back({fd, events, 0});
        watches.push_back(watch);
    };
    add(sources.signals, POLLIN, {Watch::What::Signals});
    add(sources.listener, POLLIN, {Watch::What::Listener});
    add(sources.events, POLLIN, {Watch::What::Events});
    for (const auto& connection : container.connections) {
        const bool full = connection->program && connection->program->pending_input.size() > Backlog;
        add(connection->fd(), static_cast<short>((full ? 0 : POLLIN) | (connection->idle() ? 0 : POLLOUT)),
            {Watch::What::Connection, connection.get(), nullptr});
    }
    for (const auto& program : container.programs) {
        if (!congested(*program)) {
            add(program->output, POLLIN, {Watch::What::Output, nullptr, program.get()});
            add(program->errors, POLLIN, {Watch::What::Errors, nullptr, program.get()});
        }
        if (!program->ended()) add(program->report, POLLIN, {Watch::What::Report, nullptr, program.get()});
        if (!program->pending_input.empty()) add(program->input, POLLOUT, {Watch::What::Input, nullptr, program.get()});
    }
}

void handle(const Watch& watch, const Sources& sources) {
    switch (watch.what) {
        case Watch::What::Signals: {
            signalfd_siginfo info{};
            while (::read(sources.signals, &info, sizeof info) == sizeof info)
                if (info.ssi_signo == SIGTERM) container.stopping = true;
            return reap();
        }
        case Watch::What::Listener:
            if (const int fd = ::accept4(sources.listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); fd >= 0)
                container.connections.push_back(std::make_unique<Connection>(fd));
            return;
        case Watch::What::Events:
            return read_events(sources.events);
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
}  // namespace porthole::winhost

using namespace porthole::winhost;

int main(int count, char** words) {
    parse_options(count, words);
    const int signals = take_signals();
    const Sources sources{signals, listen_socket(), open_events()};
    container.log.open(container.options.log);
    if (!container.options.held) start_main();
    for (;;) {
        std::vector<pollfd> fds;
        std::vector<Watch> watches;
        collect(fds, watches, sources);
        if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return 1;
        for (std::size_t i = 0; i < fds.size(); ++i)
            if (fds[i].revents) handle(watches[i], sources);
        for (const auto& program : container.programs)
            if (program->ended() && program->report >= 0) finish(*program);
        if (container.main_program && container.main_program->ended())
            end_container(*container.main_program, sources.events);  // the exit file first: whoever is told reads it
        for (const auto& connection : container.connections) connection->flush();
        if (container.stopping && (!container.main_program || container.main_program->reaped)) return 0;
        if (std::exchange(container.stopping, false)) raise_event(*container.main_program, "kill");
        remove_gone();
    }
}
