#include "node_join/windows_node/node_processes.h"

#include <windows.h>

#include <psapi.h>  // after windows.h

#include <algorithm>
#include <cwchar>
#include <memory>

#include "base/wide_windows.h"
#include "runtime/processes/windows_command_line.h"

namespace porthole::node_join {
namespace {

struct Close {
    void operator()(void* handle) const { CloseHandle(handle); }
};
using OwnHandle = std::unique_ptr<void, Close>;

OwnHandle own(HANDLE handle) { return OwnHandle(handle == INVALID_HANDLE_VALUE ? nullptr : handle); }

}  // namespace

bool is_running(const std::string& program) {
    const std::wstring ending = L"\\" + to_wide(program);
    std::vector<DWORD> ids(16384);
    DWORD bytes = 0;
    if (!K32EnumProcesses(ids.data(), static_cast<DWORD>(ids.size() * sizeof(DWORD)), &bytes)) return false;
    ids.resize(bytes / sizeof(DWORD));
    return std::ranges::any_of(ids, [&](DWORD id) {
        const OwnHandle process = own(OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, id));
        wchar_t path[MAX_PATH];
        DWORD length = MAX_PATH;
        if (!process || !QueryFullProcessImageNameW(process.get(), 0, path, &length) || length < ending.size()) return false;
        return _wcsicmp(path + length - ending.size(), ending.c_str()) == 0;
    });
}

Result<std::function<bool()>> start_detached(const std::vector<std::string>& command, const std::string& output) {
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
    const OwnHandle thread = own(made.hThread);
    const std::shared_ptr<void> process(made.hProcess, Close());
    return std::function<bool()>([process] { return WaitForSingleObject(process.get(), 0) == WAIT_TIMEOUT; });
}

}  // namespace porthole::node_join
