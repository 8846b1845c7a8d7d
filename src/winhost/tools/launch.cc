// launch.exe FOLDER: runs one Windows program as a container runtime on Windows would, and tells the init process how it goes.
//
// FOLDER is what init shares with us (launch_folder_windows.h).
// Wine keeps 32-bit exit codes and the program's environment only inside; hence this detour instead of starting the program itself.
#include <windows.h>

#include <lmcons.h>

#include <atomic>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "winhost/tools/control_routine_windows.h"
#include "winhost/tools/launch_folder_windows.h"
#include "winhost/tools/missing_dll_windows.h"
#include "winhost/tools/resolver_settings_windows.h"

namespace {

using porthole::winhost::LaunchFolder;

constexpr ULONGLONG StreamsLimit = 5000;  // milliseconds after the program's end

const LaunchFolder* folder;
HANDLE job;

void expand_variable(const wchar_t* name) {
    std::wstring value(GetEnvironmentVariableW(name, nullptr, 0), L'\0');
    GetEnvironmentVariableW(name, value.data(), static_cast<DWORD>(value.size()));
    if (value.find(L'%') == value.npos) return;
    std::wstring expanded(ExpandEnvironmentStringsW(value.c_str(), nullptr, 0), L'\0');
    ExpandEnvironmentStringsW(value.c_str(), expanded.data(), static_cast<DWORD>(expanded.size()));
    SetEnvironmentVariableW(name, expanded.c_str());
}

/// Wine expands the variables of the registry before it sets ProgramFiles and others, which stay in them unexpanded.
void expand_variables_of(HKEY root, const wchar_t* path) {
    HKEY key = nullptr;
    if (RegOpenKeyExW(root, path, 0, KEY_READ, &key) != ERROR_SUCCESS) return;
    std::vector<wchar_t> name(16384);
    DWORD type = 0, size = static_cast<DWORD>(name.size());
    for (DWORD i = 0; RegEnumValueW(key, i, name.data(), &size, nullptr, &type, nullptr, nullptr) == ERROR_SUCCESS; ++i) {
        if (type == REG_EXPAND_SZ) expand_variable(name.data());
        size = static_cast<DWORD>(name.size());
    }
    RegCloseKey(key);
}

/// Our own environment becomes the program's, so that it is found by the PATH that it will see.
void take_environment(const LaunchFolder::Spec& spec) {
    for (const std::wstring& name : spec.dropped) SetEnvironmentVariableW(name.c_str(), nullptr);
    for (const std::wstring& variable : spec.variables) {
        const std::size_t equals = variable.find(L'=', 1);  // names may begin with "="
        if (equals != variable.npos) SetEnvironmentVariableW(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str());
    }
}

/// What Windows does for GenerateConsoleCtrlEvent, for every process of the job: none of them needs a console to be reached.
void raise_event(DWORD event) {
    std::vector<char> buffer(sizeof(JOBOBJECT_BASIC_PROCESS_ID_LIST) + 4096 * sizeof(ULONG_PTR));
    auto* list = reinterpret_cast<JOBOBJECT_BASIC_PROCESS_ID_LIST*>(buffer.data());
    if (!QueryInformationJobObject(job, JobObjectBasicProcessIdList, list, static_cast<DWORD>(buffer.size()), nullptr)) return;
    for (DWORD i = 0; i < list->NumberOfProcessIdsInList; ++i) {
        const HANDLE process = OpenProcess(PROCESS_ALL_ACCESS, FALSE, static_cast<DWORD>(list->ProcessIdList[i]));
        if (!process) continue;
        const LPTHREAD_START_ROUTINE routine = porthole::winhost::control_routine_of(process);
        if (const HANDLE thread = !routine ? nullptr
                                           : CreateRemoteThread(process, nullptr, 0, routine,
                                                                reinterpret_cast<void*>(static_cast<ULONG_PTR>(event)), 0, nullptr))
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
    const std::string wanted = folder->event();
    if (wanted == "kill")
        TerminateJobObject(job, 137);
    else if (int columns = 0, rows = 0; std::sscanf(wanted.c_str(), "size %d %d", &columns, &rows) == 2)
        resize_console(columns, rows);
    else if (!wanted.empty())
        raise_event(static_cast<DWORD>(std::stoul(wanted)));
    return TRUE;
}

/// What `own` may do that not every user may: all its privileges but the one to pass through folders.
std::vector<LUID_AND_ATTRIBUTES> privileges_to_delete(HANDLE own) {
    std::vector<char> buffer(sizeof(TOKEN_PRIVILEGES) + 64 * sizeof(LUID_AND_ATTRIBUTES));
    auto* privileges = reinterpret_cast<TOKEN_PRIVILEGES*>(buffer.data());
    DWORD size = 0;
    LUID kept{};
    if (!LookupPrivilegeValueW(nullptr, SE_CHANGE_NOTIFY_NAME, &kept) ||
        !GetTokenInformation(own, TokenPrivileges, privileges, static_cast<DWORD>(buffer.size()), &size))
        return {};
    std::vector<LUID_AND_ATTRIBUTES> deleted;
    for (DWORD i = 0; i < privileges->PrivilegeCount; ++i) {
        const LUID_AND_ATTRIBUTES& one = privileges->Privileges[i];
        if (one.Luid.LowPart != kept.LowPart || one.Luid.HighPart != kept.HighPart) deleted.push_back(one);
    }
    return deleted;
}

/// The token of a program that runs as ContainerUser: Wine makes one for administrators only. Their linked token is not elevated; without
/// the administrators' group and the privileges, it is as a user's. Null for other users, whose program gets ours; nullopt with
/// GetLastError() when it cannot be made, as the program must not run with more rights.
std::optional<HANDLE> token_of_user() {
    wchar_t name[UNLEN + 1];
    DWORD length = UNLEN + 1, size = SECURITY_MAX_SID_SIZE;
    HANDLE own = nullptr, restricted = nullptr;
    if (!GetUserNameW(name, &length)) return std::nullopt;
    if (std::wstring(name) != L"ContainerUser") return nullptr;
    char administrators[SECURITY_MAX_SID_SIZE];
    SID_AND_ATTRIBUTES removed{administrators, 0};
    TOKEN_LINKED_TOKEN linked{};
    if (!CreateWellKnownSid(WinBuiltinAdministratorsSid, nullptr, administrators, &size) ||
        !OpenProcessToken(GetCurrentProcess(), TOKEN_ALL_ACCESS, &own))
        return std::nullopt;
    // A Wine whose token has no linked one does not count it as elevated.
    const bool has_linked = GetTokenInformation(own, TokenLinkedToken, &linked, sizeof linked, &size) && linked.LinkedToken;
    const HANDLE limited = has_linked ? linked.LinkedToken : own;
    // Named one by one: Wine 8 takes no notice of DISABLE_MAX_PRIVILEGE.
    std::vector<LUID_AND_ATTRIBUTES> deleted = privileges_to_delete(limited);
    if (deleted.empty() ||
        !CreateRestrictedToken(limited, 0, 1, &removed, static_cast<DWORD>(deleted.size()), deleted.data(), 0, nullptr, &restricted))
        return std::nullopt;
    return restricted;
}

/// All processes of this container were on one processor so far. None of them is a service of the image, which might have seen that.
void give_all_processors() {
    DWORD processes[1024], size = 0;
    DWORD_PTR own = 0, all = 0;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &own, &all) || !K32EnumProcesses(processes, sizeof processes, &size)) return;
    for (DWORD i = 0; i < size / sizeof(DWORD); ++i) {
        const HANDLE process = OpenProcess(PROCESS_SET_INFORMATION, FALSE, processes[i]);
        if (!process) continue;
        SetProcessAffinityMask(process, all);
        CloseHandle(process);
    }
}

bool is_stopped(SC_HANDLE service) {
    SERVICE_STATUS status{};
    return !QueryServiceStatus(service, &status) || status.dwCurrentState == SERVICE_STOPPED;
}

/// At the end of a container, Windows tells its services to shut down. Wine's service manager can only tell them to stop, which is as good:
/// they end their work. Those that take longer than Windows waits for are ended with the container.
void end_services() {
    constexpr ULONGLONG Patience = 5000;  // milliseconds
    const ULONGLONG deadline = GetTickCount64() + Patience;
    const SC_HANDLE manager = OpenSCManagerW(nullptr, nullptr, SC_MANAGER_ENUMERATE_SERVICE);
    if (!manager) return;
    std::vector<BYTE> buffer(64 << 10);
    DWORD missing = 0, count = 0, next = 0;
    EnumServicesStatusExW(manager, SC_ENUM_PROCESS_INFO, SERVICE_WIN32, SERVICE_ACTIVE, buffer.data(), static_cast<DWORD>(buffer.size()),
                          &missing, &count, &next, nullptr);
    std::vector<SC_HANDLE> stopping;
    for (DWORD i = 0; i < count; ++i) {
        const auto& found = reinterpret_cast<const ENUM_SERVICE_STATUS_PROCESSW*>(buffer.data())[i];
        const SC_HANDLE service = OpenServiceW(manager, found.lpServiceName, SERVICE_STOP | SERVICE_QUERY_STATUS);
        SERVICE_STATUS status{};
        if (service && ControlService(service, SERVICE_CONTROL_STOP, &status)) stopping.push_back(service);
    }
    for (const SC_HANDLE service : stopping)
        while (!is_stopped(service) && GetTickCount64() < deadline) Sleep(10);
}

/// A standard stream of the program, as a pipe of Windows: what Wine makes of a pipe of Linux answers no question about itself, and libuv,
/// thus Node.js, takes it for no pipe at all. A thread copies between the two.
class Stream {
public:
    /// `ours` goes to or comes from init. A console and files stay what they are.
    Stream(HANDLE ours, bool input) : from_(ours), to_(ours), theirs_(ours) {
        SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
        HANDLE reads = nullptr, writes = nullptr;
        if (GetFileType(ours) != FILE_TYPE_PIPE || !CreatePipe(&reads, &writes, &inherited, BufferSize)) return;
        theirs_ = input ? reads : writes;
        (input ? to_ : from_) = input ? writes : reads;
        SetHandleInformation(input ? writes : reads, HANDLE_FLAG_INHERIT, 0);
        copied_ = true;
    }

    HANDLE theirs() const { return theirs_; }

    /// Once the program has its end: ours of that is closed, so that the other's end is seen.
    void start() {
        if (!copied_) return;
        CloseHandle(theirs_);
        thread_ = CreateThread(nullptr, 0, [](void* self) -> DWORD { return static_cast<Stream*>(self)->copy(); }, this, 0, nullptr);
    }

    /// Once the program has ended: waits until all that it has written is passed on, but not beyond `deadline` (of GetTickCount64). A
    /// process that it has left behind may hold the pipe open or write for ever, and the reader may read nothing.
    void finish(ULONGLONG deadline) {
        if (!thread_ || WaitForSingleObject(thread_, 1000) != WAIT_TIMEOUT) return;
        ending_ = true;
        do {
            CancelSynchronousIo(thread_);
        } while (WaitForSingleObject(thread_, 20) == WAIT_TIMEOUT && GetTickCount64() < deadline);
    }

private:
    static constexpr DWORD BufferSize = 65536;

    DWORD copy() {
        std::vector<char> buffer(BufferSize);
        for (DWORD size = 0; !ending_ || has_more();) {
            // What finish() cancels has taken nothing from the pipe.
            if (!ReadFile(from_, buffer.data(), BufferSize, &size, nullptr)) {
                if (GetLastError() == ERROR_OPERATION_ABORTED) continue;
                break;
            }
            if (size == 0) break;
            for (DWORD done = 0, part = 0; done < size; done += part) {
                part = 0;
                if (!WriteFile(to_, buffer.data() + done, size - done, &part, nullptr) && GetLastError() != ERROR_OPERATION_ABORTED)
                    return close();
            }
        }
        return close();
    }

    bool has_more() const {
        DWORD waiting = 0;
        return PeekNamedPipe(from_, nullptr, 0, nullptr, &waiting, nullptr) && waiting > 0;
    }

    /// The reader sees the end of the stream, a writer that nobody reads.
    DWORD close() {
        CloseHandle(from_);
        CloseHandle(to_);
        return 0;
    }

    HANDLE from_, to_, theirs_, thread_ = nullptr;
    bool copied_ = false;
    std::atomic<bool> ending_ = false;  ///< what is in the pipe now is the last
};

std::wstring path_of(HANDLE process) {
    wchar_t path[MAX_PATH];
    DWORD size = MAX_PATH;
    return QueryFullProcessImageNameW(process, 0, path, &size) ? std::wstring(path, size) : L"";
}

/// Says on `errors` which DLL the program lacks, if that ended it.
void tell_missing_dll(HANDLE errors, const std::wstring& path, DWORD code) {
    constexpr DWORD DllNotFound = 0xC0000135;
    if (code != DllNotFound || path.empty()) return;
    const std::string missing = porthole::winhost::ImportSearch::missing(path);
    if (missing.empty()) return;
    std::string name(3 * path.size(), '\0');
    name.resize(static_cast<std::size_t>(WideCharToMultiByte(CP_UTF8, 0, path.data(), static_cast<int>(path.size()), name.data(),
                                                             static_cast<int>(name.size()), nullptr, nullptr)));
    const std::string line = name + ": the DLL " + missing + " was not found\n";
    DWORD written = 0;
    WriteFile(errors, line.data(), static_cast<DWORD>(line.size()), &written, nullptr);
}

}  // namespace

int wmain(int count, wchar_t** words) {
    if (count != 2) return 125;
    LaunchFolder own(words[1]);
    folder = &own;
    if (!own.open_report()) return 125;
    const LaunchFolder::Spec spec = own.spec();
    const std::optional<HANDLE> token = token_of_user();  // Wine takes the name from the environment that we are about to leave
    if (!token) {
        own.report("error", GetLastError());
        return 126;
    }
    porthole::winhost::note_search_list();
    expand_variables_of(HKEY_LOCAL_MACHINE, L"System\\CurrentControlSet\\Control\\Session Manager\\Environment");
    expand_variables_of(HKEY_CURRENT_USER, L"Environment");
    take_environment(spec);
    job = CreateJobObjectW(nullptr, nullptr);
    SetConsoleCtrlHandler(on_control, TRUE);

    STARTUPINFOW startup{};
    startup.cb = sizeof startup;
    startup.dwFlags = STARTF_USESTDHANDLES;
    Stream input(GetStdHandle(STD_INPUT_HANDLE), true), output(GetStdHandle(STD_OUTPUT_HANDLE), false),
        errors(GetStdHandle(STD_ERROR_HANDLE), false);
    startup.hStdInput = input.theirs();
    startup.hStdOutput = output.theirs();
    startup.hStdError = errors.theirs();
    HANDLE own_errors = nullptr;  // the stream closes the other one
    DuplicateHandle(GetCurrentProcess(), GetStdHandle(STD_ERROR_HANDLE), GetCurrentProcess(), &own_errors, 0, FALSE, DUPLICATE_SAME_ACCESS);
    PROCESS_INFORMATION process{};
    std::wstring command = spec.command;
    const bool moved = spec.directory.empty() || SetCurrentDirectoryW(spec.directory.c_str());
    const auto start = [&] {
        return CreateProcessAsUserW(*token, nullptr, command.data(), nullptr, nullptr, TRUE, CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT,
                                    nullptr, spec.directory.empty() ? nullptr : spec.directory.c_str(), &startup, &process);
    };
    bool started = moved && start();
    // Now and then a process of Wine dies while its loader sets it up. Nothing of the program has run then: it is started once more.
    for (int retries = 3; moved && !started && GetLastError() == ERROR_INTERNAL_ERROR && retries > 0; --retries) started = start();
    if (!started) {
        own.report("error", GetLastError());
        return 126;
    }
    AssignProcessToJobObject(job, process.hProcess);
    for (Stream* stream : {&input, &output, &errors}) stream->start();
    const std::wstring path = path_of(process.hProcess);
    if (spec.gives_processors) give_all_processors();
    ResumeThread(process.hThread);
    CloseHandle(process.hThread);
    own.report("started", process.dwProcessId);
    WaitForSingleObject(process.hProcess, INFINITE);
    if (spec.ends_services) end_services();
    const ULONGLONG deadline = GetTickCount64() + StreamsLimit;
    output.finish(deadline);
    errors.finish(deadline);
    DWORD code = 0;
    GetExitCodeProcess(process.hProcess, &code);
    tell_missing_dll(own_errors, path, code);
    own.report("exit", code);
    return 0;
}
