#pragma once
#include <windows.h>

namespace porthole::winhost {

/// One event that a program reports, on its way to the container's log: init reads the pipe and makes each line one of standard error
/// (init/main.cc). There is no other event log.
class EventLine {
public:
    EventLine(WORD type, DWORD id) {
        add(type == EVENTLOG_ERROR_TYPE      ? "event, error "
            : type == EVENTLOG_WARNING_TYPE  ? "event, warning "
            : type == EVENTLOG_AUDIT_FAILURE ? "event, audit failure "
            : type == EVENTLOG_AUDIT_SUCCESS ? "event, audit success "
                                             : "event, information ");
        add_number(id & 0xFFFF);  // which is what Windows shows; the rest says how severe it is, and who has defined it
    }

    /// Text in the program's code page, as its standard error is.
    void add(const char* text) {
        for (; *text && size_ < Most; ++text) put(*text);
    }
    void add(const wchar_t* text) {
        for (; *text; ++text) {
            char letter[4];
            const bool pair = *text >= 0xD800 && *text < 0xDC00 && text[1];
            const int count = WideCharToMultiByte(CP_UTF8, 0, text, pair ? 2 : 1, letter, sizeof letter, nullptr, nullptr);
            if (size_ + static_cast<DWORD>(count) > Most) return;
            for (int i = 0; i < count; ++i) put(letter[i]);
            if (pair) ++text;
        }
    }
    /// To the log, whole: several programs may write at once. Without init to read it, it is lost.
    void write() {
        text_[size_] = '\n';
        DWORD written = 0;
        const HANDLE pipe = CreateFileW(L"\\\\?\\unix\\run\\porthole\\events", GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr,
                                        OPEN_EXISTING, 0, nullptr);
        if (pipe == INVALID_HANDLE_VALUE) return;
        WriteFile(pipe, text_, size_ + 1, &written, nullptr);
        CloseHandle(pipe);
    }

private:
    static constexpr DWORD Most = 3000;  ///< bytes: Linux writes 4096 at once, and a larger frame would need a library

    void put(char letter) { text_[size_++] = letter == '\n' || letter == '\r' ? ' ' : letter; }
    void add_number(DWORD number) {
        if (number >= 10) add_number(number / 10);
        put(static_cast<char>('0' + number % 10));
    }

    DWORD size_ = 0;
    char text_[Most + 1];
};

}  // namespace porthole::winhost
