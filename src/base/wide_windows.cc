#include "base/wide_windows.h"

#include <windows.h>

#include "base/socket_error.h"

namespace porthole {
namespace {

Reason reason_of(unsigned long code, Reason otherwise) {
    switch (code) {
        case ERROR_FILE_NOT_FOUND:
        case ERROR_PATH_NOT_FOUND:
        case ERROR_INVALID_NAME:
        case ERROR_BAD_PATHNAME:
        case ERROR_INVALID_DRIVE:
        case ERROR_DIRECTORY:
            return Reason::NotFound;
        case ERROR_ALREADY_EXISTS:
        case ERROR_FILE_EXISTS:
            return Reason::AlreadyExists;
        case ERROR_ACCESS_DENIED:
        case ERROR_PRIVILEGE_NOT_HELD:
            return Reason::Forbidden;
        default:
            return otherwise;
    }
}

std::wstring format_message(unsigned long code) {
    wchar_t buffer[512];
    constexpr DWORD Flags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK;
    constexpr DWORD Languages[] = {MAKELANGID(LANG_ENGLISH, SUBLANG_ENGLISH_US), 0};
    for (const DWORD language : Languages) {
        const DWORD count = FormatMessageW(Flags, nullptr, code, language, buffer, std::size(buffer), nullptr);
        if (count > 0) return std::wstring(buffer, count);
    }
    return L"";
}

}  // namespace

std::wstring to_wide(std::string_view text) {
    if (text.empty()) return L"";
    const int size = static_cast<int>(text.size());
    std::wstring wide(MultiByteToWideChar(CP_UTF8, 0, text.data(), size, nullptr, 0), L'\0');
    MultiByteToWideChar(CP_UTF8, 0, text.data(), size, wide.data(), static_cast<int>(wide.size()));
    return wide;
}

std::string to_utf8(std::wstring_view text) {
    if (text.empty()) return "";
    const int size = static_cast<int>(text.size());
    std::string utf8(WideCharToMultiByte(CP_UTF8, 0, text.data(), size, nullptr, 0, nullptr, nullptr), '\0');
    WideCharToMultiByte(CP_UTF8, 0, text.data(), size, utf8.data(), static_cast<int>(utf8.size()), nullptr, nullptr);
    return utf8;
}

std::string system_error_text(unsigned long code) {
    std::string text(socket_error_words(static_cast<int>(code)));
    if (text.empty()) text = to_utf8(format_message(code));
    while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
    if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a') text[0] += 'a' - 'A';
    return (text.empty() ? "" : text + " ") + "(error " + std::to_string(code) + ")";
}

Error windows_error(std::string_view what, unsigned long code, Reason otherwise) {
    return Error(reason_of(code, otherwise), std::string(what) + ": " + system_error_text(code));
}

}  // namespace porthole
