#include "winservice/crash_windows.h"

#include <windows.h>

#include <cstdint>
#include <cstdio>

namespace porthole::winservice {
namespace {

/// Whatever failed may hold any lock of the process: nothing here allocates or goes through C's streams.
LONG WINAPI end_at_once(EXCEPTION_POINTERS* exception) {
    const EXCEPTION_RECORD& record = *exception->ExceptionRecord;
    const auto base = reinterpret_cast<std::uintptr_t>(GetModuleHandleW(nullptr));
    const auto address = reinterpret_cast<std::uintptr_t>(record.ExceptionAddress);
    char line[128];
    const int length = std::snprintf(line, sizeof line, "ended by exception 0x%08lx at program+0x%llx\n", record.ExceptionCode,
                                     static_cast<unsigned long long>(address - base));
    DWORD written = 0;
    WriteFile(GetStdHandle(STD_ERROR_HANDLE), line, static_cast<DWORD>(length), &written, nullptr);
    TerminateProcess(GetCurrentProcess(), record.ExceptionCode);
    return EXCEPTION_EXECUTE_HANDLER;
}

}  // namespace

void end_on_unhandled_exceptions() {
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
    SetUnhandledExceptionFilter(end_at_once);
}

}  // namespace porthole::winservice
