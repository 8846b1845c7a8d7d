#include <windows.h>

#include <cstdio>
#include <stdexcept>

#include "cmd/self_check/machine.h"
#include "winservice/crash_windows.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;

constexpr const char* Thrown = "thrown by self-check";

/// As any program, which this one's handler of exceptions does not end, but without the message box of Windows' error reporting.
void quietly() {
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
    SetUnhandledExceptionFilter(nullptr);
}

int read_it() {
    const int* volatile nowhere = nullptr;
    return *static_cast<const volatile int*>(nowhere);
}

int read_nothing(const std::string&) {
    quietly();
    return read_it();
}

int read_nothing_as_a_node_program(const std::string&) {
    winservice::end_on_unhandled_exceptions();
    return read_it();
}

int throw_as_a_node_program(const std::string&) {
    winservice::end_on_unhandled_exceptions();
    throw std::runtime_error(Thrown);
}

int divide_by_zero(const std::string&) {
    quietly();
    const volatile int some = 7, zero = 0;
    return some / zero;
}

int run_nonsense(const std::string&) {
    quietly();
    asm volatile("ud2");
    return 0;
}

int stop_at_breakpoint(const std::string&) {
    quietly();
    asm volatile("int3");
    return 0;
}

/// As failed security checks and abort() of the universal C runtime do.
int fail_fast(const std::string&) {
    quietly();
    asm volatile("int $0x29" : : "c"(7));
    return 0;
}

int go_deeper(const volatile char* above) {
    volatile char page[4096];
    page[0] = *above;
    return *above ? go_deeper(page) + page[0] : 0;
}

int use_up_the_stack(const std::string&) {
    quietly();
    const volatile char more = 1;
    return go_deeper(&more);
}

/// "0xc0000005"
std::string code_text(int code) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%08x", static_cast<unsigned>(code));
    return text;
}

Result<Value> ended_by(Machine& machine, const char* part) {
    TRY(const CommandOutput ran, machine.play(part));
    return Value::object({{"code", code_text(ran.exit_code)}});
}

Result<Value> access_violation(Machine& machine) { return ended_by(machine, "read-nothing"); }
Result<Value> division(Machine& machine) { return ended_by(machine, "divide-by-zero"); }
Result<Value> illegal_instruction(Machine& machine) { return ended_by(machine, "run-nonsense"); }
Result<Value> breakpoint(Machine& machine) { return ended_by(machine, "stop-at-breakpoint"); }
Result<Value> failed_fast(Machine& machine) { return ended_by(machine, "fail-fast"); }
Result<Value> stack_overflow(Machine& machine) { return ended_by(machine, "use-up-the-stack"); }

/// With the line that the program's log has.
Result<Value> node_program(Machine& machine) {
    TRY(const CommandOutput ran, machine.play("read-nothing-as-a-node-program"));
    return Value::object(
        {{"code", code_text(ran.exit_code)}, {"noted", ran.errors.contains("ended by exception 0xc0000005 at program+0x")}});
}

Result<Value> node_program_exception(Machine& machine) {
    TRY(const CommandOutput ran, machine.play("throw-as-a-node-program"));
    return Value::object({{"code", code_text(ran.exit_code)}, {"noted", ran.errors.contains(Thrown)}});
}

}  // namespace

Area area_crashes() {
    return {.probes = {{"access-violation", access_violation},
                       {"division-by-zero", division},
                       {"illegal-instruction", illegal_instruction},
                       {"breakpoint", breakpoint},
                       {"fail-fast", failed_fast},
                       {"stack-overflow", stack_overflow},
                       {"node-program", node_program},
                       {"node-program-exception", node_program_exception}},
            .parts = {{"read-nothing", read_nothing},
                      {"divide-by-zero", divide_by_zero},
                      {"run-nonsense", run_nonsense},
                      {"stop-at-breakpoint", stop_at_breakpoint},
                      {"fail-fast", fail_fast},
                      {"use-up-the-stack", use_up_the_stack},
                      {"read-nothing-as-a-node-program", read_nothing_as_a_node_program},
                      {"throw-as-a-node-program", throw_as_a_node_program}}};
}

}  // namespace porthole::cmd::self_check
