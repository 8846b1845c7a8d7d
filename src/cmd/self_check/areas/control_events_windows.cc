#include <windows.h>

#include <atomic>
#include <csignal>

#include "base/wide_windows.h"
#include "cmd/self_check/areas/part_process_windows.h"
#include "runtime/asio_loop.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;

constexpr DWORD Patience = 15'000, Moment = 1'000;  // milliseconds: until something happens, and for what shall not
constexpr int Heard = 100;                          // plus the event: exit codes of those who listen
constexpr int NotReached = 7;

std::atomic<int> heard = -1;

BOOL WINAPI listen(DWORD event) {
    heard = static_cast<int>(event);
    return TRUE;
}

int wait_for_event() {
    for (DWORD waited = 0; heard < 0 && waited < Patience; waited += 50) Sleep(50);
    return heard < 0 ? NotReached : Heard + heard;
}

int hear_event(const std::string& folder) {
    SetConsoleCtrlHandler(listen, TRUE);
    say_ready(folder);
    return wait_for_event();
}

/// With a process of the same group.
int hear_event_in_a_group(const std::string& folder) {
    auto member = PartProcess::start(own_command_with("hear-event"), 0);
    if (!member || !member->wait_until_ready(folder)) return 1;
    SetConsoleCtrlHandler(listen, TRUE);
    say_ready(folder);
    const int own = wait_for_event();
    return member->wait(Patience) == static_cast<DWORD>(own) ? own : 1;
}

int hear_nothing(const std::string& folder) {
    say_ready(folder);
    Sleep(Patience);
    return NotReached;
}

/// As the node's programs do.
int end_by_signal(const std::string& folder) {
    AsioLoop loop;
    int got = 0;
    loop.on_signal([&](int signal) {
        got = signal;
        loop.stop();
    });
    loop.call_after(std::chrono::milliseconds(Patience), [&] { loop.stop(); });
    loop.post([&] { say_ready(folder); });
    loop.run();
    return got == 0 ? NotReached : Heard + got;
}

Result<PartProcess> start_ready(const std::string& folder, const std::string& part, DWORD flags) {
    TRY(PartProcess started, PartProcess::start(own_command_with(part), flags));
    TRY_VOID(started.wait_until_ready(folder));
    return started;
}

/// In a process with a console of its own, as the event may reach everyone in the console. Ctrl+C may be switched off for the group of
/// the program that has started this one.
void become_sender() {
    SetConsoleCtrlHandler(nullptr, FALSE);
    SetConsoleCtrlHandler(listen, TRUE);
}

Result<Value> break_of_group(const std::string& folder) {
    become_sender();
    TRY(PartProcess group, start_ready(folder, "hear-event-in-a-group", CREATE_NEW_PROCESS_GROUP));
    TRY(PartProcess other, start_ready(folder, "hear-event", CREATE_NEW_PROCESS_GROUP));
    const bool sent = GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, group.id());
    return Value::object({{"heard", sent && group.wait(Patience) == DWORD{Heard + CTRL_BREAK_EVENT}},
                          {"heardByOthers", sent && other.wait(Moment).has_value()}});
}

Result<Value> break_unheard(const std::string& folder) {
    become_sender();
    TRY(PartProcess group, start_ready(folder, "hear-nothing", CREATE_NEW_PROCESS_GROUP));
    const bool sent = GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, group.id());
    return Value::object({{"code", sent ? exit_code_text(group.wait(Patience)) : "not sent"}});
}

Result<Value> interrupt(const std::string& folder) {
    become_sender();
    TRY(PartProcess listener, start_ready(folder, "hear-event", 0));
    TRY(PartProcess program, start_ready(folder, "end-by-signal", 0));
    TRY(PartProcess group, start_ready(folder, "hear-event", CREATE_NEW_PROCESS_GROUP));
    TRY(PartProcess detached, start_ready(folder, "hear-event", DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP));
    if (!GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0)) return windows_error("Ctrl+C", GetLastError());
    return Value::object({{"heard", listener.wait(Patience) == DWORD{Heard + CTRL_C_EVENT}},
                          {"endsNodeProgram", program.wait(Patience) == DWORD{Heard + SIGINT}},
                          {"heardByNewGroup", group.wait(Moment).has_value()},
                          {"heardByDetached", detached.wait(0).has_value()}});
}

int send_break(const std::string& folder) { return give_answer(folder, break_of_group(folder)); }
int send_break_to_the_deaf(const std::string& folder) { return give_answer(folder, break_unheard(folder)); }
int send_interrupt(const std::string& folder) { return give_answer(folder, interrupt(folder)); }

}  // namespace

Area area_control_events() {
    return {.probes = {{"break", [](Machine& machine) { return ask(machine, "send-break"); }},
                       {"break-unheard", [](Machine& machine) { return ask(machine, "send-break-to-the-deaf"); }},
                       {"interrupt", [](Machine& machine) { return ask(machine, "send-interrupt"); }}},
            .parts = {{"hear-event", hear_event},
                      {"hear-event-in-a-group", hear_event_in_a_group},
                      {"hear-nothing", hear_nothing},
                      {"end-by-signal", end_by_signal},
                      {"send-break", send_break},
                      {"send-break-to-the-deaf", send_break_to_the_deaf},
                      {"send-interrupt", send_interrupt}}};
}

}  // namespace porthole::cmd::self_check
