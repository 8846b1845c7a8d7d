#include "net/streams/remote_command.h"

#include <array>
#include <charconv>

#include "base/result.h"
#include "net/child_task.h"
#include "net/http/http_status.h"
#include "net/http/relay.h"
#include "net/streams/channel_socket.h"
#include "net/streams/stream_upgrade.h"
#include "runtime/scope.h"

namespace porthole::net {
namespace {

constexpr auto StreamsTime = std::chrono::seconds(30);  ///< for a client to open its streams
constexpr int FirstWithResize = 3, FirstWithJsonStatus = 4;

std::string protocol_name(int version) { return (version == 1 ? "" : "v" + std::to_string(version) + ".") + "channel.k8s.io"; }

int version_of(std::string_view protocol) {
    return protocol.size() > 2 && protocol[0] == 'v' && protocol[2] == '.' ? protocol[1] - '0' : 1;
}

bool wants_resize(const RemoteCommandOptions& options, int version) { return options.tty && version >= FirstWithResize; }
bool wants_errors(const RemoteCommandOptions& options) { return options.errors && !options.tty; }

/// The streams by the names that SPDY gives them. Order: as clients open them.
struct NamedStream {
    const char* name;
    std::unique_ptr<ByteStream> RemoteCommand::* member;
};
constexpr NamedStream Names[] = {
    {"error", &RemoteCommand::status},  {"stdin", &RemoteCommand::input},   {"stdout", &RemoteCommand::output},
    {"stderr", &RemoteCommand::errors}, {"resize", &RemoteCommand::resize},
};

bool is_wanted(std::string_view name, const RemoteCommandOptions& options, int version) {
    if (name == "stdin") return options.input;
    if (name == "stdout") return options.output;
    if (name == "stderr") return wants_errors(options);
    if (name == "resize") return wants_resize(options, version);
    return name == "error";
}

class SpdyRemoteCommand final : public RemoteCommand {
public:
    SpdyRemoteCommand(std::unique_ptr<SpdySession> session, int version) : session_(std::move(session)), version_(version) {}
    int version() const override { return version_; }
    void close() override { session_->close(); }
    Task<> wait_over() override { return session_->wait_over(); }

    Task<> accept_streams(RemoteCommandOptions options) {
        for (;;) {
            bool complete = true;
            for (const NamedStream& named : Names) complete &= this->*named.member || !is_wanted(named.name, options, version_);
            if (complete) co_return {};
            CO_TRY(auto stream, co_await session_->accept());
            if (!stream) co_return Error(Reason::Unavailable, "the client ended the connection before all its streams were open");
            const std::string_view type = (*stream)->headers().get("streamtype");
            for (const NamedStream& named : Names) {
                if (type == named.name && is_wanted(named.name, options, version_)) this->*named.member = std::move(*stream);
            }
        }
    }
    Task<> open_streams(RemoteCommandOptions options) {
        for (const NamedStream& named : Names) {
            if (!is_wanted(named.name, options, version_)) continue;
            CO_TRY(this->*named.member, co_await session_->open({{"streamtype", named.name}}));
        }
        co_return {};
    }

private:
    std::unique_ptr<SpdySession> session_;
    int version_;
};

class WebSocketRemoteCommand final : public RemoteCommand {
public:
    WebSocketRemoteCommand(EventLoop& loop, std::unique_ptr<WebSocket> socket, WebSocket::Role role, RemoteCommandOptions options)
        : version_(version_of(socket->protocol())), socket_(ChannelSocket::start(loop, std::move(socket), role, Channels)) {
        const bool is_server = role == WebSocket::Role::Server;
        if (options.input) input = socket_->channel(Input, is_server);
        if (options.output) output = socket_->channel(Output, !is_server);
        if (wants_errors(options)) errors = socket_->channel(Errors, !is_server);
        status = socket_->channel(Status, !is_server);
        if (wants_resize(options, version_)) resize = socket_->channel(Resize, is_server);
        socket_->discard_others();
    }
    ~WebSocketRemoteCommand() override {
        if (!closing_) socket_->shut_down();
    }
    int version() const override { return version_; }
    void close() override {
        closing_ = true;
        socket_->close();
    }
    Task<> wait_over() override { return ChannelSocket::wait_over(socket_); }

private:
    enum { Input, Output, Errors, Status, Resize, Channels };

    int version_;
    std::shared_ptr<ChannelSocket> socket_;
    bool closing_ = false;
};

Task<std::unique_ptr<RemoteCommand>> accept_by_websocket(EventLoop& loop, const HttpRequest& request, HttpResponder& responder,
                                                         RemoteCommandOptions options) {
    CO_TRY(auto socket, co_await accept_websocket(loop, request, responder,
                                                  {"v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io", "channel.k8s.io",
                                                   "base64.channel.k8s.io", ""}));
    auto command = std::make_unique<WebSocketRemoteCommand>(loop, std::move(socket), WebSocket::Role::Server, options);
    // An empty message tells clients that the command runs, even if it prints nothing.
    ByteStream& first = command->output ? *command->output : *command->status;
    CO_TRY_VOID(co_await first.write(""));
    co_return std::move(command);
}

Task<std::unique_ptr<RemoteCommand>> accept_by_spdy(EventLoop& loop, const HttpRequest& request, HttpResponder& responder,
                                                    RemoteCommandOptions options) {
    std::string protocol;
    CO_TRY(auto stream,
           co_await accept_spdy(request, responder, {"v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io", ""},
                                protocol));
    auto session = SpdySession::over(loop, std::move(stream), SpdySession::Role::Server);
    auto command = std::make_unique<SpdyRemoteCommand>(std::move(session), version_of(protocol));
    CO_TRY_VOID(co_await with_timeout(command->accept_streams(options), StreamsTime, "waiting for the client's streams"));
    co_return std::move(command);
}

/// The JSON string that begins behind `mark`, or "": statuses are ours or the runtime's, and flat enough to be looked
/// through.
std::string text_after(std::string_view json, std::string_view mark) {
    const auto start = json.find(mark);
    if (start == json.npos) return "";
    std::string text;
    for (std::size_t i = start + mark.size(); i < json.size() && json[i] != '"'; ++i) {
        if (json[i] != '\\' || ++i == json.size()) {
            if (i < json.size()) text += json[i];
        } else if (json[i] == 'u' && i + 4 < json.size()) {
            unsigned code = 0;
            std::from_chars(&json[i + 1], &json[i + 5], code, 16);
            text += code < 0x80 ? static_cast<char>(code) : '?';
            i += 4;
        } else {
            text += json[i] == 'n' ? '\n' : json[i] == 't' ? '\t' : json[i];
        }
    }
    return text;
}

}  // namespace

std::string remote_command_status(int version, const Result<int>& exit_code) {
    const bool is_json = version >= FirstWithJsonStatus;
    if (exit_code && *exit_code == 0) return is_json ? R"({"metadata":{},"status":"Success"})" : "";
    if (!exit_code) {
        if (!is_json) return exit_code.error().message;
        return status_json(http_code(exit_code.error().reason), exit_code.error().reason, exit_code.error().message);
    }
    const std::string code = std::to_string(*exit_code);
    const std::string message = "command terminated with non-zero exit code: exit status " + code;
    if (!is_json) return message;
    return R"({"metadata":{},"status":"Failure","message":")" + message +
           R"(","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":")" + code + R"("}]}})";
}

Result<int> parse_remote_command_status(int version, const std::string& status) {
    if (version < FirstWithJsonStatus) {
        if (status.empty()) return 0;
        return Error(Reason::InternalError, status);
    }
    if (status.empty()) return Error(Reason::Unavailable, "the connection ended before the command");
    if (text_after(status, "\"status\":\"") == "Success") return 0;
    if (text_after(status, "\"reason\":\"") == "NonZeroExitCode") {
        const auto causes = status.find("\"causes\"");
        const std::string code = causes == status.npos ? "" : text_after(status.substr(causes), "\"message\":\"");
        int value = 0;
        if (std::from_chars(code.data(), code.data() + code.size(), value).ec == std::errc()) return value;
    }
    return Error(Reason::InternalError, text_after(status, "\"message\":\""));
}

Task<std::unique_ptr<RemoteCommand>> accept_remote_command(EventLoop& loop, const HttpRequest& request, HttpResponder& responder,
                                                           RemoteCommandOptions options) {
    if (!options.input && !options.output && !options.errors) {
        return [](Error error) -> Task<std::unique_ptr<RemoteCommand>> {
            co_return error;
        }(Error(Reason::BadRequest, "you must specify at least 1 of stdin, stdout, stderr"));
    }
    return is_websocket_request(request) ? accept_by_websocket(loop, request, responder, options)
                                         : accept_by_spdy(loop, request, responder, options);
}

Task<> finish_remote_command(RemoteCommand& command, Result<int> exit_code) {
    const std::string status = remote_command_status(command.version(), exit_code);
    if (!status.empty()) CO_TRY_VOID(co_await command.status->write(status));
    for (ByteStream* stream : {command.output.get(), command.errors.get(), command.status.get()}) {
        if (stream) CO_TRY_VOID(co_await stream->end_writing());
    }
    command.close();
    co_return {};
}

Task<std::unique_ptr<RemoteCommand>> connect_remote_command(EventLoop& loop, HttpClient& client, std::string target,
                                                            RemoteCommandOptions options, int highest_version) {
    std::vector<std::string> protocols;
    for (int version = std::min(highest_version, 4); version >= 1; --version) protocols.push_back(protocol_name(version));
    std::string chosen;
    CO_TRY(auto stream, co_await connect_spdy(client, std::move(target), std::move(protocols), chosen));
    auto session = SpdySession::over(loop, std::move(stream), SpdySession::Role::Client);
    auto command = std::make_unique<SpdyRemoteCommand>(std::move(session), version_of(chosen));
    CO_TRY_VOID(co_await command->open_streams(options));
    co_return std::move(command);
}

namespace {

/// Copies until `from` ends in any way: container runtimes reset a stream as often as they end it.
Task<> carry(ByteStream& from, ByteStream& to) {
    auto copied = co_await copy_stream(from, to);
    if (is_cancelled(copied)) co_return std::move(copied);
    co_return co_await to.end_writing();
}

Task<std::string> read_status(ByteStream& status) {
    constexpr std::size_t LongestStatus = 64 << 10;
    std::string text;
    std::array<char, 4096> buffer;
    while (text.size() < LongestStatus) {
        const auto count = co_await status.read(buffer);
        if (is_cancelled(count)) co_return count.error();
        if (!count || *count == 0) break;
        text.append(buffer.data(), *count);
    }
    co_return text;
}

/// The answers of a command all the way to its status.
Task<> carry_answers(RemoteCommand& to, RemoteCommand& from) {
    std::vector<Task<>> copies;
    if (to.output && from.output) copies.push_back(carry(*from.output, *to.output));
    if (to.errors && from.errors) copies.push_back(carry(*from.errors, *to.errors));
    CO_TRY(const auto copied, co_await when_all(std::move(copies)));
    for (const auto& result : copied) CO_TRY_VOID(result);
    CO_TRY(std::string status, co_await read_status(*from.status));
    // Clients take an empty status for success.
    if (status.empty() && from.version() >= FirstWithJsonStatus) {
        status = remote_command_status(to.version(), Error(Reason::InternalError, "lost the connection to the container runtime"));
    }
    // An older client takes any text for a failure.
    if ((to.version() < FirstWithJsonStatus) != (from.version() < FirstWithJsonStatus)) {
        status = remote_command_status(to.version(), parse_remote_command_status(from.version(), status));
    }
    if (!status.empty()) CO_TRY_VOID(co_await to.status->write(status));
    co_return co_await to.status->end_writing();
}

}  // namespace

Task<> bridge_remote_commands(EventLoop& loop, RemoteCommand& server_side, RemoteCommand& client_side) {
    ChildTask answers(loop), input(loop), resize(loop), watch(loop);
    Event ended;
    answers.start(carry_answers(server_side, client_side), [&] { ended.set(); });
    watch.start(server_side.wait_over(), [&] { ended.set(); });
    if (server_side.input && client_side.input) input.start(copy_stream(*server_side.input, *client_side.input));
    if (server_side.resize && client_side.resize) resize.start(copy_stream(*server_side.resize, *client_side.resize));
    auto waited = co_await ended.wait();
    for (ChildTask* task : {&answers, &input, &resize, &watch}) {
        task->cancel();
        (void)co_await task->join();
    }
    server_side.close();
    client_side.close();
    co_return waited ? answers.result() : std::move(waited);
}

}  // namespace porthole::net
