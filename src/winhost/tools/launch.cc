// launch.exe FOLDER: runs one Windows program as a container runtime on Windows would, and tells the init process how it goes.
//
// FOLDER is a Unix path that holds
//   spec     pairs "key\0value\0" in UTF-8: command (the exact command line), directory, variable ("NAME=value"), drop (a name)
//   report   a FIFO: "started PID\n", then "exit CODE\n"; or "error CODE\n" with CreateProcess's error
//   event    what to do when our own process gets SIGINT: pass on a control event (a number, CTRL_*_EVENT), "kill", or "size 90 30",
//            which makes our console that large
// Wine keeps 32-bit exit codes and the program's environment only inside; hence this detour instead of starting the program itself.
#include <windows.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

std::wstring folder;
HANDLE job;

std::wstring wide(const std::string& text) {
    std::wstring result(static_cast<std::size_t>(MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), nullptr, 0)),
                        0);
    MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), result.data(), static_cast<int>(result.size()));
    return result;
}

std::string read_file(const wchar_t* name) {
    std::string content;
    const HANDLE file =
        CreateFileW((folder + name).c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING, 0, nullptr);
    if (file == INVALID_HANDLE_VALUE) return content;
    char buffer[4096];
    for (DWORD count = 0; ReadFile(file, buffer, sizeof buffer, &count, nullptr) && count > 0;) content.append(buffer, count);
    CloseHandle(file);
    return content;
}

HANDLE open_report() {
    const HANDLE file =
        CreateFileW((folder + L"\\report").c_str(), GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING, 0, nullptr);
    if (file == INVALID_HANDLE_VALUE) ExitProcess(125);
    return file;
}

void report(HANDLE file, const char* word, DWORD number) {
    const std::string line = std::string(word) + " " + std::to_string(number) + "\n";
    DWORD written = 0;
    WriteFile(file, line.data(), static_cast<DWORD>(line.size()), &written, nullptr);
}

struct Spec {
    std::wstring command, directory;
    std::vector<std::wstring> variables, dropped;
};

Spec read_spec() {
    Spec spec;
    const std::string text = read_file(L"\\spec");
    std::vector<std::string> words;
    for (std::size_t start = 0, end; (end = text.find('\0', start)) != text.npos; start = end + 1)
        words.push_back(text.substr(start, end - start));
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        std::wstring value = wide(words[i + 1]);
        if (words[i] == "command") spec.command = std::move(value);
        if (words[i] == "directory") spec.directory = std::move(value);
        if (words[i] == "variable") spec.variables.push_back(std::move(value));
        if (words[i] == "drop") spec.dropped.push_back(std::move(value));
    }
    return spec;
}

/// Our own environment becomes the program's, so that it is found by the PATH that it will see.
void take_environment(const Spec& spec) {
    for (const std::wstring& name : spec.dropped) SetEnvironmentVariableW(name.c_str(), nullptr);
    for (const std::wstring& variable : spec.variables) {
        const std::size_t equals = variable.find(L'=', 1);  // names may begin with "="
        if (equals != variable.npos) SetEnvironmentVariableW(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str());
    }
}

/// What Windows does for GenerateConsoleCtrlEvent, for every process of the job: none of them needs a console to be reached.
void raise_event(DWORD event) {
    const auto routine = reinterpret_cast<LPTHREAD_START_ROUTINE>(
        reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "CtrlRoutine")));
    std::vector<char> buffer(sizeof(JOBOBJECT_BASIC_PROCESS_ID_LIST) + 4096 * sizeof(ULONG_PTR));
    auto* list = reinterpret_cast<JOBOBJECT_BASIC_PROCESS_ID_LIST*>(buffer.data());
    if (!routine || !QueryInformationJobObject(job, JobObjectBasicProcessIdList, list, static_cast<DWORD>(buffer.size()), nullptr)) return;
    for (DWORD i = 0; i < list->NumberOfProcessIdsInList; ++i) {
        const HANDLE process = OpenProcess(PROCESS_ALL_ACCESS, FALSE, static_cast<DWORD>(list->ProcessIdList[i]));
        if (!process) continue;
        if (const HANDLE thread =
                CreateRemoteThread(process, nullptr, 0, routine, reinterpret_cast<void*>(static_cast<ULONG_PTR>(event)), 0, nullptr))
            CloseHandle(thread);
        CloseHandle(process);
    }
}

/// The window may never be larger than its buffer: it is made small, then the buffer, then the window.
void resize_console(int columns, int rows) {
    const HANDLE console =
        CreateFileW(L"CONOUT$", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING, 0, nullptr);
    if (console == INVALID_HANDLE_VALUE) return;
    const SMALL_RECT least{0, 0, 0, 0}, wanted{0, 0, static_cast<SHORT>(columns - 1), static_cast<SHORT>(rows - 1)};
    SetConsoleWindowInfo(console, TRUE, &least);
    SetConsoleScreenBufferSize(console, {static_cast<SHORT>(columns), static_cast<SHORT>(rows)});
    SetConsoleWindowInfo(console, TRUE, &wanted);
    CloseHandle(console);
}

/// SIGINT of the init process arrives as CTRL_C_EVENT; what is meant stands in the file.
BOOL WINAPI on_control(DWORD event) {
    if (event != CTRL_C_EVENT) return TRUE;
    const std::string wanted = read_file(L"\\event");
    if (wanted == "kill")
        TerminateJobObject(job, 137);
    else if (int columns = 0, rows = 0; std::sscanf(wanted.c_str(), "size %d %d", &columns, &rows) == 2)
        resize_console(columns, rows);
    else if (!wanted.empty())
        raise_event(static_cast<DWORD>(std::stoul(wanted)));
    return TRUE;
}

}  // namespace

int wmain(int count, wchar_t** words) {
    if (count != 2) return 125;
    folder = L"\\\\?\\unix" + std::wstring(words[1]);
    for (wchar_t& letter : folder)
        if (letter == L'/') letter = L'\\';
    const HANDLE reports = open_report();
    const Spec spec = read_spec();
    take_environment(spec);
    job = CreateJobObjectW(nullptr, nullptr);
    SetConsoleCtrlHandler(on_control, TRUE);

    STARTUPINFOW startup{};
    startup.cb = sizeof startup;
    startup.dwFlags = STARTF_USESTDHANDLES;
    startup.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    startup.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    startup.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    PROCESS_INFORMATION process{};
    std::wstring command = spec.command;
    const bool moved = spec.directory.empty() || SetCurrentDirectoryW(spec.directory.c_str());
    if (!moved || !CreateProcessW(nullptr, command.data(), nullptr, nullptr, TRUE, CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT, nullptr,
                                  spec.directory.empty() ? nullptr : spec.directory.c_str(), &startup, &process)) {
        report(reports, "error", GetLastError());
        return 126;
    }
    AssignProcessToJobObject(job, process.hProcess);
    ResumeThread(process.hThread);
    CloseHandle(process.hThread);
    report(reports, "started", process.dwProcessId);
    WaitForSingleObject(process.hProcess, INFINITE);
    DWORD code = 0;
    GetExitCodeProcess(process.hProcess, &code);
    report(reports, "exit", code);
    return 0;
}
