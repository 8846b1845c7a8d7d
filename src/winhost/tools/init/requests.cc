#include "winhost/tools/init/requests.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "winhost/tools/init/program.h"

namespace porthole::winhost {

namespace {

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
    container.programs.push_back(std::make_unique<Program>());
    Program& program = *container.programs.back();
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
    if (!container.main_program) {
        connection.send(FrameType::Failed, "0 no program is running");
        connection.finished = true;
        return;
    }
    connection.program = container.main_program;
    if (container.main_program->started) connection.send_number(FrameType::Started, 0);
    if (container.main_program->ended()) announce(*container.main_program);
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
    } else if (verb == "run") {
        connection.gives_input = connection.wants_output = connection.owns_program = true;
        std::vector<std::string> program_and_variables;
        while (start < text.size()) program_and_variables.push_back(next_word());
        Program* program = run_directly(std::move(program_and_variables));
        connection.program = program;
        if (program->started) connection.send_number(FrameType::Started, 0);
        if (program->ended()) announce(*program);
    } else if (verb == "event") {
        if (container.main_program) raise_event(*container.main_program, next_word());
        answer_done(connection);
    } else if (verb == "begin") {
        start_main();
        answer_done(connection);
    } else if (verb == "reopen") {
        container.log.open(container.options.log);
        answer_done(connection);
    } else if (verb == "dial") {
        begin_dial(connection, std::atoi(next_word().c_str()));
    } else {
        connection.gone = true;
    }
}

void resize(Program& program, const std::string& payload) {
    unsigned columns = 0, rows = 0;
    if (!program.tty || std::sscanf(payload.c_str(), "%u %u", &columns, &rows) != 2 || columns == 0 || rows == 0) return;
    const winsize size{
        .ws_row = static_cast<unsigned short>(rows), .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
    ::ioctl(program.output, TIOCSWINSZ, &size);
    program.console_size = std::to_string(columns) + " " + std::to_string(rows);
    resize_console(program);
}

}  // namespace

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

void abandon(Connection& connection) {
    Program* program = connection.program;
    if (!program || program->ended()) return;
    if (connection.owns_program && program->pid > 0) raise_event(*program, "kill");
    if (connection.owns_program && program->pid == 0) {
        close_descriptor(program->output);
        close_descriptor(program->input);
        program->exited = true;
    }
    if (program->is_main && connection.gives_input && container.options.input_once) program->end_input = true;
}

}  // namespace porthole::winhost
