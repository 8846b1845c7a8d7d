#include "winhost/runtime/pipe_relay.h"

#include <sstream>

#include "runtime/scope.h"
#include "winhost/runtime/command_line.h"
#include "winhost/runtime/program_spec.h"

namespace porthole::winhost {
namespace {

constexpr const char* Program = "\\\\?\\unix\\porthole\\pipes.exe";

}  // namespace

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
            log_.warn("named pipes of the host", {{"text", line}});
    }
}

Task<> PipeRelay::carry(InitConnection& from, InitConnection& to, Event& ready, Event& over) {
    for (;;) {
        const auto frame = co_await from.next();
        if (!frame || frame->type == FrameType::Exit) break;
        if (frame->type == FrameType::Failed) log_.warn("named pipes of the host", {{"error", error_of_failure(frame->payload).message}});
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
