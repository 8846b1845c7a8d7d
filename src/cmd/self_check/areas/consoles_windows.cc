#include <windows.h>

#include "base/wide_windows.h"
#include "cmd/self_check/areas/part_process_windows.h"
#include "cmd/self_check/shown_output.h"
#include "schema/json/json.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;

constexpr DWORD Patience = 15'000;  // milliseconds
constexpr COORD Before{100, 30}, After{120, 40};

using Create = HRESULT(WINAPI*)(COORD, HANDLE, HANDLE, DWORD, void**);
using Resize = HRESULT(WINAPI*)(void*, COORD);
using Close = void(WINAPI*)(void*);

/// Windows has them since build 17763; looked up at run time, so that this program starts everywhere.
template <class Function>
Function function(const char* name) {
    return reinterpret_cast<Function>(reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"kernel32.dll"), name)));
}

Error failed(const char* what, HRESULT result) {
    return Error(Reason::Unknown, std::string(what) + ": " + exit_code_text(static_cast<DWORD>(result)));
}

/// A pseudo console, and our ends of its input and output.
class PseudoConsole {
public:
    static Result<PseudoConsole> create() {
        const auto make = function<Create>("CreatePseudoConsole");
        if (!make) return Error(Reason::NotFound, "CreatePseudoConsole is missing");
        constexpr DWORD Room = 1 << 20;  // for all that it shows: nothing waits for us to read
        HANDLE ends[4] = {};
        PseudoConsole made;
        if (!CreatePipe(&ends[0], &ends[1], nullptr, Room)) return windows_error("a pipe", GetLastError());
        made.childs_input_ = Handle(ends[0]);
        made.input_ = Handle(ends[1]);
        if (!CreatePipe(&ends[2], &ends[3], nullptr, Room)) return windows_error("a pipe", GetLastError());
        made.output_ = Handle(ends[2]);
        made.childs_output_ = Handle(ends[3]);
        const HRESULT result = make(Before, ends[0], ends[3], 0, &made.console_);
        if (FAILED(result)) return failed("CreatePseudoConsole", result);
        return made;
    }
    PseudoConsole(PseudoConsole&& other) noexcept
        : console_(std::exchange(other.console_, nullptr)),
          input_(std::move(other.input_)),
          output_(std::move(other.output_)),
          childs_input_(std::move(other.childs_input_)),
          childs_output_(std::move(other.childs_output_)) {}
    ~PseudoConsole() { close(); }

    Result<PartProcess> start(Machine& machine, const char* part) {
        auto started = PartProcess::start(machine.command_of(part), 0, console_);
        childs_input_.close();
        childs_output_.close();
        return started;
    }
    void type(const std::string& text) {
        DWORD written = 0;
        WriteFile(input_.get(), text.data(), static_cast<DWORD>(text.size()), &written, nullptr);
    }
    Result<void> resize(COORD size) {
        const HRESULT result = function<Resize>("ResizePseudoConsole")(console_, size);
        if (FAILED(result)) return failed("ResizePseudoConsole", result);
        return {};
    }
    void close() {
        if (void* const console = std::exchange(console_, nullptr)) function<Close>("ClosePseudoConsole")(console);
    }
    /// Adds what is shown at the moment.
    Shown read(std::string& text) {
        const auto piece = [&]() -> std::optional<std::string> {
            char buffer[4096];
            DWORD there = 0, got = 0;
            if (!PeekNamedPipe(output_.get(), nullptr, 0, nullptr, &there, nullptr)) return std::nullopt;
            if (there == 0) return "";
            if (!ReadFile(output_.get(), buffer, sizeof buffer, &got, nullptr)) return std::nullopt;
            return std::string(buffer, got);
        };
        return read_shown(piece, text);
    }
    bool ends(DWORD milliseconds) {
        std::string text;
        for (DWORD waited = 0; waited < milliseconds; waited += 50, Sleep(50))
            if (const Shown now = read(text); now != Shown::More) return now == Shown::Ended;
        return false;
    }
    /// Whether `wanted` is shown within some seconds.
    bool shows(const std::string& wanted) {
        std::string text;
        for (DWORD waited = 0; waited < Patience; waited += 50, Sleep(50)) {
            const Shown now = read(text);
            if (text.contains(wanted)) return true;
            if (now != Shown::More) return false;
        }
        return false;
    }

private:
    PseudoConsole() = default;
    void* console_ = nullptr;
    Handle input_, output_, childs_input_, childs_output_;
};

/// The console itself, whatever the program's streams are.
Handle open_console(const wchar_t* name) {
    return Handle(CreateFileW(name, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING, 0, nullptr));
}

COORD shown_size() {
    const Handle output = open_console(L"CONOUT$");
    CONSOLE_SCREEN_BUFFER_INFO info{};
    if (!GetConsoleScreenBufferInfo(output.get(), &info)) return {};
    return {static_cast<SHORT>(info.srWindow.Right - info.srWindow.Left + 1),
            static_cast<SHORT>(info.srWindow.Bottom - info.srWindow.Top + 1)};
}

Value size_value(COORD size) { return Value::object({{"columns", std::int64_t{size.X}}, {"rows", std::int64_t{size.Y}}}); }

int look_at_console(const std::string& folder) {
    DWORD mode = 0;
    const bool input = GetConsoleMode(GetStdHandle(STD_INPUT_HANDLE), &mode);
    const bool lines = input && (mode & ENABLE_LINE_INPUT) && (mode & ENABLE_ECHO_INPUT);
    const bool output = GetConsoleMode(GetStdHandle(STD_OUTPUT_HANDLE), &mode);
    const bool sequences = output && SetConsoleMode(GetStdHandle(STD_OUTPUT_HANDLE), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    return give_answer(
        folder,
        Value::object(
            {{"input", input}, {"lines", lines}, {"output", output}, {"sequences", sequences}, {"size", size_value(shown_size())}}));
}

int await_size(const std::string& folder) {
    const COORD first = shown_size();
    say_ready(folder);
    COORD now = first;
    for (DWORD waited = 0; waited < Patience && now.X == first.X && now.Y == first.Y; waited += 50, Sleep(50)) now = shown_size();
    Sleep(200);  // both have changed then
    return give_answer(folder, size_value(shown_size()));
}

int repeat_line(const std::string& folder) {
    char line[64];
    DWORD got = 0, written = 0;
    const Handle input = open_console(L"CONIN$"), output = open_console(L"CONOUT$");
    say_ready(folder);
    const bool read = ReadFile(input.get(), line, sizeof line, &got, nullptr);
    const std::string text = "<" + std::string(line, got >= 2 ? got - 2 : 0) + ">\r\n";
    WriteFile(output.get(), text.data(), static_cast<DWORD>(text.size()), &written, nullptr);
    return give_answer(folder, Value::object({{"read", read ? std::string(line, got) : ""}}));
}

int stay_in_console(const std::string& folder) {
    say_ready(folder);
    Sleep(Patience);
    return 7;
}

/// What the part has answered after it has ended.
Result<Value> answer_of(Machine& machine, PartProcess& part) {
    const auto code = part.wait(Patience);
    const auto answer = machine.files.read(machine.path("answer"));
    if (code != 0 || !answer) return Error(Reason::Unknown, "the part in the console: " + exit_code_text(code));
    return schema::parse_json(*answer);
}

Result<Value> seen(Machine& machine) {
    TRY(PseudoConsole console, PseudoConsole::create());
    TRY(PartProcess part, console.start(machine, "look-at-console"));
    return answer_of(machine, part);
}

Result<Value> resized(Machine& machine) {
    TRY(PseudoConsole console, PseudoConsole::create());
    TRY(PartProcess part, console.start(machine, "await-size"));
    TRY_VOID(part.wait_until_ready(machine.folder));
    TRY_VOID(console.resize(After));
    return answer_of(machine, part);
}

Result<Value> line(Machine& machine) {
    TRY(PseudoConsole console, PseudoConsole::create());
    TRY(PartProcess part, console.start(machine, "repeat-line"));
    TRY_VOID(part.wait_until_ready(machine.folder));
    console.type("typed\r");
    const bool shown = console.shows("<typed>");
    TRY(Value answer, answer_of(machine, part));
    answer["shown"] = shown;
    return answer;
}

Result<Value> end(Machine& machine) {
    TRY(PseudoConsole console, PseudoConsole::create());
    TRY(PartProcess first, console.start(machine, "look-at-console"));
    TRY_VOID(answer_of(machine, first));
    const bool with_program = console.ends(1000);
    console.close();
    return Value::object({{"endsWithProgram", with_program}, {"endsWithConsole", console.ends(Patience)}});
}

Result<Value> closed(Machine& machine) {
    TRY(PseudoConsole console, PseudoConsole::create());
    TRY(PartProcess part, console.start(machine, "stay-in-console"));
    TRY_VOID(part.wait_until_ready(machine.folder));
    console.close();
    return Value::object({{"code", exit_code_text(part.wait(Patience / 3))}});
}

}  // namespace

Area area_consoles() {
    return {.probes = {{"seen", seen}, {"resized", resized}, {"line", line}, {"end", end}, {"closed", closed}},
            .parts = {{"look-at-console", look_at_console},
                      {"await-size", await_size},
                      {"repeat-line", repeat_line},
                      {"stay-in-console", stay_in_console}}};
}

}  // namespace porthole::cmd::self_check
