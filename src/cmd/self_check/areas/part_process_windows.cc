#include "cmd/self_check/areas/part_process_windows.h"

#include <windows.h>

#include <cstdio>

#include "base/wide_windows.h"
#include "runtime/processes/windows_command_line.h"
#include "schema/json/json.h"

namespace porthole::cmd::self_check {
namespace {

using schema::Value;

constexpr DWORD_PTR PseudoConsoleAttribute = 0x00020016;  // PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE, which mingw's headers may lack

std::string ready_file(const std::string& folder, DWORD id) { return folder + "\\ready-" + std::to_string(id); }
std::string answer_file(const std::string& folder) { return folder + "\\answer"; }

}  // namespace

std::vector<std::string> own_command_with(const std::string& part) {
    std::vector<std::string> command = split_windows_command_line(to_utf8(GetCommandLineW()));
    command.at(command.size() - 2) = part;
    return command;
}

Result<PartProcess> PartProcess::start(const std::vector<std::string>& command, unsigned long flags, void* console) {
    std::wstring line = to_wide(windows_command_line(command));
    std::vector<char> attributes;
    STARTUPINFOEXW startup{};
    startup.StartupInfo.cb = console ? sizeof startup : sizeof startup.StartupInfo;
    startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;  // none of ours: those of its console
    if (console) {
        SIZE_T size = 0;
        InitializeProcThreadAttributeList(nullptr, 1, 0, &size);
        attributes.resize(size);
        startup.lpAttributeList = reinterpret_cast<LPPROC_THREAD_ATTRIBUTE_LIST>(attributes.data());
        if (!InitializeProcThreadAttributeList(startup.lpAttributeList, 1, 0, &size) ||
            !UpdateProcThreadAttribute(startup.lpAttributeList, 0, PseudoConsoleAttribute, console, sizeof console, nullptr, nullptr))
            return windows_error("a program's pseudo console", GetLastError());
        flags |= EXTENDED_STARTUPINFO_PRESENT;
    }
    PROCESS_INFORMATION made{};
    const bool started = CreateProcessW(to_wide(command.front()).c_str(), line.data(), nullptr, nullptr, FALSE, flags, nullptr, nullptr,
                                        &startup.StartupInfo, &made);
    const DWORD code = GetLastError();
    if (console) DeleteProcThreadAttributeList(startup.lpAttributeList);
    if (!started) return windows_error("starting " + command.front(), code);
    const Handle thread(made.hThread);
    return PartProcess(Handle(made.hProcess), made.dwProcessId);
}

PartProcess::~PartProcess() {
    if (process_ && !wait(0)) TerminateProcess(process_.get(), 1);
}

Result<void> PartProcess::wait_until_ready(const std::string& folder) {
    for (int attempt = 0; attempt < 300; ++attempt, Sleep(50)) {
        if (GetFileAttributesW(to_wide(ready_file(folder, id_)).c_str()) != INVALID_FILE_ATTRIBUTES) return {};
        if (const auto code = wait(0)) return Error(Reason::Unknown, "a part ended with " + exit_code_text(code) + " before it was ready");
    }
    return Error(Reason::Timeout, "a part is not ready");
}

std::optional<unsigned long> PartProcess::wait(unsigned long milliseconds) {
    DWORD code = 0;
    if (WaitForSingleObject(process_.get(), milliseconds) != WAIT_OBJECT_0 || !GetExitCodeProcess(process_.get(), &code))
        return std::nullopt;
    return code;
}

void say_ready(const std::string& folder) {
    const Handle file(CreateFileW(to_wide(ready_file(folder, GetCurrentProcessId())).c_str(), GENERIC_WRITE, 0, nullptr, CREATE_ALWAYS,
                                  FILE_ATTRIBUTE_NORMAL, nullptr));
}

int give_answer(const std::string& folder, const Result<Value>& answer) {
    const Value given = answer ? *answer : Value::object({{"fails", answer.error().message}});
    return make_file_system()->write(answer_file(folder), schema::to_json(given), 0644) ? 0 : 1;
}

Result<Value> ask(Machine& machine, const std::string& part) {
    TRY(const CommandOutput ran, machine.play(part));
    const auto answer = machine.files.read(answer_file(machine.folder));
    if (!answer) return Error(Reason::Unknown, "the part ended with " + exit_code_text(static_cast<unsigned long>(ran.exit_code)));
    return schema::parse_json(*answer);
}

std::string exit_code_text(std::optional<unsigned long> code) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%08lx", code.value_or(0));
    return code ? text : "runs";
}

}  // namespace porthole::cmd::self_check
