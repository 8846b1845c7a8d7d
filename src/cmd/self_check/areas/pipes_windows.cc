#include <windows.h>

#include <array>

#include "base/wide_windows.h"
#include "cmd/self_check/areas/access_list_windows.h"
#include "cmd/self_check/machine.h"
#include "net/socket.h"
#include "runtime/handle_windows.h"

namespace porthole::cmd::self_check {
namespace {

using net::ByteStream;
using net::Listener;
using schema::Value;

/// Only this process's: other programs find no pipe of a name that cannot be guessed.
std::string pipe_name(const Machine& machine) { return "\\\\.\\pipe\\" + base_name(machine.folder); }

Task<std::string> read_text(ByteStream& stream) {
    std::array<char, 16> buffer;
    CO_TRY(const std::size_t count, co_await stream.read(buffer));
    co_return std::string(buffer.data(), count);
}

/// A client that is served: bytes in both directions, and the end of one side.
Task<Value> talk(AsioLoop& loop, Listener& listener, std::string path) {
    CO_TRY(auto client, co_await net::connect_socket(loop, {.unix_path = std::move(path)}));
    CO_TRY(auto accepted, co_await listener.accept());
    CO_TRY_VOID(co_await client->write("ask"));
    CO_TRY(const std::string asked, co_await read_text(*accepted.stream));
    CO_TRY_VOID(co_await accepted.stream->write("answer"));
    CO_TRY(const std::string answered, co_await read_text(*client));
    accepted.stream->close();
    CO_TRY(const std::string after, co_await read_text(*client));
    co_return Value::object({{"asked", asked}, {"answered", answered}, {"end", after.empty()}});
}

Result<Value> carries(Machine& machine) {
    const std::string name = pipe_name(machine);
    TRY(const auto listener, Listener::local(machine.world.loop, name));
    return machine.world.run(talk(machine.world.loop, *listener, name));
}

Result<Value> has_one_server(Machine& machine) {
    const std::string name = pipe_name(machine);
    TRY(const auto listener, Listener::local(machine.world.loop, name));
    const auto second = Listener::local(machine.world.loop, name);
    return Value::object({{"secondRefused", !second && second.error().reason == Reason::AlreadyExists}});
}

Result<Value> is_closed_to_others(Machine& machine) {
    const std::string name = pipe_name(machine);
    TRY(const auto listener, Listener::local(machine.world.loop, name));
    const Handle client(
        CreateFileW(to_wide(name).c_str(), GENERIC_READ | GENERIC_WRITE | READ_CONTROL, 0, nullptr, OPEN_EXISTING, 0, nullptr));
    if (!client) return windows_error("opening a pipe", GetLastError());
    return rights_of(client.get(), SecuredObject::Pipe);
}

/// By these codes it is told whether a runtime or a CSI proxy serves its pipe.
Result<Value> waited_for(Machine& machine) {
    const std::wstring name = to_wide(pipe_name(machine));
    constexpr DWORD Shortest = 1;  // milliseconds; 0 would be the server's own
    const auto wait = [&] { return WaitNamedPipeW(name.c_str(), Shortest) ? ERROR_SUCCESS : GetLastError(); };
    const DWORD absent = wait();
    const Handle server(CreateNamedPipeW(name.c_str(), PIPE_ACCESS_DUPLEX, PIPE_TYPE_BYTE, 1, 512, 512, 0, nullptr));
    if (!server) return windows_error("making a pipe", GetLastError());
    const DWORD free = wait();
    const Handle client(CreateFileW(name.c_str(), GENERIC_READ | GENERIC_WRITE, 0, nullptr, OPEN_EXISTING, 0, nullptr));
    const DWORD busy = wait();
    return Value::object({{"absent", static_cast<int>(absent)}, {"free", static_cast<int>(free)}, {"busy", static_cast<int>(busy)}});
}

Result<Value> absent_pipe(Machine& machine) {
    const auto found = machine.world.run(net::connect_socket(machine.world.loop, {.unix_path = pipe_name(machine)}));
    return Value::object({{"unavailable", !found && found.error().reason == Reason::Unavailable}});
}

/// As device plugins and CSI drivers register with the kubelet.
Result<Value> unix_socket(Machine& machine) {
    const std::string path = machine.path("socket");
    TRY(auto listener, Listener::local(machine.world.loop, path));
    TRY(Value talked, machine.world.run(talk(machine.world.loop, *listener, path)));
    listener.reset();
    talked.as_object().append("left", machine.files.exists(path));
    return talked;
}

/// Where it is not, any empty file may be one.
Result<Value> unix_socket_shown(Machine& machine) {
    const auto listener = Listener::local(machine.world.loop, machine.path("socket"));
    const auto status = machine.files.link_status(machine.path("socket"));
    return Value::object({{"type", !listener || !status ? "none" : status->type == FileType::Socket ? "socket" : "other"}});
}

}  // namespace

Area area_pipes() {
    return {.probes = {{"pipe-carries", carries},
                       {"pipe-has-one-server", has_one_server},
                       {"pipe-closed-to-others", is_closed_to_others},
                       {"pipe-waited-for", waited_for},
                       {"pipe-absent", absent_pipe},
                       {"unix-socket", unix_socket},
                       {"unix-socket-shown", unix_socket_shown}},
            .parts = {}};
}

}  // namespace porthole::cmd::self_check
