#pragma once
#include <windows.h>

namespace porthole::winhost {

/// The limits of a container, which on Windows are those of the job of its programs. The runtime writes them into the folder that it shares
/// with init, where every program of the container can read them: the memory in bytes and the processor time in ten-thousandths of the
/// machine, as decimal numbers; 0 for none. "268435456 2500".
struct JobLimits {
    SIZE_T memory = 0;
    DWORD processor_rate = 0;

    /// None where there is no such file, as on the host, or where it is not one of the runtime's.
    static JobLimits read() {
        char text[64];
        DWORD size = 0;
        const HANDLE file = CreateFileW(L"\\\\?\\unix\\.ph\\limits", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                        nullptr, OPEN_EXISTING, 0, nullptr);
        if (file == INVALID_HANDLE_VALUE) return {};
        const bool is_read = ReadFile(file, text, sizeof text, &size, nullptr);
        CloseHandle(file);
        return is_read ? parse(text, text + size) : JobLimits();
    }

    static JobLimits parse(const char* text, const char* end) {
        constexpr ULONGLONG WholeMachine = 10'000;
        const ULONGLONG memory = number(text, end);
        const bool has_rate = text < end && *text++ == ' ';
        const ULONGLONG rate = has_rate ? number(text, end) : WholeMachine + 1;
        return rate <= WholeMachine ? JobLimits{static_cast<SIZE_T>(memory), static_cast<DWORD>(rate)} : JobLimits();
    }

private:
    static ULONGLONG number(const char*& text, const char* end) {
        ULONGLONG value = 0;
        for (; text < end && *text >= '0' && *text <= '9'; ++text) value = 10 * value + static_cast<ULONGLONG>(*text - '0');
        return value;
    }
};

}  // namespace porthole::winhost
