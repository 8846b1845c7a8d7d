#include "cmd/windows/node_processes.h"

#include <windows.h>

#include <tlhelp32.h>  // after windows.h

#include <cwchar>
#include <memory>

#include "base/wide_windows.h"
#include "runtime/windows_command_line.h"

namespace porthole::cmd {
namespace {

struct Close {
    void operator()(void* handle) const { CloseHandle(handle); }
};
using OwnHandle = std::unique_ptr<void, Close>;

OwnHandle own(HANDLE handle) { return OwnHandle(handle == INVALID_HANDLE_VALUE ? nullptr : handle); }

}  // namespace

bool is_running(const std::string& program) {
    const OwnHandle all = own(CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0));
    if (!all) return false;
    const std::wstring wanted = to_wide(program);
    PROCESSENTRY32W entry{};
    entry.dwSize = sizeof entry;
    for (BOOL more = Process32FirstW(all.get(), &entry); more; more = Process32NextW(all.get(), &entry)) {
        if (_wcsicmp(entry.szExeFile, wanted.c_str()) == 0) return true;
    }
    return false;
}

Result<void> start_detached(const std::vector<std::string>& command, const std::string& output) {
    SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
    const DWORD sharing = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    const OwnHandle file =
        own(CreateFileW(to_wide(output).c_str(), FILE_APPEND_DATA, sharing, &inherited, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, nullptr));
    if (!file) return windows_error("opening " + output, GetLastError());
    const OwnHandle nothing = own(CreateFileW(L"NUL", GENERIC_READ, sharing, &inherited, OPEN_EXISTING, 0, nullptr));
    STARTUPINFOW startup{};
    startup.cb = sizeof startup;
    startup.dwFlags = STARTF_USESTDHANDLES;
    startup.hStdInput = nothing.get();
    startup.hStdOutput = startup.hStdError = file.get();
    PROCESS_INFORMATION made{};
    std::wstring line = to_wide(windows_command_line(command));
    if (!CreateProcessW(to_wide(command.front()).c_str(), line.data(), nullptr, nullptr, TRUE, DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP,
                        nullptr, nullptr, &startup, &made)) {
        return windows_error("starting " + command.front(), GetLastError());
    }
    const OwnHandle thread = own(made.hThread), process = own(made.hProcess);
    return {};
}

}  // namespace porthole::cmd
