#include "winhost/runtime/pipe_mounts.h"

#include <algorithm>
#include <sstream>

#include "runtime/scope.h"
#include "winhost/runtime/program_spec.h"
#include "winhost/runtime/windows_path.h"

namespace porthole::winhost {
namespace {

constexpr std::string_view Prefix = "\\\\.\\pipe\\";  // containerd and HCS know this spelling only

Error incorrect(const std::string& why) { return Error(Reason::Invalid, "The parameter is incorrect. (0x57): " + why); }

Result<void> check_name(const std::string& path) {
    if (path.starts_with(Prefix) && path.size() > Prefix.size()) return {};
    return incorrect(path + " is not spelled as a named pipe: it must be " + std::string(Prefix) + "NAME");
}

constexpr const char* Program = "\\\\?\\unix\\porthole\\pipes.exe";

}  // namespace

Result<std::vector<PipeMount>> plan_pipe_mounts(const std::vector<cri::Mount>& mounts) {
    std::vector<PipeMount> pipes;
    for (const cri::Mount& mount : mounts) {
        const bool of_pipe = is_pipe_path(mount.host_path), at_pipe = is_pipe_path(mount.container_path);
        if (of_pipe && !at_pipe)
            return incorrect("the named pipe " + mount.host_path + " cannot be mounted at " + mount.container_path + ", only at " +
                             std::string(Prefix) + "NAME");
        if (at_pipe && !of_pipe)
            return incorrect(mount.host_path + " is not a named pipe and cannot be mounted at " + mount.container_path);
        if (!of_pipe) continue;
        TRY_VOID(check_name(mount.host_path));
        TRY_VOID(check_name(mount.container_path));
        const bool taken = std::any_of(pipes.begin(), pipes.end(),
                                       [&](const PipeMount& other) { return same_name(other.container_name, mount.container_path); });
        if (taken)
            return Error(Reason::Invalid,
                         "Cannot create a file when that file already exists. (0xb7): " + mount.container_path + " is mounted twice");
        pipes.push_back({mount.host_path, mount.container_path});
    }
    return pipes;
}

Task<PipeRelay::Connection> PipeRelay::start_half(std::string socket, std::string role, std::string PipeMount::* name) {
    std::vector<std::string> words = {Program, std::move(role)};
    for (const PipeMount& pipe : ends_.pipes) words.push_back(pipe.*name);
    CO_TRY(auto connection, co_await InitConnection::open(loop_, std::move(socket)));
    const std::string spec = ProgramSpec{join_command_line(words), "C:\\", {}}.encode();
    CO_TRY_VOID(co_await connection->send(FrameType::Request, init_request({"exec", "0", "1"}) + spec));
    co_return connection;
}

/// The halves say in lines what people should know.
void PipeRelay::read_errors(const std::string& text, Event& ready) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        while (line.ends_with('\r')) line.pop_back();
        if (line == "ready")
            ready.set();
        else if (!line.empty())
            tell(line);
    }
}

/// A container can say what it likes in the place of its half, and as often: the log is the host's.
void PipeRelay::tell(std::string_view text) {
    constexpr int MostLines = 20;
    constexpr std::size_t LongestLine = 256;
    if (told_ > MostLines) return;
    log_.warn("named pipes of the host", {{"text", ++told_ > MostLines ? "further lines are left out" : text.substr(0, LongestLine)}});
}

Task<> PipeRelay::carry(InitConnection& from, InitConnection& to, Event& ready, Event& over) {
    for (;;) {
        const auto frame = co_await from.next();
        if (!frame || frame->type == FrameType::Exit) break;
        if (frame->type == FrameType::Failed) tell(error_of_failure(frame->payload).message);
        if (frame->type == FrameType::Failed) break;
        if (frame->type == FrameType::Errors) read_errors(frame->payload, ready);
        if (frame->type == FrameType::Output && !co_await to.send(FrameType::Input, frame->payload)) break;
    }
    over.set();
    co_return {};
}

Task<> PipeRelay::run(Event& ready) {
    CO_TRY(const Connection host, co_await start_half(ends_.host_socket, "open", &PipeMount::host_name));
    CO_TRY(const Connection container, co_await start_half(ends_.container_socket, "serve", &PipeMount::container_name));
    Event over;
    Scope scope(loop_);
    scope.spawn(carry(*host, *container, ready, over));
    scope.spawn(carry(*container, *host, ready, over));
    auto ended = co_await over.wait();
    CO_TRY_VOID(co_await scope.close());
    co_return ended;
}

}  // namespace porthole::winhost
