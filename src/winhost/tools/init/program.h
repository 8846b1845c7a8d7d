#pragma once
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "winhost/tools/init/connection.h"
#include "winhost/tools/init/container_log.h"

namespace porthole::winhost {

/// What runs a program and reports on it (tools/launch_folder_windows.h).
inline constexpr const char* Launcher = "/porthole/launch.exe";

struct Options {
    std::string socket, log, main_spec, exit_file;
    std::string main_launcher = Launcher;  ///< of the main program; one that is the program itself spares a process
    bool tty = false, input = false, input_once = false, keep_registry = false;
    bool held = false;  ///< the main program is started when a client says so
    rlim_t data_limit = RLIM_INFINITY;
};

/// A Windows program under launch.exe (or a forwarded connection: then only input and output are there).
struct Program {
    pid_t pid = 0;
    std::string launcher, folder;
    int input = -1, output = -1, errors = -1, report = -1;
    bool tty = false, is_main = false;
    std::string pending_input;
    bool end_input = false;
    std::string report_text;
    bool started = false, failed = false, exited = false, reaped = false;
    std::uint32_t code = 0;
    std::string failure;
    std::string console_size;  ///< "90 30", as a client last said; "" before
    bool told_of_its_end = false;

    bool ended() const { return failed || exited; }
};

/// The one container that this process is.
struct Container {
    Options options;
    sigset_t original_signals;
    ContainerLog log;
    std::list<std::unique_ptr<Program>> programs;
    std::list<std::unique_ptr<Connection>> connections;
    Program* main_program = nullptr;
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
Program* start_program(const std::string& spec, bool tty, bool with_input, const std::string& launcher = Launcher);
/// The main program, if there is to be one and it was not started before.
void start_main();
/// Makes the program's console as large as `console_size` says.
void resize_console(Program& program);
/// "0" to "6", or "kill".
void raise_event(Program& program, const std::string& name);
/// Tells its end to whoever listens.
void announce(Program& program);
/// One reading of `fd`; false when there is nothing (more) just now.
bool pump(Program& program, int& fd, bool errors);
/// Writes what waits for its input.
void feed(Program& program);
void read_report(Program& program);
/// What the program wrote before its end is passed on before its end is told.
void finish(Program& program);
void reap();

}  // namespace porthole::winhost
