#include "winhost/cri/streaming.h"

#include <array>
#include <cstdio>

#include "runtime/scope.h"
#include "winhost/runtime/init_connection.h"

namespace porthole::winhost {
namespace {

using namespace std::chrono_literals;

constexpr Duration AddressLife = 1min;

/// What the client types, on to the program.
Task<> copy_input(net::ByteStream& input, InitConnection& connection) {
    std::array<char, 16384> buffer;
    for (;;) {
        CO_TRY(const std::size_t count, co_await input.read(buffer));
        if (count == 0) co_return co_await connection.send(FrameType::EndInput, "");
        CO_TRY_VOID(co_await connection.send(FrameType::Input, std::string(buffer.data(), count)));
    }
}

/// One {"Width":80,"Height":24} after another, on as "80 24".
Task<> copy_sizes(net::ByteStream& sizes, InitConnection& connection) {
    std::array<char, 1024> buffer;
    std::string text;
    for (;;) {
        CO_TRY(const std::size_t count, co_await sizes.read(buffer));
        if (count == 0) co_return {};
        text.append(buffer.data(), count);
        for (std::size_t end; (end = text.find('}')) != text.npos; text.erase(0, end + 1)) {
            const auto number = [&](const char* name) {
                const std::size_t at = text.find(name);
                return at == text.npos || at > end ? std::string("0")
                                                   : std::to_string(std::atoi(text.c_str() + at + std::string_view(name).size()));
            };
            CO_TRY_VOID(co_await connection.send(FrameType::Resize, number("\"Width\":") + " " + number("\"Height\":")));
        }
        if (text.size() > buffer.size()) co_return Error(Reason::BadRequest, "not a terminal's size");
    }
}

/// The program's output to the client, until its end. Error: what kept it from starting.
Task<int> copy_output(InitConnection& connection, net::RemoteCommand& command) {
    for (;;) {
        CO_TRY(const Frame frame, co_await connection.next());
        if (frame.type == FrameType::Failed) co_return error_of_failure(frame.payload);
        if (frame.type == FrameType::Exit) co_return static_cast<int>(frame.number());
        net::ByteStream* stream = frame.type == FrameType::Output   ? command.output.get()
                                  : frame.type == FrameType::Errors ? command.errors.get()
                                                                    : nullptr;
        if (stream) CO_TRY_VOID(co_await stream->write(frame.payload));
    }
}

/// Input and resize messages beside the output; all end with the program or with the client.
Task<int> converse(EventLoop& loop, InitConnection& connection, net::RemoteCommand& command) {
    Scope scope(loop);
    if (command.input) scope.spawn(copy_input(*command.input, connection));
    if (command.resize) scope.spawn(copy_sizes(*command.resize, connection));
    auto result = co_await copy_output(connection, command);
    CO_TRY_VOID(co_await scope.close());
    co_return result;
}

/// The client may go while the program is silent: then the connection to init is dropped, which ends an exec's program.
Task<> drop_when_over(net::RemoteCommand& command, InitConnection& connection) {
    CO_TRY_VOID(co_await command.wait_over());
    connection.close();
    co_return {};
}

Task<> bridge(EventLoop& loop, std::unique_ptr<InitConnection> connection, std::unique_ptr<net::RemoteCommand> command) {
    Scope scope(loop);
    scope.spawn(drop_when_over(*command, *connection));
    auto result = co_await converse(loop, *connection, *command);
    CO_TRY_VOID(co_await scope.close());
    co_return co_await net::finish_remote_command(*command, std::move(result));
}

Task<> carry_to_init(net::ByteStream& data, InitConnection& connection) { return copy_input(data, connection); }

/// One forwarded connection, from the pod's own port.
Task<> forward(AsioLoop& loop, std::string socket, net::ForwardedConnection forwarded) {
    CO_TRY(const auto connection, co_await InitConnection::open(loop, std::move(socket)));
    CO_TRY_VOID(co_await connection->send(FrameType::Request, init_request({"dial", std::to_string(forwarded.port)})));
    CO_TRY(const Frame first, co_await connection->next());
    if (first.type == FrameType::Failed) {
        CO_TRY_VOID(
            co_await forwarded.errors->write("an error occurred forwarding " + std::to_string(forwarded.port) + ": " + first.payload));
        CO_TRY_VOID(co_await forwarded.errors->end_writing());
        co_return co_await forwarded.data->end_writing();
    }
    Scope scope(loop);
    scope.spawn(carry_to_init(*forwarded.data, *connection));
    for (;;) {
        const auto frame = co_await connection->next();
        if (!frame || frame->type == FrameType::Exit) break;
        if (const auto written = co_await forwarded.data->write(frame->payload); !written) break;
    }
    (void)co_await forwarded.data->end_writing();
    (void)co_await forwarded.errors->end_writing();
    co_return co_await scope.close();
}

}  // namespace

std::string StreamingServer::remember(const char* kind, Wanted wanted) {
    std::erase_if(entries_, [now = loop_.now()](const auto& entry) { return entry.second.until < now; });
    const std::string token = random_.pick(32, "abcdefghijklmnopqrstuvwxyz0123456789");
    entries_.emplace(token, Entry{loop_.now() + AddressLife, std::move(wanted)});
    return base_ + "/" + kind + "/" + token;
}

Task<> StreamingServer::handle(net::HttpRequest request, net::HttpResponder& responder) {
    const auto found = entries_.find(request.path.substr(request.path.rfind('/') + 1));
    if (found == entries_.end() || found->second.until < loop_.now()) {
        co_return co_await responder.respond(404, {{"content-type", "text/plain"}},
                                             {std::make_shared<const std::string>("no such stream\n")});
    }
    Wanted wanted = std::move(found->second.wanted);
    entries_.erase(found);
    auto served = co_await serve(std::move(wanted), std::move(request), responder);
    if (served || responder.started()) co_return served;
    const auto text = std::make_shared<const std::string>(served.error().message + "\n");
    co_return co_await responder.respond(http_code(served.error().reason), {{"content-type", "text/plain"}}, {text});
}

Task<> StreamingServer::serve(Wanted wanted, net::HttpRequest request, net::HttpResponder& responder) {
    if (auto* exec = std::get_if<cri::ExecRequest>(&wanted)) co_return co_await serve_exec(std::move(*exec), std::move(request), responder);
    if (auto* attach = std::get_if<cri::AttachRequest>(&wanted))
        co_return co_await serve_attach(std::move(*attach), std::move(request), responder);
    co_return co_await serve_port_forward(std::get<cri::PortForwardRequest>(wanted).pod_sandbox_id, std::move(request), responder);
}

Task<> StreamingServer::serve_exec(cri::ExecRequest wanted, net::HttpRequest request, net::HttpResponder& responder) {
    CO_TRY(const std::string socket, runtime_.container_socket(wanted.container_id));
    CO_TRY(const std::string spec, runtime_.exec_spec(wanted.container_id, wanted.cmd));
    CO_TRY(auto connection, co_await InitConnection::open(loop_, socket));
    const net::RemoteCommandOptions options{
        .input = wanted.stdin, .output = wanted.stdout, .errors = wanted.stderr && !wanted.tty, .tty = wanted.tty};
    CO_TRY(auto command, co_await net::accept_remote_command(loop_, request, responder, options));
    CO_TRY_VOID(
        co_await connection->send(FrameType::Request, init_request({"exec", wanted.tty ? "1" : "0", wanted.stdin ? "1" : "0"}) + spec));
    co_return co_await bridge(loop_, std::move(connection), std::move(command));
}

Task<> StreamingServer::serve_attach(cri::AttachRequest wanted, net::HttpRequest request, net::HttpResponder& responder) {
    CO_TRY(const std::string socket, runtime_.container_socket(wanted.container_id));
    CO_TRY(auto connection, co_await InitConnection::open(loop_, socket));
    const bool tty = wanted.tty || runtime_.has_terminal(wanted.container_id);
    const net::RemoteCommandOptions options{.input = wanted.stdin, .output = wanted.stdout, .errors = wanted.stderr && !tty, .tty = tty};
    CO_TRY(auto command, co_await net::accept_remote_command(loop_, request, responder, options));
    CO_TRY_VOID(co_await connection->send(FrameType::Request, init_request({"attach", wanted.stdin ? "1" : "0"})));
    co_return co_await bridge(loop_, std::move(connection), std::move(command));
}

Task<> StreamingServer::serve_port_forward(std::string sandbox_id, net::HttpRequest request, net::HttpResponder& responder) {
    CO_TRY(const std::string socket, runtime_.sandbox_socket(sandbox_id));
    CO_TRY(auto bytes, co_await net::accept_port_forward(loop_, request, responder));
    net::PortForwardServer server(loop_, std::move(bytes));
    Scope scope(loop_);
    for (;;) {
        auto next = co_await server.accept();
        if (!next || !*next) break;
        scope.spawn(forward(loop_, socket, std::move(**next)));
    }
    co_return co_await scope.close();
}

}  // namespace porthole::winhost
